"""Replicas with random faults, and an exporter without: `python -m tests.chaos.scenario [--events 300] [--seed 1]`."""

import argparse
import asyncio
import json
import math
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import httpx
import psycopg

from tests.chaos.platform import Platform
from tests.chaos.proxy import Proxy
from tests.chaos.replica import Replica
from tests.chaos.witness import LOSSES, REFUSED, Witness
from tests.exporter_parts import account_at
from tests.postgres import Postgres, postgres_running

LEASE = 5.0
FEWEST, MOST = 2, 4
EVENTS = ("kill", "suspend", "hang", "cut", "restart", "more", "fewer")
SCRAPE_SECONDS = 0.5
# A scrape that takes longer is one of a suspended process, and is answered later.
PATIENCE = 2.0
SETTLE_SECONDS = 600.0
SINGLE = "alone"


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the scenario.

    Attributes:
        events: the number of faults.
        interval: seconds between two polls of a target.
    """

    events: int
    replicas: int = 3
    shards: int = 8
    zones: int = 150
    scripts: int = 20
    shields: int = 6
    interval: float = 10.0
    seed: int = 1


def part(seconds: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed; 0 if there are none."""
    return sorted(seconds)[math.ceil(share * len(seconds)) - 1] if seconds else 0.0


class Scenario:
    """Runs replicas that share a state database, and their faults.

    Args:
        size: the size of the scenario.
        folder: the folder for files of the processes.
        postgres: the database's server, which is also restarted.
        say: reports what happens.
    """

    def __init__(self, size: Size, folder: Path, postgres: Postgres, say: Callable[[str], object]) -> None:
        self._size = size
        self._folder = folder
        self._postgres = postgres
        self._say = say
        self._chance = random.Random(size.seed)  # noqa: S311 - repeatable
        self._platform = Platform(size.zones, size.scripts, size.shields, self._chance)
        self._database = postgres.new_database()
        self._replicas: list[Replica] = []
        self._numbers = 0
        self._targets = size.zones + size.scripts + 2 * size.shields
        self._single: Replica
        self._witness = Witness()
        self._expected: dict[str, float] = {}
        self._moves = True
        self._counts: Counter[str] = Counter()

    def _settings(self, url: str, *, is_single: bool = False) -> dict[str, Any]:
        # Exporters of one installation have one address; which of them calls shows at the end of the way.
        budget = {"requests_per_second": 400, "max_in_flight": 16}
        account = account_at("http://platform.test", proxy=url, budget=budget)
        interval = f"{self._size.interval:g}s"
        shard = {"index": "lease", "total": self._size.shards}
        shared = {"state": {"url_file": "url", "lease": f"{LEASE:g}s"}, "shard": shard}
        polled = ("dns_statistics", "scripts", "shield_rate_limits")
        others = ("dns_record_scans", "shield_zones", "shield_api_guardian", "shield_bot_detection", "shield_waf_plans")
        return {
            "accounts": [account],
            "web": {"listen": "127.0.0.1:0"},
            "log": {"format": "json"},
            "collectors": {
                **{name: {"interval": interval} for name in polled},
                **{name: {"enabled": False} for name in others},
                "discovery": {"interval": "60s"},
            },
            **({"state": {"path": str(self._folder / f"{SINGLE}.db")}} if is_single else shared),
        }

    async def run(self) -> dict[str, Any]:
        """Run the scenario, and return its report; all started processes have ended afterwards."""
        began = time.monotonic()
        try:
            url = await self._platform.url_for(SINGLE)
            self._single = Replica(self._settings(url, is_single=True), self._folder / SINGLE, Proxy(0))
            await self._single.start()
            for _ in range(self._size.replicas):
                await self._one_more()
            async with httpx.AsyncClient(trust_env=False) as client, self._beside(client):
                await self._settled("the first polls")
                calls, epochs = self._platform.calls.copy(), self._epochs()
                self._witness.gaps.clear()
                await self._events()
                await self._settled("the last polls")
                return self._report(self._platform.calls - calls, self._epochs() - epochs, began)
        finally:
            for replica in [*self._replicas, *([self._single] if hasattr(self, "_single") else [])]:
                if replica.is_suspended:
                    replica.resume()
                await replica.end(signal.SIGKILL)
                await replica.proxy.stop()
            await self._platform.stop()

    async def _one_more(self) -> None:
        self._numbers += 1
        name = f"replica-{self._numbers}"
        proxy = Proxy(self._postgres.port)
        await proxy.start()
        url = self._postgres.url(self._database.rpartition("/")[2], proxy.port)
        settings = self._settings(await self._platform.url_for(name))
        replica = Replica(settings, self._folder / name, proxy, url)
        await replica.start()
        self._replicas.append(replica)

    @asynccontextmanager
    async def _beside(self, client: httpx.AsyncClient) -> AsyncIterator[None]:
        """Change the platform while all processes are scraped."""
        tasks = [asyncio.create_task(self._move()), asyncio.create_task(self._watch(client))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _move(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            if self._moves:
                self._platform.move()

    async def _watch(self, client: httpx.AsyncClient) -> None:
        while True:
            await asyncio.sleep(SCRAPE_SECONDS)
            replicas = list(self._replicas)
            *answers, single = await asyncio.gather(
                *(replica.scrape(client, PATIENCE) for replica in replicas), self._single.scrape(client, PATIENCE)
            )
            self._witness.take(answer for answer in answers if answer is not None)
            if single is not None:
                self._expected = dict(single.counters)

    async def _settled(self, awaited: str) -> None:
        """Wait until the platform does not change, and all replicas together serve the same as the other exporter."""
        self._moves = False
        before, until = self._platform.calls[SINGLE], time.monotonic() + SETTLE_SECONDS
        polls = 3 * (self._size.zones + self._size.scripts)
        # Polls that began before the last change have ended then.
        while self._platform.calls[SINGLE] < before + polls or self._witness.differences(self._expected):
            if time.monotonic() > until:
                self._say(f"{awaited} are not equal after {SETTLE_SECONDS:g} s")
                break
            await asyncio.sleep(SCRAPE_SECONDS)
        self._moves = True

    async def _events(self) -> None:
        for number in range(self._size.events):
            # The first ones are one of each kind.
            name = EVENTS[number] if number < len(EVENTS) else self._chance.choice(EVENTS)
            self._counts[name] += 1
            self._witness.event = name
            self._say(f"{number + 1}. {name}; {len(self._replicas)} replicas, {len(self._witness.falls)} falls")
            await self._happen(name)
            await self._pause(0.1, 0.6)
            # Three or four days end, and a month with the third, after all exporters have seen the former values.
            if (number + 1) % -(-self._size.events // 4) == 0:
                await self._settled("the polls of a day")
                self._platform.next_day()
                await self._settled("the first polls of a day")

    async def _happen(self, name: str) -> None:
        """Cause an event, and end it after a time between less and more than a lease's length."""
        replica = self._chance.choice(self._replicas)
        match name:
            case "kill":
                await replica.end(signal.SIGKILL)
                await self._pause(0.3, 2.0)
                await replica.start()
            case "suspend":
                replica.suspend()
                await self._pause(1.2, 2.5)
                replica.resume()
            case "hang":
                replica.proxy.hang()
                await self._pause(0.3, 2.0)
                replica.proxy.pass_on()
            case "cut":
                await replica.proxy.stop()
                await self._pause(0.3, 2.0)
                await replica.proxy.start()
            case "restart":
                await asyncio.to_thread(self._postgres.stop)
                await self._pause(0.1, 1.5)
                await asyncio.to_thread(self._postgres.start)
            case _ if len(self._replicas) < (MOST if name == "more" else FEWEST + 1):
                await self._one_more()
            case _:
                self._replicas.remove(replica)
                await replica.end(signal.SIGTERM)
                await replica.proxy.stop()

    async def _pause(self, least: float, most: float) -> None:
        """Let a random time pass, in lengths of the lease."""
        await asyncio.sleep(self._chance.uniform(least, most) * LEASE)

    def _epochs(self) -> Counter[int]:
        """Return how often each shard has been claimed."""
        with psycopg.connect(self._database) as connection:
            return Counter(dict(connection.execute("SELECT shard, epoch FROM edge_exporter_lease").fetchall()))

    def _report(self, calls: Counter[str], claims: Counter[int], began: float) -> dict[str, Any]:
        witness, single = self._witness, calls.pop(SINGLE)
        # After a claim of a shard, each of its targets is polled at once.
        first_polls = claims.total() * self._targets / self._size.shards
        return {
            "events": dict(self._counts),
            "series": len(self._expected),
            # Counters that differ at the end from those of the exporter that nothing disturbed.
            "differences": witness.differences(self._expected),
            # Samples that are lower than one before, in the samples of all replicas merged.
            "falls": witness.falls,
            "calls": calls.total(),
            "single_calls": single,
            "takeovers": claims.total(),
            "call_ratio": calls.total() / single,
            "call_ratio_without_first_polls": (calls.total() - first_polls) / single,
            # Kind of event → the longest time in which no replica served a counter that was missed first since then.
            "longest_gaps": {event: max(gaps) for event, gaps in witness.gaps.items()},
            # Of each counter after a kill: half of the gaps are at most this long, and 99 of 100.
            "takeover_gaps": [part(witness.gaps["kill"], share) for share in (0.5, 0.99)],
            # Answers of replicas that were suspended when they were asked, and the counters in them.
            "suspended": (witness.suspended, witness.suspended_counters),
            # Rows that the fence refused; shards that another replica claimed while one held them.
            "refused": witness.total(REFUSED),
            "losses": witness.total(LOSSES),
            "rounds": witness.rounds,
            "seconds": time.monotonic() - began,
        }


def main() -> int:
    """Run the scenario of the command line; return 1 if a counter differs or fell, or if there were too many calls."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.scenario", description=__doc__)
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("chaos.json"), help="where the figures go")
    given = parser.parse_args()
    size = Size(events=given.events, seed=given.seed)
    with tempfile.TemporaryDirectory() as folder, postgres_running(Path(folder)) as postgres:
        report = asyncio.run(Scenario(size, Path(folder), postgres, click.echo).run())
    text = json.dumps(report, indent=2)
    given.json.write_text(text + "\n")
    click.echo(text)
    is_wrong = report["differences"] or report["falls"] or not report["refused"]
    return int(bool(is_wrong or report["call_ratio_without_first_polls"] > 1.05))


if __name__ == "__main__":
    sys.exit(main())
