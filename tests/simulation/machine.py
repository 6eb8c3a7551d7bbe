"""The machine of a simulated daemon: its disk, its processes, and what they serve."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import httpx
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import ASGIApp

from exporter.clock import Clocks
from exporter.counters.on_thread import OnThread
from exporter.counters.rows import StateRow
from exporter.counters.state_file import FileStorage
from exporter.counters.storage import Storage, StorageError, StoredState
from exporter.daemon import daemon as daemon_module
from exporter.daemon import runtime
from exporter.daemon.daemon import Daemon
from exporter.daemon.machine import Machine
from exporter.exposition import renderer
from exporter.polling import scheduler
from exporter.settings.model import Settings
from exporter.settings.service import StateSettings
from exporter.targets.target import PollKey
from tests.simulation.virtual import InlineExecutor, VirtualClock, VirtualLoop
from tests.simulation.world import Platform

T = TypeVar("T")
# Name → labels → value.
Samples = dict[str, dict[tuple[tuple[str, str], ...], float]]

OF_TARGETS = ("edge_dns_", "edge_script_", "edge_shield_", "edge_target_up")

# What a daemon does several times a second, it does less often here: a simulated hour has little else to do.
RARER: tuple[tuple[Any, str, float], ...] = (
    (scheduler, "LONGEST_TICK", 20.0),
    (renderer, "STEP", 5.0),
    (renderer, "LONGEST_GAP", 600.0),
    (renderer, "EAGER_SECONDS", 3.0),
    (renderer, "LONGEST_SILENCE", 1800.0),
    (runtime, "LAG_EVERY_SECONDS", 600.0),
    (daemon_module, "SAVED_EVERY_SECONDS", 30.0),
    (daemon_module, "ABSENCES_EVERY_SECONDS", 600.0),
    (daemon_module, "BUDGETS_EVERY_SECONDS", 60.0),
)


@contextmanager
def rarer_rounds() -> Iterator[None]:
    """Make the daemon's rounds rarer while the block runs."""
    patches = [patch.object(room, name, seconds) for room, name, seconds in RARER]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()


@dataclass(eq=False)
class Disk:
    """The state file, and what is done to writes.

    Attributes:
        path: the file; it outlives processes.
        mode: `good`, `fails` (nothing is written), or `unsure` (written, but an error is reported).
        note: called after a write with the keys and the rows, and whether it was acknowledged.
    """

    path: Path
    note: Callable[[Mapping[PollKey, StateRow | None], bool], None]
    mode: str = "good"
    open: list[FileStorage] = field(default_factory=list)

    def storage(
        self, _state: StateSettings, clocks: Clocks, set_aside: Callable[[float], None], executor: Executor
    ) -> Storage:
        """Implements `exporter.wiring.state_storage.OpenStorage`."""
        self.open.append(FileStorage(self.path, clocks.wall, set_aside))
        return OnThread(_File(self, self.open[-1]), executor)

    def close(self) -> None:
        """Close what a process has left open, as the system does."""
        for file in self.open:
            file.close()
        self.open.clear()


@dataclass(eq=False)
class _File:
    disk: Disk
    file: FileStorage

    @property
    def location(self) -> str:
        return self.file.location

    def prepare(self) -> StoredState | None:
        return self.file.prepare()

    def commit(self, rows: Mapping[PollKey, StateRow | None]) -> None:
        if self.disk.mode == "fails":
            raise StorageError("database or disk is full")
        self.file.commit(rows)
        self.disk.note(rows, self.disk.mode == "good")
        if self.disk.mode == "unsure":
            raise StorageError("disk I/O error")

    def close(self) -> None:
        self.file.close()


@dataclass(eq=False)
class _Handed:
    """Takes the daemon's application, in place of a server."""

    url: str = "http://exporter"
    app: ASGIApp | None = None

    def leave_room(self, outgoing: int) -> None:
        """There are no connections."""

    async def start(self, app: ASGIApp, route_prefix: str = "/") -> None:  # noqa: ARG002 - of the protocol
        self.app = app

    async def reload(self) -> None:
        """There is no web configuration."""

    async def stop(self) -> None:
        self.app = None


