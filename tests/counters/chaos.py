"""Three exporters with two shards on one PostgreSQL, under faults: `python -m tests.counters.chaos [--minutes 10]`.

The queries of three zones grow meanwhile. Each process is asked ten times a second: no counter is lower than one that
came before the request, and no two processes serve one at once. In the end each query was counted once.
"""

import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from http.client import HTTPException
from pathlib import Path
from typing import Any

import click

from tests.counters.exporter_process import Exporter
from tests.counters.proxy import Proxy
from tests.counters.sharing_processes import QUERIES, ZONES, SharingProcesses, sharing_processes, until_all, until_total
from tests.postgres import Postgres, postgres_running

FAULTS = ("kill", "suspend", "hang", "restart")
LEASE = 5.0
REPLICAS, SHARDS = 3, 2


class Witness:
    """Records what processes serve, and violations of the guarantees."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.answers = 0
        # Zone → its highest counter, and the answers that had it: when it was asked for, when it came, and from whom.
        self.highest: dict[str, float] = {}
        # How long no process served a zone, in seconds.
        self.gaps: list[float] = []
        self._served: defaultdict[str, list[tuple[float, float, int]]] = defaultdict(list)

    async def watch(self, exporters: Sequence[Exporter], place: int) -> None:
        """Repeatedly scrape the exporter at an index of the list; it may be replaced by another one."""
        while True:
            exporter, asked, before = exporters[place], time.monotonic(), dict(self.highest)
            try:
                found = await asyncio.to_thread(exporter.samples, QUERIES, "zone_id")
            except (OSError, HTTPException):  # it was killed
                found = {}
            came = time.monotonic()
            self.answers += bool(found)
            for zone, value in found.items():
                if value < before.get(zone, 0.0):
                    self.problems.append(f"{zone} is {value} after {before[zone]}")
                self.highest[zone] = max(value, self.highest.get(zone, 0.0))
                served = self._served[zone]
                last = max((one[1] for one in served if one[2] == exporter.pid), default=asked - LEASE)
                # Longer ago, another process may have had the shard in between.
                if asked - last < LEASE and any(last < one[0] and one[1] < asked for one in served):
                    self.problems.append(f"{zone} is served by two processes at once")
                self.gaps.append(came - max((one[1] for one in served), default=came))
                self._served[zone] = [one for one in served if came - one[1] < 10 * LEASE] + [
                    (asked, came, exporter.pid)
                ]
            await asyncio.sleep(0.1)


class Replicas:
    """Exporters that are killed, suspended and cut off; each has its own proxy to the database."""

    def __init__(self, sharing: SharingProcesses, postgres: Postgres, seed: int) -> None:
        self.exporters: list[Exporter] = []
        self.expected = 0
        self._sharing, self._postgres = sharing, postgres
        self._chance = random.Random(seed)  # noqa: S311 - repeatable
        self._proxies = [Proxy(postgres.port) for _ in range(REPLICAS)]
        self._lives = [AsyncExitStack() for _ in range(REPLICAS)]

    async def start(self) -> None:
        """Start all, and wait until each zone is counted."""
        for place, proxy in enumerate(self._proxies):
            await proxy.start()
            self.exporters.append(await self._started(place))
        await until_all(*self.exporters)

    async def end(self) -> None:
        """End all."""
        for proxy, life in zip(self._proxies, self._lives, strict=True):
            await life.aclose()
            await proxy.stop()

    async def _started(self, place: int) -> Exporter:
        url = self._postgres.url(self._sharing.url.rpartition("/")[2], self._proxies[place].port)
        made = self._sharing.exporter(f"{place}", lease=f"{LEASE:g}s", url=url, total=SHARDS, index="auto")
        return await self._lives[place].enter_async_context(made)

    async def grow(self) -> None:
        """Add queries to each zone, again and again."""
        while True:
            queries = self._chance.randrange(1, 50)
            self._sharing.serve(queries)
            self.expected += queries * len(ZONES)
            await asyncio.sleep(1.0)

    async def happen(self, fault: str) -> None:
        """Cause a fault, end it after a time between less and more than a lease, and wait a little."""
        place = self._chance.randrange(REPLICAS)
        if fault == "kill":
            await self._lives[place].aclose()
            await self._pause(0.1, 1.5)
            self.exporters[place] = await self._started(place)
        elif fault == "suspend":
            self.exporters[place].send(signal.SIGSTOP)
            await self._pause(1.1, 2.5)
            self.exporters[place].send(signal.SIGCONT)
        elif fault == "hang":
            self._proxies[place].hang()
            await self._pause(0.3, 2.5)
            self._proxies[place].pass_on()
        else:
            await asyncio.to_thread(self._postgres.stop)
            await self._pause(0.0, 1.0)
            await asyncio.to_thread(self._postgres.start)
        await self._pause(0.2, 1.5)

    async def _pause(self, least: float, most: float) -> None:
        await asyncio.sleep(self._chance.uniform(least, most) * LEASE)


async def chaos(
    sharing: SharingProcesses, postgres: Postgres, first: Sequence[str], seconds: float = 0.0, seed: int = 1
) -> dict[str, Any]:
    """Run the processes, with these faults and then random ones for a number of seconds; return the figures."""
    witness, faults, chance = Witness(), list(first), random.Random(seed)  # noqa: S311 - repeatable
    replicas, happened = Replicas(sharing, postgres, seed), Counter[str]()
    tasks: list[asyncio.Task[None]] = []
    try:
        await replicas.start()
        tasks = [asyncio.create_task(witness.watch(replicas.exporters, place)) for place in range(REPLICAS)]
        growing, ends = asyncio.create_task(replicas.grow()), time.monotonic() + seconds
        tasks.append(growing)
        while faults or time.monotonic() < ends:
            fault = faults.pop(0) if faults else chance.choice(FAULTS)
            happened[fault] += 1
            await replicas.happen(fault)
        growing.cancel()
        await until_total(replicas.expected, *replicas.exporters)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await replicas.end()
    gaps = sorted(gap for gap in witness.gaps if gap > 1.0)
    return {
        "faults": dict(happened),
        "gaps": [gaps[len(gaps) * part // 100] for part in (50, 99)] if gaps else [],
        "answers": witness.answers,
        "queries": replicas.expected,
        "problems": witness.problems,
    }


@click.command(help=__doc__)
@click.option("--minutes", default=10.0, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(minutes: float, seed: int) -> None:
    """Run the processes; exit with 1 if a counter fell or was served twice."""

    async def run(folder: Path, postgres: Postgres) -> dict[str, Any]:
        async with sharing_processes(folder, postgres) as sharing:
            return await chaos(sharing, postgres, FAULTS, minutes * 60, seed)

    with tempfile.TemporaryDirectory() as folder, postgres_running(Path(folder)) as postgres:
        report = asyncio.run(run(Path(folder), postgres))
    click.echo(json.dumps(report))
    sys.exit(bool(report["problems"]))


if __name__ == "__main__":
    main()
