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


class Troublemaker:
    """Scripts faults, changes the clock, and adds and removes zones."""

    def __init__(self, world: World, faults: Faults, chance: random.Random, seen: Seen) -> None:
        self._world = world
        self._faults = faults
        self._chance = chance
        self._seen = seen
        self._visitors: list[int] = []

    async def make(self) -> None:
        """Cause faults repeatedly, with some pauses between them."""
        moved = time.monotonic()
        while True:
            await asyncio.sleep(self._chance.uniform(0.2, 2.0))
            if self._chance.random() < 0.25 or len(self._faults.all()) > 4:
                self.mend()
                continue
            fault = dict(self._chance.choice(KINDS), path_regex=self._chance.choice(PATHS))
            fault["probability"] = self._chance.choice((0.05, 0.2, 0.5, 1.0))
            self._faults.add(fault)
            self._seen.faults += 1
            if time.monotonic() - moved > EVENT_SECONDS:
                moved = time.monotonic()
                self._happen()

    def mend(self) -> None:
        """End all faults."""
        self._seen.hits += sum(fault.hits for fault in self._faults.all())
        self._faults.clear()

    def _happen(self) -> None:
        dns = self._world.dns
        zone = self._chance.choice(dns.zones.slice(0, ZONES))
        match self._chance.randrange(5):
            case 0:
                self._world.clock.advance(self._chance.choice((60.0, 3600.0, 30 * 3600.0)))
            case 1:
                self._visitors.append(dns.add_zone(f"visitor-{self._chance.randrange(10**9)}.example"))
            case 2 if self._visitors:
                dns.remove_zone(self._visitors.pop(0))
            case 3:
                dns.rename_zone(zone, f"renamed-{self._chance.randrange(10**9)}.example")
            case _:
                dns.add_queries(zone, self._chance.randint(-5_000, 50_000))


class Scraper:
    """Scrapes like Prometheus, and compares every counter of the platform with its earlier values."""

    def __init__(self, url: str, seen: Seen) -> None:
        self._url = url
        self._seen = seen
        self._highest: dict[tuple[str, tuple[str, ...]], float] = {}

    async def scrape(self) -> None:
        """Scrape repeatedly, until cancelled."""
        async with httpx.AsyncClient(base_url=self._url, trust_env=False, timeout=10) as client:
            while True:
                began = time.monotonic()
                try:
                    answer = await client.get("/metrics", headers={"Accept-Encoding": "gzip"})
                    answer.raise_for_status()
                except httpx.HTTPError:
                    self._seen.failed_scrapes += 1
                else:
                    self._seen.slowest_scrape = max(self._seen.slowest_scrape, time.monotonic() - began)
                    self._seen.scrapes += 1
                    # Reading takes as long as 30 scrapes; one in five is read whole.
                    if self._seen.scrapes % 5 == 0:
                        self._read(answer.text)
                await asyncio.sleep(max(0.0, SCRAPE_SECONDS - (time.monotonic() - began)))

    def _read(self, text: str) -> None:
        failing: list[str] = []
        series = 0
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                series += 1
                if sample.name == "edge_target_up" and not sample.value:
                    failing.append(f"{sample.labels['collector']} {sample.labels['target']}")
                if sample.name == "edge_exporter_loop_lag_seconds_bucket":
                    self._seen.loop_lag[sample.labels["le"]] = sample.value
                if family.type == "counter" and not sample.name.startswith(("edge_exporter_", "edge_api_", "process_")):
                    self._hold(sample.name, sample.labels, sample.value)
        self._seen.series, self._seen.failing = series, failing
        self._seen.counted = sum(
            value for (name, _), value in self._highest.items() if name == "edge_dns_queries_total"
        )

    def _hold(self, name: str, labels: dict[str, str], value: float) -> None:
        # By ids alone: a zone may be renamed.
        ids = tuple(text for label, text in sorted(labels.items()) if label not in {"domain", "script", "rate_limit"})
        if value < self._highest.get((name, ids), 0.0) and name.startswith("edge_"):
            self._seen.falls.append(f"{name}{ids}: {self._highest[name, ids]} to {value}")
        self._highest[name, ids] = max(value, self._highest.get((name, ids), 0.0))


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
    trouble, scraper = Troublemaker(world, faults, chance, seen), Scraper(exporter, seen)
    making = asyncio.create_task(trouble.make())
    scraping = asyncio.create_task(scraper.scrape())
    await asyncio.to_thread(sys.stdin.readline)
    making.cancel()
    trouble.mend()
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