@dataclass(eq=False)
class Process:
    """A life of the daemon: from a start to a stop or a kill."""

    loop: VirtualLoop
    daemon: Daemon
    server: _Handed
    executors: list[InlineExecutor]
    faults: list[str] = field(default_factory=list)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine, and with it the daemon."""
        return self.loop.run_until_complete(work)


@dataclass(eq=False)
class SimulatedMachine:
    """Starts, stops and kills daemons, and asks them.

    Attributes:
        clock: the machine's clocks.
        platform: answers all calls.
        disk: the state.
        load: returns the settings that the configuration file has now.
        random: returns numbers in [0, 1).
    """

    clock: VirtualClock
    platform: Platform
    disk: Disk
    load: Callable[[], Settings]
    random: Callable[[], float]
    process: Process | None = None
    # Their tasks are kept, because an abandoned task that is freed says so.
    _dead: list[Process] = field(default_factory=list)

    @property
    def living(self) -> Process:
        """The process that runs."""
        assert self.process is not None
        return self.process

    def begin(self) -> None:
        """Start a daemon."""
        loop, server, executors = VirtualLoop(self.clock), _Handed(), list[InlineExecutor]()

        def executor(kind: str) -> Executor:
            executors.append(InlineExecutor(kind))
            return executors[-1]

        async def connect() -> httpx.AsyncBaseTransport:
            return self.platform

        machine = Machine(
            clocks=Clocks(self.clock.wall, self.clock.monotonic, asyncio.sleep),
            random=self.random,
            executors=executor,
            connector=lambda *_args, **_more: connect,
            open_storage=self.disk.storage,
            listen=lambda _web, _executors: server,
        )
        faults: list[str] = []
        loop.set_exception_handler(lambda _loop, context: faults.append(str(context)))
        daemon = loop.run_until_complete(Daemon.start(self.load(), self.load, machine))
        self.process = Process(loop, daemon, server, executors, faults)

    def end(self) -> list[str]:
        """Stop the daemon; return what it left behind."""
        process = self.living
        process.run(process.daemon.stop())
        process.run(asyncio.sleep(0))
        left = [repr(task) for task in asyncio.all_tasks(process.loop)]
        process.loop.close()
        self.disk.close()
        self.process = None
        return left + process.faults

    def kill(self) -> None:
        """End the process at once: nothing of it runs any more, and the disk keeps what was written."""
        process = self.living
        self.disk.close()
        self._dead.append(process)
        self.process = None

    def bury(self) -> None:
        """End what is left of all processes, after the last check."""
        for process in [*self._dead, *([self.process] if self.process is not None else [])]:
            tasks = asyncio.all_tasks(process.loop)
            for task in tasks:
                task.cancel()
            process.loop.run_until_complete(asyncio.wait(tasks, timeout=60)) if tasks else None
            process.loop.close()

    def executor(self, kind: str) -> InlineExecutor:
        """Return the executor of a kind of call."""
        return next(one for one in reversed(self.living.executors) if one.kind == kind)

    def pass_time(self, seconds: float) -> None:
        """Let the daemon run."""
        self.living.run(asyncio.sleep(seconds))

    def get(self, path: str, method: str = "GET") -> httpx.Response:
        """Ask the daemon's application."""
        return self.living.run(self.ask(path, method))

    async def ask(self, path: str, method: str = "GET") -> httpx.Response:
        """Ask the daemon's application, within its event loop."""
        app = self.living.server.app
        assert app is not None
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9877", timeout=3600) as client:
            return await client.request(method, path)


def samples(text: str) -> Samples:
    """Return the samples of targets in an exposition: name → labels → value."""
    found: Samples = {}
    own = "".join(f"{line}\n" for line in text.splitlines() if line.startswith(OF_TARGETS))
    for family in text_string_to_metric_families(own):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found
