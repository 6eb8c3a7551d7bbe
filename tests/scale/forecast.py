"""Extrapolates the measured numbers to a million zones in fifty accounts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import linear_regression

ZONES = 1_000_000
ACCOUNTS = 50
# Both as they are by default.
INTERVAL_SECONDS = 300.0
BUDGET_PER_SECOND = 10.0
# What a shard is given: one core, of which half is for polls; the rest is for printing, scrapes and bad days.
CORE_SHARE = 0.5
MEMORY_BYTES = 4e9
# A scrape should take no more than half of Prometheus's default time-out.
SCRAPE_SECONDS = 5.0
SEARCH_RESULTS = 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """A cost with a part for each process and a part for each zone."""

    base: float
    a_zone: float

    def most_zones(self, limit: float) -> float:
        """Return how many zones a process can have below a limit."""
        return (limit - self.base) / self.a_zone


def line(measured: Sequence[tuple[float, float]]) -> Line:
    """Fit a straight line through (zones of a process, cost) by least squares; one point gives a line through 0."""
    if len({zones for zones, _ in measured}) > 1:
        slope, base = linear_regression(*zip(*measured, strict=True))
        if slope > 0 and base > 0:
            return Line(base, slope)
    zones, cost = max(measured)
    return Line(0.0, cost / zones)


@dataclass(frozen=True, slots=True)
class Forecast:
    """The needs of a million zones.

    Attributes:
        demand_per_second: calls that the default interval needs.
        budget_per_second: calls that the default budgets allow.
        budget_interval_seconds: the interval that the default budgets can keep.
        shards_for_calls: the number of shards whose cores suffice for the demand; the same for memory and for scrapes.
        shards: the highest of these.
        wall: the first limit.
    """

    demand_per_second: float
    budget_per_second: float
    budget_interval_seconds: float
    shards_for_calls: int
    shards_for_memory: int
    shards_for_scrapes: int
    shards: int
    memory_a_shard_bytes: float
    memory_a_zone_bytes: float
    scrape_plain_bytes: float
    scrape_gzip_bytes: float
    series: float
    wall: str

    def __str__(self) -> str:
        return (
            f"On paper, {ZONES:,} zones in {ACCOUNTS} accounts, every {INTERVAL_SECONDS:g} s:\n"
            f"  calls    {self.demand_per_second:,.0f}/s are asked for; the default budgets give"
            f" {self.budget_per_second:,.0f}/s, which keeps {self.budget_interval_seconds / 60:,.0f} min\n"
            f"  shards   {self.shards_for_calls} for the calls, {self.shards_for_memory} for the memory,"
            f" {self.shards_for_scrapes} for the scrapes: {self.shards}\n"
            f"  a shard  {self.memory_a_shard_bytes / 1e9:.1f} GB ({self.memory_a_zone_bytes / 1e3:.1f} kB a zone),"
            f" a scrape of {self.scrape_gzip_bytes / 1e6:,.0f} MB"
            f" ({self.scrape_plain_bytes / 1e6:,.0f} MB plain)\n"
            f"  series   {self.series / 1e6:,.0f} million for Prometheus\n"
            f"  the first wall: {self.wall}"
        )


def forecast(
    *,
    calls_per_cpu_second: float,
    memory: Line,
    scrape_seconds: Line,
    plain_bytes_a_zone: float,
    gzip_bytes_a_zone: float,
    series_a_zone: float,
) -> Forecast:
    """Extrapolate in straight lines, from a measurement at a tenth of the size."""
    demand = ZONES / INTERVAL_SECONDS
    budget = ACCOUNTS * BUDGET_PER_SECOND
    for_calls = math.ceil(demand / (calls_per_cpu_second * CORE_SHARE))
    for_memory = math.ceil(ZONES / memory.most_zones(MEMORY_BYTES))
    for_scrapes = math.ceil(ZONES / scrape_seconds.most_zones(SCRAPE_SECONDS))
    shards = max(for_calls, for_memory, for_scrapes)
    return Forecast(
        demand_per_second=demand,
        budget_per_second=budget,
        budget_interval_seconds=ZONES / budget,
        shards_for_calls=for_calls,
        shards_for_memory=for_memory,
        shards_for_scrapes=for_scrapes,
        shards=shards,
        memory_a_shard_bytes=memory.base + ZONES / shards * memory.a_zone,
        memory_a_zone_bytes=memory.a_zone,
        scrape_plain_bytes=ZONES / shards * plain_bytes_a_zone,
        scrape_gzip_bytes=ZONES / shards * gzip_bytes_a_zone,
        series=ZONES * series_a_zone,
        wall=_wall(demand, budget, for_calls, for_memory, for_scrapes),
    )


def _wall(demand: float, budget: float, for_calls: int, for_memory: int, for_scrapes: int) -> str:
    if demand > budget:
        return (
            f"the accounts' request budgets: {demand:,.0f} calls/s are asked for and {budget:,.0f} given, whatever the"
            f" number of shards. Then search, which may end at {SEARCH_RESULTS:,} of an account's"
            f" {ZONES // ACCOUNTS:,} zones: the rest needs an ids file."
        )
    most = max(for_calls, for_memory, for_scrapes)
    what = {for_scrapes: "the size of a scrape", for_memory: "memory", for_calls: "processor time for calls"}
    return f"{what[most]}, at {most} shards."
