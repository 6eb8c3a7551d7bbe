"""A daemon on a real sandbox server, with a monotonic clock that tests control."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from exporter.clock import Clocks
from exporter.collectors.catalogue import CATALOGUE
from exporter.counters.ledger import Ledger, PollRecord
from exporter.daemon.daemon import Daemon
from exporter.daemon.machine import Machine
from exporter.daemon.work import Work
from exporter.exposition.exposition import Format
from exporter.sandbox import keys
from exporter.sandbox.faults import Faults
from exporter.sandbox.sandbox_server import SandboxServer, create_app
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock
from exporter.settings.model import Settings
from exporter.targets.target import PollKey
from tests.turned_clock import TurnedClock
from tests.waiting import PATIENCE

START = datetime(2026, 2, 8, 12, 0, tzinfo=UTC).timestamp()


def only(*names: str) -> dict[str, object]:
    """Return settings of the collectors that enable only these, so that a test can count their polls."""
    return {collector.section: {"enabled": False} for collector in CATALOGUE if collector.section not in names}


def still(at: float = START, **sizes: Any) -> World:
    """Make a world whose clock moves only when a test sets it."""
    return World(seed=1, clock=WorldClock(at, speed=0), **sizes)


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """Serve a sandbox on a free port; yield its URL."""
    server = SandboxServer(app)
    server.start()
    try:
        yield server.url
    finally:
        await server.stop()


@dataclass(frozen=True)
class Sandbox:
    """A world that is served, and its scripted faults."""

    url: str
    world: World
    faults: Faults


def account_at(url: str, **more: object) -> dict[str, Any]:
    """Return the settings of an account of a sandbox, with a budget that delays nothing."""
    budget = {"requests_per_second": 10000, "max_in_flight": 8}
    return {"name": "main", "base_url": url, "api_key": keys.API_KEY, "budget": budget, **more}


@asynccontextmanager
async def sandbox(world: World | None = None) -> AsyncIterator[Sandbox]:
    """Serve a world; by default a small one whose time does not pass."""
    app = create_app(world or still())
    async with served(app) as url:
        yield Sandbox(url, app.state.world, app.state.faults)


async def at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


@contextmanager
def undelayed() -> Iterator[None]:
    """Make ledgers within the block whose commits do not wait for more polls."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("exporter.daemon.work.Ledger", partial(Ledger, linger=0.0))
        yield


async def poll_now(work: Work, collector: str) -> None:
    """Start the polls of every target of a collector before they are due."""
    work.schedule.poll_again([key for key in work.schedule.polled() if key.collector == collector])
    await work.poller.tick()


async def settled(work: Work) -> None:
    """Wait until all polls that are due have ended and are published, and render a generation."""
    # Each list may find new targets.
    for _ in range(3):
        await work.poller.tick()
        while running := work.schedule.running.values():
            await asyncio.wait([due.task for due in running if due.task is not None])
            await asyncio.sleep(0)
    # After this, the ledger has done all earlier work.
    await work.ledger.record(PollRecord(PollKey.of("", "", "", ""), "", 0.0, (), datetime.now(UTC)))
    work.show()
    await work.renderer.render()


