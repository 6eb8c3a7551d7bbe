"""Simulated polls of DNS zones: twenty series for each zone, including the health series."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.collectors.collector import Outcome
from exporter.collectors.dns_statistics import COLLECTOR
from exporter.exposition.status_board import HEALTH
from exporter.exposition.store import Store
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.targets.target import Target
from tests.polled import succeed

SERIES_A_ZONE = 20
FIRST_ZONE = 1001
RECORD_TYPES = ("A", "AAAA", "CAA", "CNAME", "HTTPS", "MX", "NS", "TXT")
ROUTINGS = ("normal", "smart")
LIFETIME = 900.0

FAMILIES: tuple[FamilyInfo, ...] = (*COLLECTOR.families, *HEALTH)


@dataclass(frozen=True, slots=True)
class Feed:
    """Simulates polls of as many zones as are needed for a number of series."""

    series: int

    @property
    def zones(self) -> int:
        """The number of zones."""
        return max(1, self.series // SERIES_A_ZONE)

    def targets(self) -> Iterator[Target]:
        """The zones, with names of a typical length."""
        for number in range(FIRST_ZONE, FIRST_ZONE + self.zones):
            yield Target("main", "dns_zone", str(number), f"shop{number}.net")

    def fill(self, store: Store) -> None:
        """Publish one poll of every zone."""
        for target in self.targets():
            publish(store, target, 0)


def publish(store: Store, target: Target, turn: int) -> None:
    """Publish a zone's poll number `turn`; all values differ from those of the poll before."""
    gauges, counters = families(target, turn)
    succeed(store, COLLECTOR.name, Outcome(target, gauges), counters, lifetime=LIFETIME, duration=0.05)


def families(target: Target, turn: int) -> tuple[tuple[Family, ...], tuple[Family, ...]]:
    """Return the gauges and counters of a zone's poll number `turn`."""
    noise = random.Random(f"{target.id}/{turn}")  # noqa: S311 - figures for a benchmark
    own = (target.account, target.id, target.name)
    made = [Family(info, tuple(_samples(info, own, noise))) for info in COLLECTOR.families]
    gauges = tuple(family for family in made if family.info.kind is not Kind.COUNTER)
    counters = tuple(family for family in made if family.info.kind is Kind.COUNTER)
    return gauges, counters


def _samples(info: FamilyInfo, own: tuple[str, ...], noise: random.Random) -> Iterator[Sample]:
    extra: tuple[tuple[str, ...], ...] = ((),)
    if info.labels[-1] == "record_type":
        extra = tuple((record_type,) for record_type in RECORD_TYPES)
    elif info.labels[-1] == "routing":
        extra = tuple((routing,) for routing in ROUTINGS)
    created = 1_770_000_000.0 if info.kind is Kind.COUNTER else None
    for values in extra:
        yield Sample(own + values, float(noise.randrange(1_000_000)), created)
