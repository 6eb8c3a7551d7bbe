"""Ten minutes of faults at random: `python -m tests.soak.run [--minutes N] [--seed N]`.

The platform, its faults and a scraper run in this process, the exporter in another. Ends with a table of figures, and
with 1 where one of them is out of bounds.
"""

import asyncio
import contextlib
import logging
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import click
import httpx

from exporter.collectors.catalogue import CATALOGUE
from exporter.commands.local_platform import listed
from exporter.sandbox import keys
from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.faults import Faults
from exporter.sandbox.world import World
from tests.bench.process import MIB, memory
from tests.bench.report import Table
from tests.chaos.replica import parsed
from tests.counters.process import Exporter
from tests.exporter_parts import account_at, served
from tests.test_faults import MATRIX

ZONES, SCRIPTS, SHIELD_ZONES = 150, 20, 10
# A day of the world in six minutes.
SPEED = 240.0
MENDED_SECONDS = 90.0
MOST_LAG, MOST_LAG_EVER, MOST_WAITED = 0.1, 2.5, 0.05
# With some 6,000 series and 200 targets; beside what is measured over time, so that a high level from the start shows.
MOST_MEMORY = 256 * MIB
MOST_HANDLES = 256
# So many MiB, or this share of the memory.
MOST_GROWTH = (6, 0.08)
MOST_MORE_HANDLES = 10
# The pool of the event loop grows as its threads are first needed at once.
MOST_MORE_THREADS = 5
# The labels with names, which do not identify a series: a zone may be renamed.
NAMES = re.compile(r'\b(domain|script|rate_limit)="(?:[^"\\]|\\.)*",?')

PATHS = (
    *(".*", "/dnszone/.*/statistics", "/dnszone/.*/records/scan", r"/dnszone/1[0-4]\d/.*", "/compute/script.*"),
    *("/shield/.*", "/shield/metrics/.*", "/search.*", "/v2/pipeline"),
)
KINDS = (*({"kind": "delay", "seconds": seconds} for seconds in (0.5, 5.0)), *(fault for fault, _ in MATRIX.values()))


@dataclass
class Seen:
    """The observations of the scraper and of the faults."""

    faults: int = 0
    hits: int = 0
    failed_scrapes: int = 0
    # Seconds of each scrape.
    scrapes: list[float] = field(default_factory=list)
    series: int = 0
    falls: list[str] = field(default_factory=list)
    highest: dict[str, float] = field(default_factory=dict)
    failing: list[str] | None = None
    # The histogram that the exporter keeps of its own event loop: upper bound → delays up to it.
    loop_lag: dict[float, float] = field(default_factory=dict)
    # The part of the time for which the exporter was ready to run while other processes ran.
    waited: float = 0.0
    # Resident bytes, open file handles and threads of the exporter, a reading for each scrape.
    readings: list[tuple[int, int, int]] = field(default_factory=list)


def settings(url: str, folder: Path, world: World) -> dict[str, Any]:
    """Settings that poll every resource of a world, much more often than usual."""
    budget = {"requests_per_second": 150, "max_in_flight": 32}
    account = account_at(url, timeout="2s", budget=budget, **listed(world))
    query = {"name": "orders", "sql": "SELECT count(*) AS value FROM orders", "value": "value", "interval": "10s"}
    token = keys.DATABASE_TOKEN_READ_ONLY
    return {
        "accounts": [account],
        "databases": [{"name": "orders", "url": url, "auth_token": token, "queries": [query]}],
        "collectors": {one.section: {"interval": f"{max(5.0, one.interval / 60):g}s"} for one in CATALOGUE},
        "web": {"listen": "127.0.0.1:0"},
        "state": {"path": str(folder / "state.db")},
    }


def mend(faults: Faults, seen: Seen) -> None:
    """End all faults."""
    seen.hits += sum(fault.hits for fault in faults.all())
    faults.clear()


