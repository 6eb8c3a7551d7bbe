"""The parts that the pages read, set up by tests: a store, a schedule with fixed values, and clocks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import httpx
from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp

from exporter.clock import Clocks
from exporter.collectors.catalogue import families
from exporter.collectors.collector import Outcome
from exporter.counters.storage import MemoryStorage
from exporter.daemon.accounts import AccountObserver
from exporter.daemon.machine import Machine
from exporter.daemon.work import Work
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import HEALTH, Store
from exporter.http_server.protocol import NOTHING_READY, Ready
from exporter.platform.errors import PlatformError
from exporter.polling.pace import Account, Pace, Plan
from exporter.polling.schedule import Schedule
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry
from exporter.web.app import Application, create_app
from exporter.web.parts import Parts, Process, Round
from exporter.web.server import WebServer
from exporter.web.status import status_of
from exporter.web.url_fields import Json
from exporter.wiring.clients import access_of, client_of
from exporter.wiring.plans import plans_of
from tests.exporter_parts import START, at_once
from tests.turned_clock import TurnedClock

STATISTICS = "dns_statistics"
SCANS = "dns_record_scans"
# The collectors of a view; what it shows does not depend on which others the catalogue has.
VIEWED = (STATISTICS, SCANS, "scripts", "container_tags", "search", "discovery", "database")
BUDGET = {"requests_per_second": 10, "max_in_flight": 4}


def failure(reason: str, message: str) -> PlatformError:
    class Failed(PlatformError, reason=reason):
        """A failure of this reason."""

    return Failed(message)


def zone(number: int, name: str = "", account: str = "main") -> Target:
    return Target(account, "dns_zone", str(number), name)


@dataclass
class FixedSchedule:
    """A schedule with fixed values."""

    plans: Mapping[str, Plan]
    accounts: Mapping[str, Account]
    last_tick: float
    due: dict[str, float] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    is_discovered: bool = True
    stretch: float = 1.0

    def all_discovered(self) -> bool:
        """Implement `Schedule.all_discovered`."""
        return self.is_discovered

    def due_at(self, key: PollKey) -> float:
        """Implement `Schedule.due_at`."""
        return self.next_due(key.collector) + 60

    def next_due(self, collector: str) -> float:
        """Implement `Schedule.next_due`."""
        return self.due.get(collector, self.last_tick)

    def longest_interval(self, collector: str) -> float:
        """Implement `Schedule.longest_interval`."""
        return self.plans[collector].interval * self.stretch


@dataclass
class ViewSetup:
    """The view, and all parts that it reads."""

    clock: TurnedClock
    wall: TurnedClock
    work: Work
    schedule: FixedSchedule
    store: Store
    registry: Registry
    renderer: Renderer
    up: dict[str, bool] = field(default_factory=dict)
    is_ledger_alive: bool = True
    faults: tuple[str, ...] = ()
    dashboard_url: str | None = None
    ledger_fault: str = ""
    set_aside: float | None = None
    spare: str = ""
    unproven: str = ""
    reloads: int = 0
    may_serve: Callable[[], bool] = lambda: True
    rounds: dict[str, Round] = field(default_factory=dict)

    def status(self) -> Json:
        """Return what `/api/v1/status` answers."""
        return status_of(self.parts())

    def parts(self) -> Parts:
        """Return these parts as the endpoints read them."""
        was_ready = asyncio.Event()

        def process() -> Process:
            return Process(
                was_ready=was_ready,
                started=START - 7200,
                config_loaded=START - 600,
                config_faults=self.faults,
                set_aside=self.set_aside,
                spare=self.spare,
                unproven=self.unproven,
                account_up=self.up,
                rounds=self.rounds,
                dashboard_url=self.dashboard_url,
            )

        ledger: Any = SimpleNamespace(
            is_alive=lambda: self.is_ledger_alive,
            fault=self.ledger_fault,
            why_no_counters=str,
            may_serve=self.may_serve,
            platform_time=lambda _: SimpleNamespace(offset=None),
        )
        schedule = cast(Schedule, self.schedule)
        return replace(self.work.parts, process=process, schedule=schedule, ledger=ledger, version="1.2.3")

    def app(self, prefix: str = "/") -> Application:
        """Return the application that serves the endpoints."""
        served = self.parts()
        return create_app(lambda: served, self.reload, route_prefix=prefix)

    async def reload(self) -> tuple[str, ...]:
        """Implements `exporter.web.app.Reload`."""
        self.reloads += 1
        return self.faults

    def succeed(
        self,
        target: Target,
        collector: str = STATISTICS,
        *,
        took: float = 0.1,
        chart: Iterable[float] = (),
        note: str = "",
    ) -> None:
        """Record a successful poll, with a chart or a note."""
        self.store.publish(collector, Outcome(target, chart=tuple(chart), note=note), duration=took)

    def fail(self, target: Target, collector: str = STATISTICS, reason: str = "server_error", **more: str) -> None:
        """Record a failed poll."""
        message = more.get("message", "it broke")
        self.store.fail(collector, Outcome(target), failure(reason, message), duration=0.2)

    def turn(self, seconds: float) -> None:
        """Advance the clocks."""
        self.clock.now += seconds
        self.wall.now += seconds


@asynccontextmanager
async def view_setup(*accounts: str) -> AsyncIterator[ViewSetup]:
    """Set up a view of these accounts (by default one named main) and of the collectors in `VIEWED`."""
    clock, wall = TurnedClock(), TurnedClock(START)
    telemetry = Telemetry(CollectorRegistry(), "1.2.3")
    machine = Machine(Clocks(wall, clock, at_once))
    account = {"name": "main", "base_url": "http://127.0.0.1:9", "api_key": "k", "budget": BUDGET}
    settings = Settings.model_validate({"accounts": [account]})
    work = Work(settings, Shard(), MemoryStorage(), telemetry, machine, process=_unused)
    access = access_of(settings.accounts[0], 1)
    rate = access.requests_per_second
    entries = {
        name: Account(client_of(access, AccountObserver(telemetry, name, clock), machine), Pace(rate))
        for name in accounts or ("main",)
    }
    plans = {name: plan for name, plan in plans_of(settings).items() if name in VIEWED}
    work.schedule.use(plans, entries)
    work.renderer.exposition.declare([*families(), *HEALTH], lambda _: True)
    await work.renderer.render()
    schedule = FixedSchedule(plans, entries, clock())
    parts = work.store, work.registry, work.renderer
    try:
        yield ViewSetup(clock, wall, work, schedule, *parts, up=dict.fromkeys(entries, True))
    finally:
        for entry in entries.values():
            await entry.client.aclose()


def _unused() -> NoReturn:
    raise AssertionError("the parts of a test say of the process what it sets up")


@asynccontextmanager
async def serving(
    app: ASGIApp, prefix: str = "/", ready: Ready = NOTHING_READY, file: Path | None = None
) -> AsyncIterator[WebServer]:
    """Serve an application on a port of the loopback interface; without a web configuration file, to everyone."""
    server = WebServer("127.0.0.1", 0, file)
    server.start(app, prefix, ready)
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def endpoints_client(setup: ViewSetup, prefix: str = "/") -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of the endpoints, without a server between them."""
    await setup.renderer.render()
    transport = httpx.ASGITransport(setup.app(prefix))
    async with httpx.AsyncClient(transport=transport, base_url="http://exporter:9877") as client:
        yield client
