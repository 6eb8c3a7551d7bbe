"""Ten minutes of faults at random: `python -m tests.soak.run [--minutes N] [--seed N]`.

The platform, its faults and a scraper run in this process, the exporter in another. Ends with a table of figures, and
with 1 where one of them is out of bounds.
"""

import argparse
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
from tests.counters.process import Exporter
from tests.exporter_parts import account_at, served

ZONES, SCRIPTS, SHIELD_ZONES = 150, 20, 10
# A day of the world in six minutes.
SPEED = 240.0
EVENT_SECONDS = 5.0
MENDED_SECONDS = 90.0
RELOAD_SECONDS = 20.0
MOST_LAG, MOST_LAG_EVER, MOST_WAITED = 0.1, 2.5, 0.05
# With some 6,000 series and 200 targets; beside what is measured over time, so that a high level from the start shows.
MOST_MEMORY = 256 * MIB
MOST_HANDLES = 256
MOST_GROWTH, MOST_GROWTH_BYTES = 0.08, 6 * MIB
MOST_MORE_HANDLES = 10
# The pool of the event loop grows as its threads are first needed at once.
MOST_MORE_THREADS = 5
# The labels with names, which do not identify a series: a zone may be renamed.
NAMES = re.compile(r'\b(domain|script|rate_limit)="(?:[^"\\]|\\.)*",?')

PATHS = (
    *(".*", "/dnszone/.*/statistics", "/dnszone/.*/records/scan", r"/dnszone/1[0-4]\d/.*", "/compute/script.*"),
    *("/shield/.*", "/shield/metrics/.*", "/search.*", "/v2/pipeline"),
)
KINDS: tuple[dict[str, Any], ...] = (
    *({"kind": "status", "status": status} for status in (401, 403, 404, 408, 429, 500, 502)),
    {"kind": "status", "status": 429, "retry_after": 1},
    {"kind": "status", "status": 503, "retry_after_date": 2.0},
    *({"kind": "delay", "seconds": seconds} for seconds in (0.5, 5.0)),
    *({"kind": kind, "point": point} for kind in ("stall", "reset") for point in ("start", "headers", "body")),
    {"kind": "drip", "seconds": 0.05},
    {"kind": "garbage", "place": "wire"},
    {"kind": "redirect", "location": "http://127.0.0.1:9/"},
    *({"kind": kind} for kind in ("truncate", "short", "garbage", "html", "wrong_types", "envelope", "oversize")),
)


@dataclass
class Seen:
    """The observations of the scraper and of the faults."""

    faults: int = 0
    hits: int = 0
    scrapes: int = 0
    failed_scrapes: int = 0
    slowest_scrape: float = 0.0
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


async def make_trouble(world: World, faults: Faults, chance: random.Random, seen: Seen) -> None:
    """Cause faults repeatedly, with some pauses between them; change the clock, and add and remove zones."""
    moved = time.monotonic()
    visitors: list[int] = []
    while True:
        await asyncio.sleep(chance.uniform(0.2, 2.0))
        if chance.random() < 0.25 or len(faults.all()) > 4:
            mend(faults, seen)
            continue
        fault = dict(chance.choice(KINDS), path_regex=chance.choice(PATHS))
        faults.add(fault | {"probability": chance.choice((0.05, 0.2, 0.5, 1.0))})
        seen.faults += 1
        if time.monotonic() - moved > EVENT_SECONDS:
            moved = time.monotonic()
            zone = chance.choice(world.dns.zones.slice(0, ZONES))
            match chance.randrange(5):
                case 0:
                    world.clock.advance(chance.choice((60.0, 3600.0, 30 * 3600.0)))
                case 1:
                    visitors.append(world.dns.add_zone(f"visitor-{chance.randrange(10**9)}.example"))
                case 2 if visitors:
                    world.dns.remove_zone(visitors.pop(0))
                case 3:
                    world.dns.rename_zone(zone, f"renamed-{chance.randrange(10**9)}.example")
                case _:
                    world.dns.add_queries(zone, chance.randint(-5_000, 50_000))


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
                seen.slowest_scrape = max(seen.slowest_scrape, time.monotonic() - began)
                seen.scrapes += 1
                read(answer.text, seen)
            handles, threads = (len(os.listdir(process / name)) for name in ("fd", "task"))  # noqa: PTH208 - the number alone
            seen.readings.append((memory(exporter.pid)[0], handles, threads))
            seen.waited = int((process / "schedstat").read_text().split()[1]) / 1e9 / (time.monotonic() - since)
            await asyncio.sleep(max(0.0, 1.0 - (time.monotonic() - began)))


def read(text: str, seen: Seen) -> None:
    """Note what a scrape tells."""
    samples = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    seen.series, seen.failing = len(samples), []
    for series, _, number in samples:
        value = float(number)
        if series.startswith("edge_target_up{") and not value:
            seen.failing.append(series)
        elif series.startswith("edge_exporter_loop_lag_seconds_bucket{"):
            seen.loop_lag[float(series.split('"')[1])] = value
        elif (
            "_total{" in series
            and series.startswith("edge_")
            and not series.startswith(("edge_exporter_", "edge_api_"))
        ):
            key = NAMES.sub("", series)
            if value < seen.highest.get(key, 0.0):
                seen.falls.append(f"{key}: {seen.highest[key]} to {value}")
            seen.highest[key] = max(value, seen.highest.get(key, 0.0))


