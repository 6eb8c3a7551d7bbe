"""The soak's other process: a sandbox that misbehaves at random, and a scraper that watches every counter.

`python -m tests.soak.platform SEED` prints the sandbox's address, reads the exporter's from standard input, and runs
until standard input has the line `mend`; then all faults end, and it prints its observations as JSON.
"""

import asyncio
import contextlib
import json
import logging
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.faults import Faults
from exporter.sandbox.server import SandboxServer
from exporter.sandbox.world import World

ZONES, SCRIPTS, SHIELD_ZONES = 150, 20, 10
# A day of the world in six minutes.
SPEED = 240.0
SCRAPE_SECONDS = 1.0
EVENT_SECONDS = 5.0
MENDED_SECONDS = 90.0

PATHS = (
    r".*",
    r"/dnszone/.*/statistics",
    r"/dnszone/.*/records/scan",
    r"/dnszone/1[0-4]\d/.*",
    r"/compute/script.*",
    r"/shield/.*",
    r"/shield/metrics/.*",
    r"/search.*",
    r"/v2/pipeline",
)
KINDS: tuple[dict[str, Any], ...] = (
    *({"kind": "status", "status": status} for status in (401, 403, 404, 408, 500, 502)),
    {"kind": "status", "status": 429},
    {"kind": "status", "status": 429, "retry_after": 1},
    {"kind": "status", "status": 503, "retry_after_date": 2.0},
    {"kind": "delay", "seconds": 0.5},
    {"kind": "delay", "seconds": 5.0},
    *({"kind": "stall", "point": point} for point in ("start", "headers", "body")),
    {"kind": "drip", "seconds": 0.05},
    *({"kind": "reset", "point": point} for point in ("start", "headers", "body")),
    {"kind": "truncate"},
    {"kind": "short"},
    {"kind": "garbage"},
    {"kind": "garbage", "place": "wire"},
    {"kind": "html"},
    {"kind": "wrong_types"},
    {"kind": "envelope"},
    {"kind": "oversize"},
    {"kind": "redirect", "location": "http://127.0.0.1:9/"},
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
    counted: float = 0.0
    failing: list[str] | None = None
    # The histogram that the exporter keeps of its own event loop: upper bound → delays up to it.
    loop_lag: dict[str, float] = field(default_factory=dict)


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


async def scrape(url: str, seen: Seen) -> None:
    """Scrape like Prometheus, and compare every counter of the platform with its earlier values."""
    highest: dict[tuple[str, tuple[str, ...]], float] = {}
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=10) as client:
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
                # Reading takes as long as 30 scrapes; one in five is read whole.
                if seen.scrapes % 5 == 0:
                    read(answer.text, highest, seen)
            await asyncio.sleep(max(0.0, SCRAPE_SECONDS - (time.monotonic() - began)))


def read(text: str, highest: dict[tuple[str, tuple[str, ...]], float], seen: Seen) -> None:
    """Note what a scrape tells."""
    failing: list[str] = []
    families = list(text_string_to_metric_families(text))
    for family in families:
        is_counted = family.type == "counter" and not family.name.startswith(("edge_exporter_", "edge_api_"))
        for sample in family.samples:
            if sample.name == "edge_target_up" and not sample.value:
                failing.append(f"{sample.labels['collector']} {sample.labels['target']}")
            if sample.name == "edge_exporter_loop_lag_seconds_bucket":
                seen.loop_lag[sample.labels["le"]] = sample.value
            if is_counted and sample.name.startswith("edge_"):
                # By ids alone: a zone may be renamed.
                names = {"domain", "script", "rate_limit"}
                key = sample.name, tuple(text for label, text in sorted(sample.labels.items()) if label not in names)
                if sample.value < highest.get(key, 0.0):
                    seen.falls.append(f"{key}: {highest[key]} to {sample.value}")
                highest[key] = max(sample.value, highest.get(key, 0.0))
    seen.series, seen.failing = sum(len(family.samples) for family in families), failing
    seen.counted = sum(value for (name, _), value in highest.items() if name == "edge_dns_queries_total")


def make_world(seed: int) -> World:
    """Return the polled world; two worlds with the same seed have the same resources."""
    return World(seed, WorldClock(speed=SPEED), ZONES, SCRIPTS, SHIELD_ZONES)


async def main(seed: int) -> None:
    """Serve, cause faults and scrape until standard input ends the run."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    world = make_world(seed)
    faults = Faults(seed)
    sandbox = SandboxServer(create_app(world, faults))
    await sandbox.start()
    say({"url": sandbox.url})
    exporter = (await asyncio.to_thread(sys.stdin.readline)).strip()
    seen = Seen()
    making = asyncio.create_task(make_trouble(world, faults, chance, seen))
    scraping = asyncio.create_task(scrape(exporter, seen))
    await asyncio.to_thread(sys.stdin.readline)
    making.cancel()
    mend(faults, seen)
    seen.failing = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(MENDED_SECONDS):
            while seen.failing != []:  # noqa: ASYNC110 - scrapes tell
                await asyncio.sleep(0.2)
    scraping.cancel()
    await asyncio.gather(making, scraping, return_exceptions=True)
    await sandbox.stop()
    say(asdict(seen))


def say(what: object) -> None:
    """Write a line of JSON to the parent process."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # A client that hangs up on a body that is too large is what is wanted here, and worth no line for each piece of it.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    asyncio.run(main(int(sys.argv[1])))
