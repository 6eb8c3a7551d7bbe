"""A sandbox with a clock that tests set, and its written history."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporter.backfill.missing_days import BUILT_IN, AccountCharts
from exporter.backfill.openmetrics import STEPS, write
from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.platform.http.client import Client, Observer
from exporter.sandbox.faults import Faults
from exporter.sandbox.world import World
from exporter.settings.service import StateSettings
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.wiring.clients import ClientMachine, access_of, client_of
from exporter.wiring.selections import selections_of
from exporter.wiring.state_storage import stored_rows
from tests.exporter_parts import START, at_once, configuration, sandbox, still

TODAY = date(2026, 2, 8)
DAY = 86_400.0
NAMES = [collector.name for collector in BUILT_IN]

# Label pairs, and samples as (unix seconds, value).
Labels = frozenset[tuple[str, str]]
Samples = list[tuple[float, float]]
Raw = dict[tuple[str, Labels], Samples]


def ago(days: int) -> date:
    """Return a day before the sandbox's first day."""
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
    """A sandbox, and the objects that read it, whose clock is `behind` by some seconds."""

    world: World
    faults: Faults
    url: str
    folder: Path
    account: Mapping[str, object] = field(default_factory=dict)
    behind: float = 0.0

    @property
    def state(self) -> StateSettings:
        """The settings of the state file."""
        return StateSettings(path=self.folder / "state?#%.db")

    @property
    def output(self) -> Path:
        """The file of history."""
        return self.folder / "history.om"

    @asynccontextmanager
    async def parts(self) -> AsyncIterator[tuple[Registry, Client]]:
        """Return a registry with the account's targets, and the account's client."""
        settings = configuration(self.url, {}, **{"timeout": 5, **self.account})
        machine = ClientMachine(Clocks(lambda: self.world.clock.now() - self.behind, sleep=at_once))
        client = client_of(access_of(settings.accounts[0], 1), Observer(), machine)
        registry = Registry(Shard(), lambda: 0.0)
        registry.configure(selections_of(settings))
        try:
            yield registry, client
        finally:
            await client.aclose()

    async def backfill(
        self,
        first: date,
        last: date,
        *,
        step: str = "3h",
        state: StateSettings | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Write the history of the days, the last one included, and return what could not be read."""
        async with self.parts() as (registry, client):
            charts = AccountCharts("main", client, registry, await stored_rows(state or self.state, NAMES))
            await charts.discover([discovery.COLLECTOR])
            past = await charts.read(BUILT_IN, range(first.toordinal(), last.toordinal() + 1))
            write(self.output, past, labels or {}, STEPS[step])
            return charts.failures


@asynccontextmanager
async def backfill_setup(folder: Path, *, start: float = START, **account: object) -> AsyncIterator[BackfillSetup]:
    """Run a sandbox whose clock moves only when a test sets it."""
    async with sandbox(still(start)) as platform:
        yield BackfillSetup(platform.world, platform.faults, platform.url, folder, account)
