"""A real Prometheus scrapes all replicas while one is killed and another starts: it counts every query once."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.commands.local_platform import listed
from exporter.sandbox.world import World
from tests.counters.process import Exporter
from tests.counters.sharing_processes import SharingProcesses, sharing_processes
from tests.postgres import Postgres
from tests.real_parts import REPOSITORY, Prometheus, Release, prometheus_running

pytestmark = pytest.mark.real("prometheus")

ZONES = (101, 102, 103)
DAY = 86400
TOTAL = 4
HELD = "sum(edge_exporter_shard_held)"
FAIR = "min(sum by (instance) (edge_exporter_shard_held))"
SERIES = "count by (instance) ({__name__=~'edge_(dns|script|shield)_.*_total'})"

# The counters of the platform's resources, and the labels that identify their series.
COUNTERS = {
    "edge_dns_queries_total": ("zone_id",),
    "edge_dns_routed_queries_total": ("zone_id", "routing"),
    "edge_shield_rate_limit_breaches_total": ("rate_limit_id", "action"),
    "edge_script_requests_total": ("script_id",),
}
# A family and the values of these labels → a value, or its samples in order of time.
Values = dict[tuple[str, ...], float]
Samples = dict[tuple[str, ...], list[float]]


@pytest.fixture
async def sharing(tmp_path: Path, postgres: Postgres) -> AsyncIterator[SharingProcesses]:
    async with sharing_processes(tmp_path, postgres) as made:
        yield made


def samples_in(prometheus: Prometheus) -> Samples:
    """Return the raw samples of every counter."""
    series = [
        ((family, *(found["metric"][name] for name in names)), [float(value) for _, value in found["values"]])
        for family, names in COUNTERS.items()
        for found in prometheus.ask(f"{family}[1h]")
    ]
    assert len(dict(series)) == len(series), "a series changed its labels"
    return dict(series)


def increase(values: list[float]) -> float:
    """Return the sum of the differences; a fall counts as a reset, as in Prometheus."""
    return sum(value - before if value >= before else value for before, value in pairwise(values))


class Truth:
    """The values that the platform has served, whether or not they were polled."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._from = datetime.fromtimestamp(world.clock.now(), UTC).date()
        self._before = self._now()

    def _now(self) -> Values:
        world = self._world
        last = datetime.fromtimestamp(world.clock.now(), UTC).date()
        days = [self._from + timedelta(days=day) for day in range((last - self._from).days + 1)]
        found: Values = {("edge_script_requests_total", "7"): world.scripts.true_month(7).requests}
        for zone in ZONES:
            normal, smart = (
                sum(part) for part in zip(*(world.dns.true_routed(zone, day) for day in days), strict=True)
            )
            found["edge_dns_queries_total", str(zone)] = normal + smart
            found["edge_dns_routed_queries_total", str(zone), "normal"] = normal
            found["edge_dns_routed_queries_total", str(zone), "smart"] = smart
        for limit in world.rate_limits.limits:
            breaches = [world.rate_limits.true_breaches(limit, day) for day in days]
            for action in ("logged", "challenged", "blocked"):
                family = "edge_shield_rate_limit_breaches_total"
                found[family, str(limit), action] = sum(getattr(each, action) for each in breaches)
        return found

    def since(self) -> Values:
        """Return the totals served since the beginning."""
        return {series: value - self._before[series] for series, value in self._now().items()}


async def caught_up(prometheus: Prometheus, truth: Truth) -> Samples:
    """Wait until Prometheus has the platform's present values; return all samples."""
    wanted = truth.since()
    held: Samples = {}
    for _ in range(3000):
        held = await asyncio.to_thread(samples_in, prometheus)
        if {series: values[-1] for series, values in held.items()} == wanted:
            break
        await asyncio.sleep(0.1)
    return held


def replica(sharing: SharingProcesses, name: str) -> AbstractAsyncContextManager[Exporter]:
    """Run a replica that polls every counter once a second."""
    limits = listed(sharing.sandboxed.world)["rate_limits"]
    polls = ("dns_statistics", "scripts", "shield_rate_limits")
    return sharing.exporter(name, own={"rate_limits": limits}, polls=polls, index="lease", total=TOTAL)


def shipped(targets: Path) -> dict[str, Any]:
    """Return the shipped configuration of Prometheus, for the replicas in a file."""
    config = yaml.safe_load((REPOSITORY / "deploy" / "prometheus" / "prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    kept = {name: job[name] for name in ("job_name", "honor_labels", "metric_relabel_configs")}
    kept["file_sd_configs"] = [{"files": [str(targets)], "refresh_interval": "1s"}]
    return {"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"}, "scrape_configs": [kept]}


def list_targets(file: Path, *replicas: Exporter) -> None:
    """Write the file that lists the replicas."""
    file.write_text(yaml.safe_dump([{"targets": [replica.url.removeprefix("http://") for replica in replicas]}]))


async def live(world: World, chance: random.Random, late: date) -> None:
    """Add queries, and at one time add late ones to a certain day."""
    for day in (late, None, None, None):
        world.clock.advance(chance.randint(10, 300))
        world.dns.add_queries(chance.choice(ZONES), chance.randint(1, 1000), day)
        await asyncio.sleep(chance.uniform(0.05, 0.4))


@pytest.mark.parametrize("release", [Release.INSTALLED, Release.NEWEST], ids=["2", "3"])
async def test_across_takeovers_prometheus_holds_every_query_once(
    sharing: SharingProcesses, tmp_path: Path, release: Release
) -> None:
    chance = random.Random(5)  # noqa: S311 - repeatable
    world = sharing.sandboxed.world
    truth = Truth(world)
    began = datetime.fromtimestamp(world.clock.now(), UTC).date()
    targets = tmp_path / "targets.yml"
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(replica(sharing, name)) for name in ("one", "two")]
        list_targets(targets, one, two)
        prometheus: Prometheus = stack.enter_context(prometheus_running(tmp_path, shipped(targets), release))
        await prometheus.until(FAIR, TOTAL / 2)
        await caught_up(prometheus, truth)
        await live(world, chance, began)
        world.clock.advance(DAY)
        await live(world, chance, began)
        await caught_up(prometheus, truth)

        await asyncio.to_thread(one.end, signal.SIGKILL)
        await live(world, chance, began)
        await prometheus.until(HELD, TOTAL)
        await caught_up(prometheus, truth)

        three = await stack.enter_async_context(replica(sharing, "three"))
        list_targets(targets, two, three)
        await live(world, chance, began)
        await prometheus.until(FAIR, TOTAL / 2)
        await live(world, chance, began)
        held = await caught_up(prometheus, truth)

        assert {series: increase(values) for series, values in held.items()} == truth.since()
        assert all(values == sorted(values) for values in held.values())
        identities = await asyncio.to_thread(prometheus.ask, SERIES)
        assert [found["metric"] for found in identities] == [{"instance": "edge-exporter"}]
