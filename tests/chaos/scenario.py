"""Three exporters with two shards on one PostgreSQL, under faults: `python -m tests.chaos.scenario [--minutes 10]`.

A real Prometheus scrapes them with the shipped relabeling: over its raw samples the increase of each counter, resets
included, must be what an exporter counted that nothing disturbed. Each process is asked every 100 ms besides: no
counter falls, and no two processes serve one at once.
"""

import argparse
import asyncio
import json
import math
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import httpx
import psycopg
import yaml

from tests.chaos.platform import Platform
from tests.chaos.proxy import Proxy
from tests.chaos.replica import Replica
from tests.chaos.witness import Samples, Witness
from tests.exporter_parts import account_at
from tests.postgres import Postgres, postgres_running
from tests.real_parts import REPOSITORY, Prometheus, prometheus_running

LEASE = 5.0
REPLICAS, SHARDS = 3, 2
EVENTS = ("kill", "suspend", "hang", "restart", "reading")
ASKED_SECONDS = 0.1
SETTLE_SECONDS = 180.0
SINGLE = "alone"
_EMPTY = re.compile(r'(?<=[{,])\w+="",|,\w+=""(?=})')


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the scenario.

    Attributes:
        seconds: how long faults go on, after one of each kind in `first`.
        first: the faults that happen in any case, in this order.
        rows: rows of targets that are long gone, which a new holder of a shard reads, too.
        interval: seconds between two polls of a target.
    """

    seconds: float = 600.0
    first: tuple[str, ...] = EVENTS
    rows: int = 50_000
    zones: int = 40
    scripts: int = 6
    shields: int = 3
    interval: float = 2.0
    seed: int = 1


def part(seconds: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed; 0 if there are none."""
    return sorted(seconds)[math.ceil(share * len(seconds)) - 1] if seconds else 0.0


