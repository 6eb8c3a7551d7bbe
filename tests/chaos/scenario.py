"""The scenario: replicas with random faults, and an exporter without faults."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import httpx
import psycopg

from exporter.sandbox import keys
from tests.chaos.calls import tallied
from tests.chaos.platform import ACCOUNT, Platform
from tests.chaos.proxy import Proxy
from tests.chaos.replica import Replica
from tests.chaos.witness import Witness
from tests.postgres import Postgres

LEASE = 5.0
FEWEST, MOST = 2, 4
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
        # With those that were ended.
        self._all: list[Replica] = []
        self._numbers = 0
        self._single: Replica
        self._witness = Witness()
        self._expected: dict[str, float] = {}
        self._moves = True
        self._counts: Counter[str] = Counter()

    def _settings(self, url: str, *, is_single: bool = False) -> dict[str, Any]:
        account = {
            "name": ACCOUNT,
            # Exporters of one installation have one address; which of them calls shows at the end of the way.
            "base_url": "http://platform.test",
            "proxy": url,
            "api_key": keys.API_KEY,
            "budget": {"requests_per_second": 400, "max_in_flight": 16},
        }
        interval = f"{self._size.interval:g}s"
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
            **(
                {"state": {"path": str(self._folder / f"{SINGLE}.db")}}
                if is_single
                else {
                    "state": {"url_file": "url", "lease": f"{LEASE:g}s"},
                    "shard": {"index": "lease", "total": self._size.shards},
                }
            ),
        }

    async def run(self) -> dict[str, Any]:
        """Run the scenario, and return its report; all started processes have ended afterwards."""
        began = time.monotonic()
        try:
            url = await self._platform.url_for(SINGLE)
            self._single = Replica(self._settings(url, is_single=True), self._folder / SINGLE)
            await self._single.start()
            for _ in range(self._size.replicas):
                await self._one_more()
            async with httpx.AsyncClient(trust_env=False) as client, self._beside(client):
                await self._settled("the first polls")
                since, epochs = time.time(), self._epochs()
                self._witness.longest_gaps.clear()
                await self._events()
                await self._settled("the last polls")
                return self._report(since, epochs, began)
        finally:
            await self._end()

    async def _end(self) -> None:
        for replica in [*self._replicas, *([self._single] if hasattr(self, "_single") else [])]:
            if replica.is_suspended:
                replica.resume()
            await replica.end(signal.SIGKILL)
            if replica.proxy is not None:
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
        self._all.append(replica)

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
        before, until = self._single_calls(), time.monotonic() + SETTLE_SECONDS
        polls = 3 * (self._size.zones + self._size.scripts)
        # Polls that began before the last change have ended then.
        while self._single_calls() < before + polls or self._witness.differences(self._expected):
            if time.monotonic() > until:
                self._say(f"{awaited} are not equal after {SETTLE_SECONDS:g} s")
                break
            await asyncio.sleep(SCRAPE_SECONDS)
        self._moves = True

    async def _events(self) -> None:
        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "kill": self._kill,
            "suspend": self._suspend,
            "hang": self._hang,
            "cut": self._cut,
            "restart": self._restart,
            "more": partial(self._change, MOST),
            "fewer": partial(self._change, FEWEST),
        }
        for number in range(self._size.events):
            # The first ones are one of each kind.
            name = list(kinds)[number] if number < len(kinds) else self._chance.choice(list(kinds))
            self._counts[name] += 1
            self._witness.event = name
            self._say(f"{number + 1}. {name}; {len(self._replicas)} replicas, {len(self._witness.falls)} falls")
            await kinds[name]()
            await asyncio.sleep(self._chance.uniform(0.1, 0.6) * LEASE)
            # Three or four days end, and a month with the third.
            if (number + 1) % -(-self._size.events // 4) == 0:
                await self._day_ends()

    async def _day_ends(self) -> None:
        """End a day, and lower past days, after all exporters have seen the former values."""
        await self._settled("the polls of a day")
        self._platform.next_day()
        self._platform.fall()
        await self._settled("the first polls of a day")

    def _any(self) -> Replica:
        return self._chance.choice(self._replicas)

    def _soon(self) -> float:
        """Return a time between less and more than a lease's length."""
        return self._chance.uniform(0.3, 2.0) * LEASE

    async def _kill(self) -> None:
        replica = self._any()
        await replica.end(signal.SIGKILL)
        await asyncio.sleep(self._soon())
        await replica.start()

    async def _suspend(self) -> None:
        replica = self._any()
        replica.suspend()
        await asyncio.sleep(self._chance.uniform(1.2, 2.5) * LEASE)
        replica.resume()

    async def _hang(self) -> None:
        proxy = self._any().proxy
        assert proxy is not None
        proxy.hang()
        await asyncio.sleep(self._soon())
        proxy.pass_on()

    async def _cut(self) -> None:
        proxy = self._any().proxy
        assert proxy is not None
        await proxy.stop()
        await asyncio.sleep(self._soon())
        await proxy.start()

    async def _restart(self) -> None:
        await asyncio.to_thread(self._postgres.stop)
        await asyncio.sleep(self._chance.uniform(0.1, 1.5) * LEASE)
        await asyncio.to_thread(self._postgres.start)

    async def _change(self, enough: int) -> None:
        """Start a replica where there are not enough, or as few as may be; end one otherwise."""
        if len(self._replicas) < max(enough, FEWEST + 1):
            await self._one_more()
            return
        replica = self._any()
        self._replicas.remove(replica)
        await replica.end(signal.SIGTERM)
        if replica.proxy is not None:
            await replica.proxy.stop()

    def _epochs(self) -> dict[int, int]:
        """Return how often each shard has been claimed."""
        with psycopg.connect(self._database) as connection:
            return dict(connection.execute("SELECT shard, epoch FROM edge_exporter_lease").fetchall())

    def _single_calls(self, since: float = 0.0) -> int:
        """Return the number of calls of the exporter without faults."""
        return sum(call.replica == SINGLE and call.at >= since for call in self._platform.calls)

    def _report(self, since: float, epochs: dict[int, int], began: float) -> dict[str, Any]:
        claims = (claim for replica in self._all for claim in replica.claims())
        shards = cache(partial(self._platform.shard_of, total=self._size.shards))
        calls = (call for call in self._platform.calls if call.replica != SINGLE)
        tally = tallied(calls, claims, shards, since)
        single, witness = self._single_calls(since), self._witness
        return {
            "events": dict(self._counts),
            "series": len(self._expected),
            # Counters that differ at the end from those of the exporter that nothing disturbed.
            "differences": witness.differences(self._expected),
            # Samples that are lower than one before, in the samples of all replicas merged.
            "falls": witness.falls,
            "calls": tally,
            "single_calls": single,
            "takeovers": sum(epoch - epochs.get(shard, 0) for shard, epoch in self._epochs().items()),
            # Without the first polls after claims.
            "call_ratio": (tally["calls"] - tally["first_polls"]) / single,
            # Kind of event → the longest time in which no replica served a counter that was missed first since then.
            "longest_gaps": witness.longest_gaps,
            # Answers of replicas that were suspended when they were asked, and the counters in them.
            "suspended": (witness.suspended, witness.suspended_counters),
            # Rows that the fence refused; shards that another replica claimed while one held them.
            "refused": witness.total("refused"),
            "losses": witness.total("losses"),
            "rounds": witness.rounds,
            "seconds": time.monotonic() - began,
        }
