"""Ten minutes of faults at random: `python -m tests.soak.run [--minutes N] [--seed N]`.

The platform, its faults and a scraper run in this process, the exporter in another. Ends with a table of figures, and
with 1 where one of them is out of bounds.
"""

import asyncio
import logging
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
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
from exporter.sandbox.faults import Faults, Scripted
from exporter.sandbox.world import World
from tests.bench.process import MIB, memory
from tests.bench.report import Table
from tests.chaos.replica import parsed
from tests.chaos.witness import Answer, Witness
from tests.counters.process import Exporter
from tests.exporter_parts import account_at, served
from tests.test_faults import MATRIX
from tests.waiting import settled

ZONES, SCRIPTS, SHIELD_ZONES = 150, 20, 10
# A day of the world in six minutes.
SPEED = 240.0
MENDED_SECONDS = 90.0
# Seconds by which the event loop is late, the share of the time that may be, and up to which share of the time that the
# exporter waits for other processes this is judged: on a busy machine the loop is late without the exporter's doing.
LATE = ((0.1, 0.01, 0.05), (2.5, 0.0, 0.05), (0.5, 0.02, 1.0), (5.0, 0.0, 1.0))
# What must level out: so much at most, with some 6,000 series and 200 targets, and so much more at the end than early,
# or this share more.
LEVELS = (("MiB of memory", 256, 6, 0.08), ("file handles", 256, 10, 0.0), ("threads", 32, 5, 0.0))
# The labels with names, which do not identify a series: a zone may be renamed.
NAMES = re.compile(r'\b(domain|script|rate_limit)="(?:[^"\\]|\\.)*",?')

PATHS = (
    *(".*", "/dnszone/.*/statistics", "/dnszone/.*/records/scan", r"/dnszone/1[0-4]\d/.*", "/compute/script.*"),
    *("/shield/.*", "/shield/metrics/.*", "/search.*", "/v2/pipeline"),
)
KINDS = (*({"kind": "delay", "seconds": seconds} for seconds in (0.5, 5.0)), *(fault for fault, _ in MATRIX.values()))


@dataclass
class Seen:
    """The faults, and the observations of the scraper."""

    faults: list[Scripted] = field(default_factory=list)
    witness: Witness = field(default_factory=Witness)
    failed_scrapes: int = 0
    failing: list[str] = field(default_factory=list)
    # The share of the time in which the exporter was ready to run while other processes ran.
    waited: float = 0.0
    # What must level out, a reading for each scrape.
    readings: list[tuple[float, ...]] = field(default_factory=list)


def settings(url: str, folder: Path, world: World) -> dict[str, Any]:
    """Settings that poll every resource of a world, much more often than usual."""
    budget = {"requests_per_second": 150, "max_in_flight": 32}
    query = {"name": "orders", "sql": "SELECT count(*) AS value FROM orders", "value": "value", "interval": "10s"}
    database = {"name": "orders", "url": url, "auth_token": keys.DATABASE_TOKEN_READ_ONLY, "queries": [query]}
    return {
        "accounts": [account_at(url, timeout="2s", budget=budget, **listed(world))],
        "databases": [database],
        "collectors": {one.section: {"interval": f"{max(5.0, one.interval / 60):g}s"} for one in CATALOGUE},
        "web": {"listen": "127.0.0.1:0"},
        "state": {"path": str(folder / "state.db")},
    }