async def make_trouble(exporter: Exporter, world: World, faults: Faults, chance: random.Random, seen: Seen) -> None:
    """Cause faults repeatedly, with pauses between them; change the clock and the zones, and reload the exporter."""
    visitors: list[int] = []
    while True:
        await asyncio.sleep(chance.uniform(0.2, 2.0))
        if chance.random() < 0.25 or len(faults.all()) > 4:
            mend(faults, seen)
            continue
        fault = dict(chance.choice(KINDS), path_regex=chance.choice(PATHS))
        faults.add(fault | {"probability": chance.choice((0.05, 0.2, 0.5, 1.0))})
        seen.faults += 1
        zone = chance.choice(world.dns.zones.slice(0, ZONES))
        # An event with every fourth fault.
        match chance.randrange(24):
            case 0:
                world.clock.advance(chance.choice((60.0, 3600.0, 30 * 3600.0)))
            case 1:
                visitors.append(world.dns.add_zone(f"visitor-{chance.randrange(10**9)}.example"))
            case 2 if visitors:
                world.dns.remove_zone(visitors.pop(0))
            case 3:
                world.dns.rename_zone(zone, f"renamed-{chance.randrange(10**9)}.example")
            case 4:
                world.dns.add_queries(zone, chance.randint(-5_000, 50_000))
            case 5:
                exporter.send(signal.SIGHUP)


async def scrape(exporter: Exporter, seen: Seen) -> None:
    """Scrape like Prometheus, compare every counter with its earlier values, and measure the process."""
    process, since = Path(f"/proc/{exporter.pid}"), time.monotonic()
    async with httpx.AsyncClient(base_url=exporter.url, trust_env=False, timeout=10) as client:
        while True:
            began = time.monotonic()
            try:
                answer = await client.get("/metrics", headers={"Accept-Encoding": "gzip"})
                answer.raise_for_status()
            except httpx.HTTPError:
                seen.failed_scrapes += 1
            else:
                seen.scrapes.append(time.monotonic() - began)
                read(answer.text, seen)
            handles, threads = (len(os.listdir(process / name)) for name in ("fd", "task"))  # noqa: PTH208 - the number alone
            seen.readings.append((memory(exporter.pid), handles, threads))
            seen.waited = int((process / "schedstat").read_text().split()[1]) / 1e9 / (time.monotonic() - since)
            await asyncio.sleep(max(0.0, 1.0 - (time.monotonic() - began)))


def read(text: str, seen: Seen) -> None:
    """Note what a scrape tells."""
    counters, own = parsed(text)
    seen.series = int(own["edge_exporter_series"])
    seen.failing = re.findall(r"^(edge_target_up\{.*\}) 0\.0$", text, re.MULTILINE)
    lags = (item for item in own.items() if item[0].startswith("edge_exporter_loop_lag_seconds_bucket{"))
    seen.loop_lag = {float(series.split('"')[1]): value for series, value in lags}
    for series, value in counters.items():
        key = NAMES.sub("", series)
        highest = seen.highest.get(key, 0.0)
        if value < highest:
            seen.falls.append(f"{key}: {highest} to {value}")
        seen.highest[key] = max(value, highest)


async def soak(minutes: float, seed: int, folder: Path) -> Seen:
    """Run the exporter against a platform with faults, which end before it does; return the observations."""
    world, faults, seen = World(seed, WorldClock(speed=SPEED), ZONES, SCRIPTS, SHIELD_ZONES), Faults(seed), Seen()
    chance = random.Random(seed)  # noqa: S311 - repeatable
    async with served(create_app(world, faults)) as url:
        exporter = await asyncio.to_thread(Exporter, settings(url, folder, world), folder)
        try:
            async with asyncio.TaskGroup() as tasks:
                scraping = tasks.create_task(scrape(exporter, seen))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(60 * minutes):
                        await make_trouble(exporter, world, faults, chance, seen)
                mend(faults, seen)
                seen.failing = None
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(MENDED_SECONDS):
                        while seen.failing != []:  # noqa: ASYNC110 - scrapes tell
                            await asyncio.sleep(0.2)
                scraping.cancel()
        finally:
            await asyncio.to_thread(exporter.end)
    return seen


