"""The machine of a simulated daemon: its disk, its processes, and their answers."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import AsyncMock, Mock

import httpx
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import ASGIApp

from exporter.clock import Clocks
from exporter.counters.state_file import FileStorage
from exporter.counters.storage import Changes, Storage, StorageError
from exporter.daemon.daemon import Daemon
from exporter.daemon.machine import Machine
from exporter.settings.model import Settings
from exporter.settings.service import StateSettings
from tests.simulation.platform_model import Platform
from tests.simulation.virtual import InlineExecutor, VirtualClock, VirtualLoop

T = TypeVar("T")
# Name → labels → value.
Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]
OF_TARGETS = ("edge_dns_", "edge_script_", "edge_shield_", "edge_target_up")

# The daemon's frequent tasks run less often here; otherwise a simulated hour would contain little else.
RARER: Mapping[str, float] = {
    "exporter.polling.poll.TICK_SECONDS": 20.0,
    "exporter.polling.schedule.TICK_SECONDS": 20.0,
    "exporter.exposition.renderer.SHORTEST_GAP": 5.0,
    "exporter.exposition.renderer.LONGEST_GAP": 600.0,
    "exporter.exposition.renderer.LONGEST_SILENCE": 1800.0,
    "exporter.daemon.work.LONGEST_GAP": 600.0,
    "exporter.daemon.event_loop.LAG_EVERY_SECONDS": 600.0,
    "exporter.daemon.work.SAVED_EVERY_SECONDS": 30.0,
    "exporter.daemon.work.ABSENCES_EVERY_SECONDS": 600.0,
    "exporter.daemon.work.SHOWN_EVERY_SECONDS": 60.0,
}


@dataclass(eq=False)
class Disk:
    """The state file, which outlives processes, and the faults of its writes.

    Attributes:
        mode: `good`, `fails` (nothing is written), or `unsure` (written, but an error is reported).
        wrote: called after a write with the rows, and whether it was acknowledged.
        open: the storages of all processes.
    """

    path: Path
    wrote: Callable[[Changes, bool], None]
    mode: str = "good"
    open: list[FileStorage] = field(default_factory=list)

    def storage(
        self, _state: StateSettings, clocks: Clocks, set_aside: Callable[[float], None], executor: Executor
    ) -> Storage:
        """Implements `exporter.wiring.state_storage.OpenStorage`."""
        storage = FileStorage(self.path, clocks.wall, set_aside, executor)
        commit = storage.commit

        async def troubled(changes: Changes, *, takes_over: bool = True) -> None:
            if self.mode == "fails":
                raise StorageError("database or disk is full")
            await commit(changes, takes_over=takes_over)
            self.wrote(changes, self.mode == "good")
            if self.mode == "unsure":
                raise StorageError("disk I/O error")

        storage.commit = troubled  # type: ignore[method-assign]
        self.open.append(storage)
        return storage

    def close(self) -> None:
        """Close the files that a process left open, as the operating system does."""
        for storage in self.open:
            storage._close()  # noqa: SLF001 - no loop runs any more


@dataclass(eq=False)
class SimulatedMachine:
    """Starts, stops and kills daemons, and sends them requests.

    Attributes:
        load: returns the settings that the configuration file has now.
        executors: kind of call → its executor.
        faults: the exceptions that were not caught.
    """

    clock: VirtualClock
    platform: Platform
    disk: Disk
    load: Callable[[], Settings]
    random: Callable[[], float]
    daemon: Daemon = field(init=False)
    loop: VirtualLoop = field(init=False)
    app: ASGIApp = field(init=False)
    executors: dict[str, InlineExecutor] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    # The loops of all processes, so that their abandoned tasks are freed at the end, not while another process runs.
    _loops: list[VirtualLoop] = field(default_factory=list)

    def begin(self) -> None:
        """Start a daemon."""
        self.loop = VirtualLoop(self.clock)
        self._loops.append(self.loop)
        self.loop.set_exception_handler(lambda _loop, context: self.faults.append(str(context)))

        async def connect() -> httpx.AsyncBaseTransport:
            return self.platform

        def hand_out(app: ASGIApp, *_more: object) -> None:
            self.app = app

        machine = Machine(
            clocks=Clocks(self.clock.wall, self.clock.monotonic, asyncio.sleep),
            random=self.random,
            executors=lambda kind: self.executors.setdefault(kind, InlineExecutor()),
            connector=lambda *_args, **_more: connect,
            open_storage=self.disk.storage,
            listen=lambda _web, _executors: Mock(
                url="http://exporter", start=hand_out, reload=AsyncMock(), stop=AsyncMock()
            ),
        )
        self.daemon = self.run(Daemon.start(self.load(), self.load, machine))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine, and with it the daemon."""
        return self.loop.run_until_complete(work)

    def end(self) -> list[str]:
        """Stop the daemon; return the tasks that it left, and the exceptions that were not caught."""
        self.run(self.daemon.stop())
        self.run(asyncio.sleep(0))
        self.disk.close()
        return [*map(repr, asyncio.all_tasks(self.loop)), *self.faults]

    def bury(self) -> None:
        """Cancel the remaining tasks of all processes, after the last check."""
        for loop in self._loops:
            # The end of a poll begins another one.
            while tasks := asyncio.all_tasks(loop):
                for task in tasks:
                    task.cancel()
                loop.run_until_complete(asyncio.sleep(60))
            loop.close()
        self.disk.close()

    def ask(self, path: str, method: str = "GET") -> Coroutine[Any, Any, httpx.Response]:
        """Send a request to the daemon's application."""
        client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://127.0.0.1:9877")
        return client.request(method, path, timeout=3600)

    def text(self, path: str, method: str = "GET") -> str:
        """Return the answer of an endpoint as text."""
        return self.run(self.ask(path, method)).text


def samples(text: str) -> Samples:
    """Return the samples of targets in an exposition: name → labels → value."""
    found: Samples = {}
    own = "".join(f"{line}\n" for line in text.splitlines() if line.startswith(OF_TARGETS))
    for family in text_string_to_metric_families(own):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found