def increase(values: Sequence[float]) -> float:
    """Return the sum of the differences; a fall counts as a reset, as in Prometheus."""
    return sum(value - before if value >= before else value for before, value in pairwise(values))


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
        self._single: Replica | None = None
        self._witness = Witness()
        self._expected: Samples = {}
        self._moves = False
        self._counts: Counter[str] = Counter()
        self._prometheus: Prometheus

    def _settings(self, url: str, *, is_single: bool = False) -> dict[str, Any]:
        # Exporters of one installation have one address; which of them calls shows at the end of the way.
        budget = {"requests_per_second": 400, "max_in_flight": 16}
        interval = f"{self._size.interval:g}s"
        shared = {
            "state": {"url_file": "url", "lease": f"{LEASE:g}s"},
            "shard": {"index": "auto", "total": SHARDS},
        }
        polled = ("dns_statistics", "scripts", "shield_rate_limits")
        others = ("dns_record_scans", "shield_zones", "shield_api_guardian", "shield_bot_detection", "shield_waf_plans")
        return {
            "accounts": [account_at("http://platform.test", proxy=url, budget=budget)],
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
            for number in range(REPLICAS):
                await self._one_more(f"replica-{number}")
            self._fill()
            with prometheus_running(self._folder, self._shipped()) as self._prometheus:
                async with httpx.AsyncClient(trust_env=False) as client, self._beside(client):
                    await self._settled("the first polls")
                    self._witness = Witness()
                    self._moves = True
                    await self._events(time.monotonic() + self._size.seconds)
                    self._moves = False
                    differences = await self._settled("the last polls")
            return self._report(differences, began)
        finally:
            for replica in [*self._replicas, *([self._single] if self._single is not None else [])]:
                if replica.is_suspended:
                    replica.resume()
                await replica.end(signal.SIGKILL)
                await replica.proxy.stop()
            await self._platform.stop()

    async def _one_more(self, name: str) -> None:
        proxy = Proxy(self._postgres.port)
        await proxy.start()
        url = self._postgres.url(self._database.rpartition("/")[2], proxy.port)
        replica = Replica(self._settings(await self._platform.url_for(name)), self._folder / name, proxy, url)
        await replica.start()
        self._replicas.append(replica)

    def _fill(self) -> None:
        """Write rows of targets that are long gone."""
        with psycopg.connect(self._database) as connection:
            connection.execute(
                "INSERT INTO edge_exporter_row SELECT 'default', 'gone', 'main', 'dns_zone', 'gone-' || n, n %% %s, "
                "%s, '', 4e9, convert_to(repeat('x', 800), 'UTF8') FROM generate_series(1, %s) AS n",
                (SHARDS, SHARDS, self._size.rows),
            )

    def _shipped(self) -> dict[str, Any]:
        """Return the shipped configuration of Prometheus, for the replicas in a file."""
        config = yaml.safe_load((REPOSITORY / "deploy" / "prometheus" / "prometheus.yml").read_text())
        (job,) = config["scrape_configs"]
        kept = {name: job[name] for name in ("job_name", "honor_labels", "metric_relabel_configs")}
        kept["file_sd_configs"] = [{"files": [str(self._folder / "targets.yml")], "refresh_interval": "1s"}]
        return {"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"}, "scrape_configs": [kept]}

    @asynccontextmanager
    async def _beside(self, client: httpx.AsyncClient) -> AsyncIterator[None]:
        """Change the platform while all processes are asked."""
        tasks = [asyncio.create_task(self._move()), asyncio.create_task(self._watch(client))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _move(self) -> None:
        targets, known = self._folder / "targets.yml", [""]
        while True:
            addresses = [one.address for one in self._replicas if one.address]
            if addresses != known:
                known = addresses
                targets.with_suffix(".new").write_text(yaml.safe_dump([{"targets": addresses}]))
                targets.with_suffix(".new").rename(targets)
            await asyncio.sleep(1.0)
            if self._moves:
                self._platform.move()

    async def _watch(self, client: httpx.AsyncClient) -> None:
        assert self._single is not None
        while True:
            began = time.monotonic()
            *answers, single = await asyncio.gather(
                *(replica.scrape(client, ASKED_SECONDS) for replica in self._replicas),
                self._single.scrape(client, ASKED_SECONDS),
            )
            self._witness.take(answer for answer in answers if answer is not None)
            if single is not None:
                self._expected = dict(single.counters)
            await asyncio.sleep(max(0.0, ASKED_SECONDS - (time.monotonic() - began)))

    async def _settled(self, awaited: str) -> list[str]:
        """Wait until Prometheus has what the other exporter counted; return what differs in the end."""
        await asyncio.sleep(2 * self._size.interval)
        until = time.monotonic() + SETTLE_SECONDS
        differences = await asyncio.to_thread(self._differences)
        while differences and time.monotonic() < until:
            await asyncio.sleep(1.0)
            differences = await asyncio.to_thread(self._differences)
        if differences:
            self._say(f"{awaited} differ after {SETTLE_SECONDS:g} s: {differences[:3]}")
        return differences

    def _differences(self) -> list[str]:
        """Return the counters whose increase in Prometheus differs from the value of the other exporter."""
        held: dict[str, float] = {}
        for found in self._prometheus.ask('{__name__=~"edge_(dns|script|shield)_.*_total"}[2h]'):
            labels = {name: value for name, value in found["metric"].items() if name not in ("instance", "pod", "job")}
            name = labels.pop("__name__")
            series = ",".join(f'{label}="{value}"' for label, value in sorted(labels.items()))
            assert f"{name}{{{series}}}" not in held, "a series has two identities"
            held[f"{name}{{{series}}}"] = increase([float(value) for _, value in found["values"]])
        # Prometheus has no empty labels.
        expected = {_EMPTY.sub("", series): value for series, value in self._expected.items()}
        return [
            f"{series}: {held.get(series)} and not {expected.get(series)}"
            for series in sorted(expected.keys() | held.keys())
            if not math.isclose(held.get(series, -1.0), expected.get(series, -1.0), rel_tol=1e-9, abs_tol=1e-6)
        ] or ([] if expected else ["nothing is counted"])

    async def _events(self, until: float) -> None:
        due = list(self._size.first)
        while due or time.monotonic() < until:
            name = due.pop(0) if due else self._chance.choice(EVENTS)
            self._counts[name] += 1
            self._witness.event = name
            self._say(f"{self._counts.total()}. {name}; {len(self._witness.falls)} falls")
            await self._happen(name)
            await self._pause(0.2, 1.5)

    async def _happen(self, name: str) -> None:
        """Cause an event, and end it after a time between less and more than a lease's length."""
        replica = self._chance.choice(self._replicas)
        match name:
            case "kill":
                await replica.end(signal.SIGKILL)
                await self._pause(0.1, 1.5)
                await replica.start()
            case "suspend":
                replica.suspend()
                await self._pause(1.1, 2.5)
                replica.resume()
            case "hang":
                replica.proxy.hang()
                await self._pause(0.3, 2.5)
                replica.proxy.pass_on()
            case "restart":
                await asyncio.to_thread(self._postgres.stop)
                await self._pause(0.0, 1.0)
                await asyncio.to_thread(self._postgres.start)
            case _:
                # Another one takes the shard, if this one had any, and is suspended while it reads the rows.
                others = [one for one in self._replicas if one is not replica]
                await replica.end(signal.SIGTERM)
                await asyncio.sleep(self._chance.uniform(0.0, LEASE / 5 + 1.0))
                for other in others:
                    other.suspend()
                await self._pause(1.1, 1.6)
                for other in others:
                    other.resume()
                await replica.start()

    async def _pause(self, least: float, most: float) -> None:
        """Let a random time pass, in lengths of the lease."""
        await asyncio.sleep(self._chance.uniform(least, most) * LEASE)

    def _report(self, differences: list[str], began: float) -> dict[str, Any]:
        witness = self._witness
        every = [gap for found in witness.gaps.values() for gap in found]
        gaps = {event: (part(found, 0.5), part(found, 0.99)) for event, found in witness.gaps.items()}
        return {
            "events": dict(self._counts),
            "series": len(self._expected),
            # Counters whose increase in Prometheus is not what the exporter counted that nothing disturbed.
            "differences": differences,
            # Samples that are lower than one before, in the samples of all replicas merged.
            "falls": witness.falls,
            "doubles": list(witness.doubles(LEASE)),
            # Event → from the last answer with a counter to the next one, of any process: half of them, and 99 of 100.
            "gaps": gaps,
            "all_gaps": [part(every, share) for share in (0.5, 0.99)],
            "longest_gap": witness.longest,
            "rounds": witness.rounds,
            "seconds": time.monotonic() - began,
        }


def main() -> int:
    """Run the scenario of the command line; return 1 if a counter differs, fell or was served twice."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.scenario", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("chaos.json"), help="where the figures go")
    given = parser.parse_args()
    size = Size(seconds=given.minutes * 60, seed=given.seed)
    with tempfile.TemporaryDirectory() as folder, postgres_running(Path(folder)) as postgres:
        report = asyncio.run(Scenario(size, Path(folder), postgres, click.echo).run())
    text = json.dumps(report, indent=2)
    given.json.write_text(text + "\n")
    click.echo(text)
    return int(bool(report["differences"] or report["falls"] or report["doubles"]))


if __name__ == "__main__":
    sys.exit(main())
