"""The exporter's polling parts on a real sandbox server, with a scheduler's clock that tests control."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from exporter.clock import Clocks
from exporter.collectors.catalogue import CATALOGUE, families
from exporter.counters.ledger import Entry, Ledger
from exporter.counters.state_file import FileStorage
from exporter.counters.storage import MemoryStorage, Storage
from exporter.daemon.accounts import AccountObserver
from exporter.explain.candidates import Sources
from exporter.explain.explainer import Absence, AbsenceFilter, Explainer
from exporter.exposition.exposition import Exposition, Format
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import HEALTH, StatusBoard, Store
from exporter.polling.intervals import Account
from exporter.polling.scheduler import Schedule
from exporter.sandbox import keys
from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.faults import Faults
from exporter.sandbox.server import SandboxServer
from exporter.sandbox.world import World
from exporter.settings.model import Settings
from exporter.targets.registry import Change, Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import DATABASE_PREFIX, PollKey, Target
from exporter.telemetry import Telemetry
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of
from tests.turned_clock import TurnedClock

START = datetime(2026, 2, 8, 12, 0, tzinfo=UTC).timestamp()


def only(*names: str) -> dict[str, object]:
    """Return settings of the collectors that disable all but these: a test counts the polls of what it names."""
    return {collector.section: {"enabled": False} for collector in CATALOGUE if collector.section not in names}


def still(at: float = START, **sizes: Any) -> World:
    """Make a world whose clock moves only when a test sets it."""
    return World(seed=1, clock=WorldClock(at, speed=0), **sizes)


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """Serve a sandbox on a free port; yield its URL."""
    server = SandboxServer(app)
    await server.start()
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
    """Serve a world; by default a small one that stands still."""
    world, faults = world or still(), Faults()
    async with served(create_app(world, faults)) as url:
        yield Sandbox(url, world, faults)


async def at_once(_seconds: float) -> None:
    """Return at once."""
    await asyncio.sleep(0)


def poll_now(schedule: Schedule, collector: str) -> None:
    """Start the polls of every target of a collector before they are due."""
    schedule.due_times.make_due(collector)
    schedule.tick(collector)


async def flushed(ledger: Ledger) -> None:
    """Wait until the ledger has done all earlier work."""
    await ledger.record(Entry(PollKey.of("", "", "", ""), "", 0.0, (), datetime.now(UTC)))


@dataclass
class ExporterParts:
    """Everything between the platform and the exposition, connected as in the daemon."""

    world: World
    faults: Faults
    settings: Settings
    clock: TurnedClock
    registry: Registry
    store: Store
    storage: Storage
    ledger: Ledger
    telemetry: Telemetry
    schedule: Schedule
    renderer: Renderer
    exposition: Exposition
    observers: Mapping[str, AccountObserver]
    changes: list[Change] = field(default_factory=list)

    async def settle(self) -> None:
        """Wait until all polls have ended and are counted and published, and render a generation."""
        for _ in range(3):
            await self.schedule.drained()
            await flushed(self.ledger)
        await self.renderer.render()

    async def turn(self, seconds: float) -> None:
        """Let time pass on the scheduler's clock and the platform's, and poll what is due."""
        self.clock.now += seconds
        self.world.clock.advance(seconds)
        for name in self.schedule.plans:
            self.schedule.tick(name)
        await self.settle()
        self.store.expire()
        await self.renderer.render()

    def explainer(self) -> Explainer:
        """Return an explainer of the present absences."""
        return Explainer(
            Sources(
                scope=lambda: from_settings.scope(self.settings),
                registry=self.registry,
                board=self.store.board,
                schedule=lambda: self.schedule,
                is_capped=self.renderer.exposition.is_capped,
                accepted=self._accepted,
                state=self.storage.location,
                ledger_fault=lambda: self.ledger.fault,
                clocks=Clocks(self.world.clock.now, self.clock),
            )
        )

    def _accepted(self, account: str) -> float:
        at = self.observers[account].authenticated
        return 0.0 if at is None else self.world.clock.now() - (self.clock() - at)

    def absences(self, **wanted: object) -> list[Absence]:
        """Return the absences that a question selects."""
        found = self.explainer().absences(replace(AbsenceFilter(), **wanted))  # type: ignore[arg-type] # fields by name
        return [absence for absence in found if absence is not None]

    def text(self) -> str:
        """Return the current exposition."""
        return b"".join(self.renderer.current.bodies[Format.TEXT].pieces).decode()

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
    state = {"path": None}
    return Settings.model_validate({"accounts": [reported], "state": state, "collectors": collectors, **(more or {})})


@asynccontextmanager
async def exporter_parts(
    *,
    account: Mapping[str, object] | None = None,
    collectors: Mapping[str, object] | None = None,
    world: World | None = None,
    shard: Shard | None = None,
    url: str = "",
    fault: Mapping[str, object] | None = None,
    more: Mapping[str, object] | None = None,
    state: Path | None = None,
    database: Mapping[str, object] | None = None,
) -> AsyncIterator[ExporterParts]:
    """Run the parts of an exporter, and wait for the end of the first round, unless it has a fault.

    Args:
        account: the settings of the account.
        collectors: settings of the collectors.
        world: the sandbox's world; by default a small one.
        shard: the share of the targets that it polls.
        url: the address of another platform than the sandbox.
        fault: a fault from the start.
        more: other sections of the settings.
        state: the ledger's file; None for memory.
        database: settings of a database on the sandbox; None for none.
    """
    async with sandbox(world) as platform:
        made, faults = platform.world, platform.faults
        if fault is not None:
            faults.add(fault)
        more = dict(more or {})
        if database is not None:
            more["databases"] = [{"name": "orders", "url": platform.url, **database}]
        settings = configuration(url or platform.url, collectors or {}, more, **(account or {}))
        clock = TurnedClock()
        # Waits cost nothing here; the deadline of an attempt is real, for what stalls really stalls.
        clocks = Clocks(made.clock.now, clock, at_once)
        telemetry = Telemetry(CollectorRegistry(), "test")
        storage: Storage = MemoryStorage() if state is None else FileStorage(state, made.clock.now, telemetry.set_aside)
        ledger = Ledger(storage, telemetry, clocks=Clocks(made.clock.now), linger=0, retention=settings.state.retention)
        ledger.open()
        registry = Registry(shard or Shard())

        def lifetime(collector: str, target: Target) -> float:
            return schedule.intervals.lifetime(collector, target)

        store = Store(StatusBoard(clocks.wall), clock, lifetime)
        series = settings.series
        exposition = Exposition(telemetry.exposed(), cap=series.max_per_family, admits=series.serves)
        plans = from_settings.plans(settings)
        exposition.declare([*families([plan.collector for plan in plans]), *HEALTH])
        renderer = Renderer(exposition, store, telemetry, clock)
        observers = {account.name: AccountObserver(telemetry, account.name, clock) for account in settings.accounts}
        accounts = {
            account.name: Account.of(client_of(account, observers[account.name], 1, clocks))
            for account in settings.accounts
        }
        for asked in settings.databases:
            name = DATABASE_PREFIX + asked.name
            observers[name] = AccountObserver(telemetry, name, clock)
            accounts[name] = Account.of(client_of(asked, observers[name], clocks=clocks))
        changes: list[Change] = []

        def changed(change: Change) -> None:
            changes.append(change)
            for target in change.removed:
                store.remove(target)

        registry.configure(from_settings.selections(settings))
        schedule = Schedule(
            plans,
            accounts,
            registry=registry,
            store=store,
            ledger=ledger,
            telemetry=telemetry,
            clocks=clocks,
            changed=changed,
        )
        parts = ExporterParts(
            made,
            faults,
            settings,
            clock,
            registry,
            store,
            storage,
            ledger,
            telemetry,
            schedule,
            renderer,
            exposition,
            observers,
            changes,
        )
        schedule.open()
        try:
            if fault is None:
                await parts.settle()
            yield parts
        finally:
            await schedule.stop()
            ledger.close()
            await schedule.end()
            renderer.close()
            for entry in accounts.values():
                await entry.client.aclose()