class ExporterParts:
    """A daemon whose monotonic clock moves only when a test advances it; waiting takes no real time.

    Args:
        platform: the sandbox.
        settings: the configuration.
    """

    daemon: Daemon

    def __init__(self, platform: Sandbox, settings: Settings) -> None:
        self.world, self.faults, self.settings = platform.world, platform.faults, settings
        self.clock = TurnedClock()

    async def start(self) -> None:
        """Start the daemon."""
        # The deadline of an attempt is in real time, because an answer also stalls in real time.
        clocks = Clocks(self.world.clock.now, self.clock, self._sleep)
        machine = Machine(clocks=clocks, random=lambda: 1.0)
        with undelayed():
            self.daemon = daemon = await Daemon.start(self.settings, lambda: self.settings, machine)
        self.telemetry, self.work, self.ledger = daemon.telemetry, daemon.work, daemon.work.ledger
        self.registry, self.store, self.schedule = daemon.work.registry, daemon.work.store, daemon.work.schedule
        self.renderer, self.exposition = daemon.work.renderer, daemon.work.renderer.exposition

    async def _sleep(self, seconds: float) -> None:
        """Advance the clock by the length of the sleep, and return at once."""
        self.clock.now += max(0.0, seconds)
        await asyncio.sleep(0)

    async def settle(self) -> None:
        """Wait until all polls that are due have ended and are published, and render a generation."""
        await settled(self.work)

    async def turn(self, seconds: float) -> None:
        """Let time pass on the scheduler's clock and the platform's, and poll what is due."""
        self.clock.now += seconds
        self.world.clock.advance(seconds)
        await self.settle()
        await self.renderer.render()

    async def reload(self, **changes: object) -> None:
        """Change attributes of the settings, and reload them."""
        self.settings = self.settings.model_copy(update=changes)
        assert await self.daemon.reload() == ()

    def text(self) -> str:
        """Return the current exposition."""
        return b"".join(self.renderer.current.bodies[Format.TEXT].plain()).decode()

    def samples(self, name: str, **labels: str) -> dict[tuple[str, ...], float]:
        """Return other label values → value, for a family's samples with the given labels."""
        found: dict[tuple[str, ...], float] = {}
        # The parser is slow, and tests ask often: it reads the lines of this family alone.
        lines = [line for line in self.text().splitlines() if line.startswith((f"{name}{{", f"{name} "))]
        for family in text_string_to_metric_families("\n".join(lines)):
            for sample in family.samples:
                if labels.items() <= sample.labels.items():
                    rest = tuple(value for label, value in sorted(sample.labels.items()) if label not in labels)
                    found[rest] = sample.value
        return found

    def value(self, name: str, **labels: str) -> float | None:
        """Return the only sample with these labels; None if there is none."""
        found = list(self.samples(name, **labels).values())
        assert len(found) <= 1, f"{name} {labels} stands {len(found)} times"
        return found[0] if found else None


def configuration(
    url: str, collectors: Mapping[str, object], more: Mapping[str, object] | None = None, /, **account: object
) -> Settings:
    """Return settings for one account on the sandbox."""
    reported = account_at(url, **{"timeout": 10.0, **account})
    quiet = {"state": {"path": None}, "web": {"listen": "127.0.0.1:0"}}
    return Settings.model_validate({"accounts": [reported], "collectors": collectors, **quiet, **(more or {})})


@asynccontextmanager
async def exporter_parts(
    *,
    account: Mapping[str, object] | None = None,
    second: Mapping[str, object] | None = None,
    collectors: Mapping[str, object] | None = None,
    world: World | None = None,
    url: str = "",
    fault: Mapping[str, object] | None = None,
    more: Mapping[str, object] | None = None,
    database: Mapping[str, object] | None = None,
) -> AsyncIterator[ExporterParts]:
    """Run the parts of an exporter, and wait for the end of the first round, unless it has a fault.

    Args:
        account: the settings of the account.
        second: the settings of a second account, with its name; None for none.
        collectors: settings of the collectors.
        world: the sandbox's world; by default a small one.
        url: the address of another platform than the sandbox.
        fault: a fault from the start.
        more: other sections of the settings.
        database: settings of a database on the sandbox; None for none.
    """
    async with sandbox(world) as platform:
        if fault is not None:
            platform.faults.add(fault)
        databases = [] if database is None else [{"name": "orders", "url": platform.url, **database}]
        more = {"databases": databases, **(more or {})}
        settings = configuration(url or platform.url, collectors or {}, more, **(account or {}))
        if second is not None:
            accounts = (*settings.accounts, *configuration(platform.url, {}, **second).accounts)
            settings = settings.model_copy(update={"accounts": accounts})
        parts = ExporterParts(platform, settings)
        await parts.start()
        try:
            # The disk of a busy machine may take longer than polls wait for it.
            with patch("exporter.counters.ledger.MOST_WAIT_SECONDS", PATIENCE):
                if fault is None:
                    await parts.settle()
                yield parts
        finally:
            await parts.daemon.stop()
