"""Extrapolates the measured numbers to a million zones in fifty accounts."""

import math
from collections.abc import Sequence
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

# A cost's part for each process, and its part for each zone.
Line = tuple[float, float]


def line(measured: Sequence[tuple[float, float]]) -> Line:
    """Fit a straight line through (zones of a process, cost) by least squares; one point gives a line through 0."""
    if len({zones for zones, _ in measured}) > 1:
        slope, base = linear_regression(*zip(*measured, strict=True))
        if slope > 0 and base > 0:
            return base, slope
    zones, cost = max(measured)
    return 0.0, cost / zones


def _shards(cost: Line, limit: float) -> int:
    """Return how many shards keep a cost below a limit in each."""
    base, a_zone = cost
    return math.ceil(ZONES * a_zone / (limit - base)) if a_zone else 1


def forecast(
    *,
    calls_per_cpu_second: float,
    memory: Line,
    scrape_seconds: Line,
    plain_bytes_a_zone: float,
    gzip_bytes_a_zone: float,
    series_a_zone: float,
) -> tuple[str, dict[str, float | str]]:
    """Extrapolate in straight lines, from a measurement at a tenth of the size; return it in words and in figures."""
    demand, budget = ZONES / INTERVAL_SECONDS, ACCOUNTS * BUDGET_PER_SECOND
    needs = {
        "memory": _shards(memory, MEMORY_BYTES),
        "the size of a scrape": _shards(scrape_seconds, SCRAPE_SECONDS),
        "processor time for calls": math.ceil(demand / (calls_per_cpu_second * CORE_SHARE)),
    }
    for_memory, for_scrapes, for_calls = needs.values()
    shards = max(needs.values())
    zones = ZONES / shards
    wall = f"{max(needs, key=lambda need: needs[need])}, at {shards} shards."
    if demand > budget:
        wall = (
            f"the accounts' request budgets: {demand:,.0f} calls/s are asked for and {budget:,.0f} given, whatever the"
            f" number of shards. Then search, which may end at {SEARCH_RESULTS:,} of an account's"
            f" {ZONES // ACCOUNTS:,} zones: the rest needs an ids file."
        )
    found: dict[str, float | str] = {
        "demand_per_second": demand,
        "budget_per_second": budget,
        "budget_interval_seconds": ZONES / budget,
        "shards_for_calls": for_calls,
        "shards_for_memory": for_memory,
        "shards_for_scrapes": for_scrapes,
        "shards": shards,
        "memory_a_shard_bytes": memory[0] + zones * memory[1],
        "memory_a_zone_bytes": memory[1],
        "scrape_plain_bytes": zones * plain_bytes_a_zone,
        "scrape_gzip_bytes": zones * gzip_bytes_a_zone,
        "series": ZONES * series_a_zone,
        "wall": wall,
    }
    text = (
        f"On paper, {ZONES:,} zones in {ACCOUNTS} accounts, every {INTERVAL_SECONDS:g} s:\n"
        f"  calls    {demand:,.0f}/s are asked for; the default budgets give {budget:,.0f}/s, which keeps"
        f" {ZONES / budget / 60:,.0f} min\n"
        f"  shards   {for_calls} for the calls, {for_memory} for the memory, {for_scrapes} for the scrapes: {shards}\n"
        f"  a shard  {(memory[0] + zones * memory[1]) / 1e9:.1f} GB ({memory[1] / 1e3:.1f} kB a zone), a scrape of"
        f" {zones * gzip_bytes_a_zone / 1e6:,.0f} MB ({zones * plain_bytes_a_zone / 1e6:,.0f} MB plain)\n"
        f"  series   {ZONES * series_a_zone / 1e6:,.0f} million for Prometheus\n"
        f"  the first wall: {wall}"
    )
    return text, found