async def soak(minutes: float, seed: int, folder: Path) -> Seen:
    """Run the exporter against a platform with faults, which end before it does; return the observations."""
    world, faults, seen = World(seed, WorldClock(speed=SPEED), ZONES, SCRIPTS, SHIELD_ZONES), Faults(seed), Seen()
    async with served(create_app(world, faults)) as url:
        exporter = await asyncio.to_thread(Exporter, settings(url, folder, world), folder)
        assert exporter.is_running(), exporter.events
        chance = random.Random(seed)  # noqa: S311 - repeatable
        try:
            scraping = asyncio.create_task(scrape(exporter, seen))
            making = asyncio.create_task(make_trouble(world, faults, chance, seen))
            for _ in range(max(1, round(minutes * 60 / RELOAD_SECONDS))):
                await asyncio.sleep(RELOAD_SECONDS)
                exporter.send(signal.SIGHUP)
            await ended(making)
            mend(faults, seen)
            seen.failing = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(MENDED_SECONDS):
                    while not scraping.done() and seen.failing != []:  # noqa: ASYNC110 - scrapes tell
                        await asyncio.sleep(0.2)
            await ended(scraping)
        finally:
            await asyncio.to_thread(exporter.end)
    return seen


async def ended(task: asyncio.Task[None]) -> None:
    """End a task, and raise what it has raised."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def figures(seen: Seen) -> Iterator[tuple[str, str, str, bool]]:
    """Return the measurements: name, value, limit, and whether it is within."""
    used, handles, threads = map(list, zip(*seen.readings, strict=True))
    before, after = levels(used)
    more = max(before * MOST_GROWTH, MOST_GROWTH_BYTES)
    failing = ["unknown"] if seen.failing is None else seen.failing
    counted = sum(value for series, value in seen.highest.items() if series.startswith("edge_dns_queries_total"))
    lag, worst = (lag_of(seen.loop_lag, part) for part in (0.99, 1.0))
    yield "faults scripted", str(seen.faults), "", True
    yield "requests that met one", str(seen.hits), "more than 0", seen.hits > 0
    yield "queries counted", f"{counted:.0f}", "more than 0", counted > 0
    yield "counters that fell", "; ".join(seen.falls[:3]) or "none", "none", not seen.falls
    yield "targets failing at the end", "; ".join(failing[:3]) or "none", "none", not failing
    yield "scrapes", str(seen.scrapes), "", True
    yield "scrapes that failed", str(seen.failed_scrapes), "0", seen.failed_scrapes == 0
    yield "slowest scrape", f"{seen.slowest_scrape * 1000:.0f} ms", "", True
    yield "series", str(seen.series), "", True
    yield "waited for other processes", f"{seen.waited:.0%}", "", True
    # On a machine that is busy otherwise, the loop is late without the exporter's doing.
    is_busy = seen.waited > MOST_WAITED
    yield "event loop late, p99", f"up to {lag:g} s", f"up to {MOST_LAG:g} s", lag <= MOST_LAG or is_busy
    yield "most", f"up to {worst:g} s", f"up to {MOST_LAG_EVER:g} s", worst <= MOST_LAG_EVER or is_busy
    grown = f"{before / MIB:.1f} and {after / MIB:.1f} MiB"
    yield "memory, 2nd quarter and last", grown, f"up to {more / MIB:.1f} MiB more", after - before <= more
    yield "most memory", f"{max(used) / MIB:.1f} MiB", f"{MOST_MEMORY / MIB:.0f} MiB", max(used) <= MOST_MEMORY
    yield "most file handles", str(max(handles)), str(MOST_HANDLES), max(handles) <= MOST_HANDLES
    for name, readings, most in (("file handles", handles, MOST_MORE_HANDLES), ("threads", threads, MOST_MORE_THREADS)):
        before, after = levels(readings)
        yield (
            f"{name}, 2nd quarter and last",
            f"{before:.0f} and {after:.0f}",
            f"up to {most} more",
            after - before <= most,
        )


def levels(readings: Sequence[int]) -> tuple[float, float]:
    """Return the levels of readings in their second quarter and in their last; the first quarter is for warming up."""
    quarter = max(1, len(readings) // 4)
    return median(readings[quarter : 2 * quarter]), median(readings[-quarter:])


def lag_of(buckets: dict[float, float], part: float) -> float:
    """Return the upper bound of the bucket that contains this share of a histogram."""
    total = max(buckets.values())
    return next(bound for bound, count in sorted(buckets.items()) if count >= part * total)


def main() -> None:
    """Run the soak, print the measurements, and exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which faults (%(default)s)")
    given = parser.parse_args()
    # A client that hangs up on a body that is too large is what is wanted here, and worth no line for each piece of it.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        seen = asyncio.run(soak(given.minutes, given.seed, Path(folder)))
    table = Table(f"{given.minutes:g} minutes of faults at random", ("figure", "value", "bound", ""))
    for *figure, is_good in figures(seen):
        table.add(*figure, "" if is_good else "OUT OF BOUNDS")
    table.show()
    sys.exit(any(verdict for *_, verdict in table.rows))


if __name__ == "__main__":
    main()