def figures(seen: Seen) -> Iterator[tuple[str, str, str, bool]]:
    """Return the measurements: name, value, limit, and whether it is within."""
    used, handles, threads = map(list, zip(*seen.readings, strict=True))
    failing = ["unknown"] if seen.failing is None else seen.failing
    counted = sum(value for series, value in seen.highest.items() if series.startswith("edge_dns_queries_total"))
    yield "faults scripted", str(seen.faults), "", True
    yield "requests that met one", str(seen.hits), "more than 0", seen.hits > 0
    yield "queries counted", f"{counted:.0f}", "more than 0", counted > 0
    yield "counters that fell", "; ".join(seen.falls[:3]) or "none", "none", not seen.falls
    yield "targets failing at the end", "; ".join(failing[:3]) or "none", "none", not failing
    yield "scrapes", str(len(seen.scrapes)), "", True
    yield "scrapes that failed", str(seen.failed_scrapes), "0", seen.failed_scrapes == 0
    yield "slowest scrape", f"{max(seen.scrapes) * 1000:.0f} ms", "", True
    yield "series", str(seen.series), "", True
    yield "waited for other processes", f"{seen.waited:.0%}", "", True
    for name, part, most_lag in (("event loop late, p99", 0.99, MOST_LAG), ("most", 1.0, MOST_LAG_EVER)):
        lag = lag_of(seen.loop_lag, part)
        # On a machine that is busy otherwise, the loop is late without the exporter's doing.
        yield name, f"up to {lag:g} s", f"up to {most_lag:g} s", lag <= most_lag or seen.waited > MOST_WAITED
    yield "most memory", f"{max(used) / MIB:.1f} MiB", f"{MOST_MEMORY / MIB:.0f} MiB", max(used) <= MOST_MEMORY
    yield "most file handles", str(max(handles)), str(MOST_HANDLES), max(handles) <= MOST_HANDLES
    for name, readings, least, share in (
        ("MiB of memory", [one / MIB for one in used], *MOST_GROWTH),
        ("file handles", handles, MOST_MORE_HANDLES, 0.0),
        ("threads", threads, MOST_MORE_THREADS, 0.0),
    ):
        before, after = levels(readings)
        more = max(before * share, least)
        levelled = f"{before:.4g} and {after:.4g}"
        yield f"{name}, 2nd quarter and last", levelled, f"up to {more:.2g} more", after - before <= more


def levels(readings: Sequence[float]) -> tuple[float, float]:
    """Return the levels of readings in their second quarter and in their last; the first quarter is for warming up."""
    quarter = max(1, len(readings) // 4)
    return median(readings[quarter : 2 * quarter]), median(readings[-quarter:])


def lag_of(buckets: dict[float, float], part: float) -> float:
    """Return the upper bound of the bucket that contains this share of a histogram."""
    total = max(buckets.values())
    return next(bound for bound, count in sorted(buckets.items()) if count >= part * total)


@click.command(help=__doc__)
@click.option("--minutes", default=10.0, show_default=True, help="How long.")
@click.option("--seed", default=1, show_default=True, help="Which faults.")
def main(minutes: float, seed: int) -> None:
    """Run the soak, print the measurements, and exit with 1 if one exceeds its limit."""
    # A client that hangs up on a body that is too large is what is wanted here, and worth no line for each piece of it.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        seen = asyncio.run(soak(minutes, seed, Path(folder)))
    table = Table(f"{minutes:g} minutes of faults at random", ("figure", "value", "bound", ""))
    for *figure, is_good in figures(seen):
        table.add(*figure, "" if is_good else "OUT OF BOUNDS")
    table.show()
    sys.exit(any(verdict for *_, verdict in table.rows))


if __name__ == "__main__":
    main()
