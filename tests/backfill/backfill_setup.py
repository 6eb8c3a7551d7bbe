"""A sandbox with a clock that tests set, its written history, and its live counters."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporter.backfill.baselines import open_file_baselines
from exporter.backfill.charts import BUILT_IN, families
from exporter.backfill.job import Backfill, Report, Selected
from exporter.backfill.output import Spool
from exporter.backfill.samples import STEPS
from exporter.clock import Clocks
from exporter.collectors import discovery, dns_statistics, shield_rate_limits
from exporter.collectors.collector import Context
from exporter.counters.ledger import Entry, Ledger
from exporter.counters.on_thread import OnThread
from exporter.counters.state_file import FileStorage
from exporter.platform.http.client import Client, Observer
from exporter.sandbox.faults import Faults
from exporter.sandbox.world import World
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import PollKey
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of
from tests.counters.ledger_driver import LedgerEvents
from tests.exporter_parts import START, at_once, configuration, sandbox, still

TODAY = date(2026, 2, 8)
DAY = 86_400.0

# Label pairs, and samples as (unix seconds, value).
Labels = frozenset[tuple[str, str]]
Samples = list[tuple[float, float]]
Raw = dict[tuple[str, Labels], Samples]


def ago(days: int) -> date:
    """Return a day before the sandbox's present day."""
    return TODAY - timedelta(days=days)


def parsed(path: Path) -> Raw:
    """Read the samples of a file with a strict parser."""
    raw: Raw = {}
    for family in text_string_to_metric_families(path.read_text()):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            raw.setdefault(key, []).append((float(sample.timestamp), sample.value))
    return raw


def grown(samples: Samples) -> float:
    """Return the growth of a counter: the sum of its increases, with a fall as a reset."""
    values = [value for _, value in sorted(samples)]
    return sum(after - before if after >= before else after for before, after in pairwise(values))


@dataclass
class BackfillSetup:
    """A sandbox, and the objects that read it, whose clock is `behind` by some seconds, and waits between polls."""

    world: World
    faults: Faults
    url: str
    folder: Path
    account: Mapping[str, object] = field(default_factory=dict)
    behind: float = 0.0
    waited: list[float] = field(default_factory=list)

    @property
    def state(self) -> Path:
        """The state file."""
        return self.folder / "state.db"

    @property
    def output(self) -> Path:
        """The file of history."""
        return self.folder / "history.om"

    def _clocks(self) -> Clocks:
        return Clocks(lambda: self.world.clock.now() - self.behind, sleep=at_once)

    async def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)

    @asynccontextmanager
    async def parts(self) -> AsyncIterator[tuple[Registry, Client]]:
        """Return a registry with the account's targets, and the account's client."""
        settings = configuration(self.url, {}, **{"timeout": 5, **self.account})
        client = client_of(settings.accounts[0], Observer(), 1, self._clocks())
        registry = Registry(Shard())
        registry.configure(from_settings.selections(settings))
        try:
            yield registry, client
        finally:
            await client.aclose()

    async def backfill(
        self,
        first: date | None = None,
        last: date | None = None,
        *,
        step: str = "3h",
        state: bool = True,
        labels: Mapping[str, str] | None = None,
        selected: Selected | None = None,
        progressed: Callable[[Report], None] = lambda _report: None,
    ) -> Report:
        """Write history."""
        baselines = await open_file_baselines(self.state if state else None, self._clocks())
        try:
            async with self.parts() as (registry, client):
                work = Backfill(
                    registry,
                    {"main": client},
                    baselines,
                    labels=labels or {},
                    step=STEPS[step],
                    selected=selected or Selected(),
                    clocks=replace(self._clocks(), sleep=self._wait),
                    progressed=progressed,
                )
                span = await work.survey(
                    None if first is None else first.toordinal(), None if last is None else last.toordinal()
                )
                with closing(Spool(self.output, families(BUILT_IN), {"days": str(span)})) as spool:
                    report = await work.run(span, spool)
                    spool.finish(keep=bool(report.failures))
                    return report
        finally:
            await baselines.close()

    @asynccontextmanager
    async def ledger(self) -> AsyncIterator[Ledger]:
        """Open the ledger of a daemon."""
        clocks = Clocks(self.world.clock.now)
        storage = OnThread(FileStorage(self.state, clocks.wall, lambda _at: None))
        ledger = Ledger(storage, LedgerEvents(), clocks=clocks, linger=0)
        await ledger.open()
        try:
            yield ledger
        finally:
            await ledger.close()

    async def scrape(self, ledger: Ledger, raw: Raw) -> None:
        """Poll every counter once, and add the served values to the raw samples."""
        async with self.parts() as (registry, client):
            now = datetime.fromtimestamp(self.world.clock.now(), UTC)
            context = Context(client.until(None), registry, now)
            account = next(registry.targets("account"))
            found = await discovery.COLLECTOR.poll(context, account)
            assert found.found is not None
            registry.apply("main", found.found)
            for collector in (dns_statistics.COLLECTOR, shield_rate_limits.COLLECTOR):
                for target in registry.targets(collector.polls):
                    polled = await collector.poll(context, target)
                    key = PollKey(target.key, collector.name)
                    entry = Entry(key, target.name, now.timestamp(), polled.outcomes[0].counts, polled.date or now)
                    for family in await ledger.record(entry):
                        for sample in family.samples:
                            labels = frozenset(zip(family.info.labels, sample.values, strict=True))
                            raw.setdefault((family.info.name, labels), []).append((now.timestamp(), sample.value))


@asynccontextmanager
async def backfill_setup(folder: Path, *, start: float = START, **account: object) -> AsyncIterator[BackfillSetup]:
    """Run a sandbox whose clock moves only when a test sets it."""
    async with sandbox(still(start)) as platform:
        yield BackfillSetup(platform.world, platform.faults, platform.url, folder, account)


@dataclass(frozen=True)
class Written:
    """A written month that ends with yesterday, its end, and the true queries of each zone on each day."""

    output: Path
    end: float
    truth: dict[str, list[int]]


def written(home: Path, step: str) -> Written:
    """Write the 30 days that end with yesterday."""

    async def write() -> Written:
        async with backfill_setup(home, start=time.time()) as where:
            today = datetime.fromtimestamp(where.world.clock.now(), UTC).date()
            days = [today - timedelta(days=number) for number in range(30, 0, -1)]
            await where.backfill(days[0], days[-1], labels={"job": "edge"}, state=False, step=step)
            dns = where.world.dns
            truth = {str(zone): [dns.true_queries(zone, day) for day in days] for zone in dns.zones}
            end = datetime(today.year, today.month, today.day, tzinfo=UTC).timestamp()
            return Written(where.output, end, truth)

    return asyncio.run(write())