async def make_trouble(exporter: Exporter, world: World, faults: Faults, seed: int, minutes: float) -> list[Scripted]:
    """Cause faults, with pauses between them, and end them all; change the clock and the zones, reload the exporter."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    scripted: list[Scripted] = []
    visitors: list[int] = []
    until = time.monotonic() + 60 * minutes
    while time.monotonic() < until:
        await asyncio.sleep(chance.uniform(0.2, 2.0))
        if chance.random() < 0.25 or len(faults.all()) > 4:
            faults.clear()
            continue
        fault = dict(chance.choice(KINDS), path_regex=chance.choice(PATHS))
        scripted.append(faults.add(fault | {"probability": chance.choice((0.05, 0.2, 0.5, 1.0))}))
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
    faults.clear()
    return scripted


async def scrape(exporter: Exporter, seen: Seen) -> None:
    """Scrape like Prometheus, compare every counter with its earlier values, and measure the process."""
    process, since = Path(f"/proc/{exporter.pid}"), time.monotonic()
    async with httpx.AsyncClient(base_url=exporter.url, trust_env=False, timeout=10) as client:
        while True:
            began = time.monotonic()
            try:
                answer = (await client.get("/metrics")).raise_for_status()
            except httpx.HTTPError:
                seen.failed_scrapes += 1
            else:
                counters, own = parsed(answer.text)
                nameless = {NAMES.sub("", series): value for series, value in counters.items()}
                seen.witness.take([Answer("the exporter", began, time.monotonic(), nameless, own)])
            handles, threads = (len(list((process / name).iterdir())) for name in ("fd", "task"))
            seen.readings.append((memory(exporter.pid) / MIB, handles, threads))
            seen.waited = int((process / "schedstat").read_text().split()[1]) / 1e9 / (time.monotonic() - since)
            await asyncio.sleep(1.0)


def failing(exporter: Exporter) -> list[str]:
    """Return the targets whose last poll failed."""
    return re.findall(r"^edge_target_up(\{.*\}) 0\.0$", exporter.text("/metrics?name[]=edge_target_up"), re.MULTILINE)


async def soak(minutes: float, seed: int, folder: Path) -> Seen:
    """Run the exporter against a platform with faults, which end before it does; return the observations."""
    world, faults, seen = World(seed, WorldClock(speed=SPEED), ZONES, SCRIPTS, SHIELD_ZONES), Faults(seed), Seen()
    async with served(create_app(world, faults)) as url:
        exporter = await asyncio.to_thread(Exporter, settings(url, folder, world), folder)
        try:
            async with asyncio.TaskGroup() as tasks:
                scraping = tasks.create_task(scrape(exporter, seen))
                seen.faults = await make_trouble(exporter, world, faults, seed, minutes)
                seen.failing = await asyncio.to_thread(settled, lambda: failing(exporter), [], MENDED_SECONDS)
                scraping.cancel()
        finally:
            await asyncio.to_thread(exporter.end)
    return seen


def figures(seen: Seen) -> Iterator[tuple[str, str, str, bool]]:
    """Return the measurements: name, value, bound, and whether it is within."""
    (last,) = seen.witness.last.values()
    hits, falls = sum(fault.hits for fault in seen.faults), seen.witness.falls
    counted = sum(value for series, value in last.counters.items() if series.startswith("edge_dns_queries_total"))
    yield "faults scripted", str(len(seen.faults)), "", True
    yield "requests that met one", str(hits), "more than 0", hits > 0
    yield "queries counted", f"{counted:.0f}", "more than 0", counted > 0
    yield "counters that fell", "; ".join(falls[:3]) or "none", "none", not falls
    yield "targets failing at the end", "; ".join(seen.failing[:3]) or "none", "none", not seen.failing
    yield "scrapes", str(seen.witness.rounds), "", True
    yield "scrapes that failed", str(seen.failed_scrapes), "0", seen.failed_scrapes == 0
    lag = "edge_exporter_loop_lag_seconds"
    yield "waited for other processes", f"{seen.waited:.0%}", "", True
    for seconds, most_late, most_waited in LATE:
        late = 1 - last.own[f'{lag}_bucket{{le="{seconds}"}}'] / last.own[f"{lag}_count"]
        yield (
            f"event loop later than {seconds} s",
            f"{late:.2%}",
            f"{most_late:.0%}",
            late <= most_late or seen.waited > most_waited,
        )
    for (name, most, least, share), readings in zip(LEVELS, zip(*seen.readings, strict=True), strict=True):
        # The first quarter is for warming up.
        quarter = max(1, len(readings) // 4)
        early, late, highest = median(readings[quarter : 2 * quarter]), median(readings[-quarter:]), max(readings)
        more = max(least, early * share)
        value, bound = f"{early:.4g}, {late:.4g}, {highest:.4g}", f"{more:.2g} more, {most}"
        yield f"{name}: early, late, most", value, bound, late <= early + more and highest <= most


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
