"""A real Prometheus scrapes all replicas while one is killed and another starts: it counts every query once."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator
from contextlib import ExitStack
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.counters.process import Exporter
from tests.counters.sandboxed_daemons import SandboxedDaemons, sandboxed_daemons
from tests.counters.test_prometheus import Truth, caught_up, increase, settings
from tests.postgres import Postgres
from tests.real_parts import REPOSITORY, Prometheus, Release, prometheus_running

pytestmark = pytest.mark.real

ZONES = (101, 102, 103)
DAY = 86400
TOTAL = 4
HELD = "sum(edge_exporter_shard_held)"
FAIR = "min(sum by (instance) (edge_exporter_shard_held))"
SERIES = "count by (instance) ({__name__=~'edge_(dns|script|shield)_.*_total'})"


@pytest.fixture
async def sandboxed(tmp_path: Path) -> AsyncIterator[SandboxedDaemons]:
    async with sandboxed_daemons(tmp_path) as made:
        yield made


def start(sandboxed: SandboxedDaemons, folder: Path, url: str, stack: ExitStack) -> Exporter:
    """Start a replica of the sandbox's shards, which ends with the test."""
    folder.mkdir()
    (folder / "url").write_text(url)
    (folder / "url").chmod(0o600)
    shared = {"state": {"url_file": "url", "lease": "5s"}, "shard": {"index": "lease", "total": TOTAL}}
    replica = Exporter(settings(sandboxed, 0) | shared, folder)
    stack.callback(lambda: replica.is_running() and replica.end(signal.SIGKILL))
    return replica


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


async def live(sandboxed: SandboxedDaemons, chance: random.Random, late: date) -> None:
    """Add queries, and at one time add late ones to a certain day."""
    for day in (late, None, None, None):
        sandboxed.world.clock.advance(chance.randint(10, 300))
        sandboxed.world.dns.add_queries(chance.choice(ZONES), chance.randint(1, 1000), day)
        await asyncio.sleep(chance.uniform(0.05, 0.4))


@pytest.mark.parametrize("release", [Release.INSTALLED, Release.NEWEST], ids=["2", "3"])
async def test_across_takeovers_prometheus_holds_every_query_once(
    sandboxed: SandboxedDaemons, tmp_path: Path, postgres: Postgres, release: Release
) -> None:
    chance = random.Random(5)  # noqa: S311 - repeatable
    truth = Truth(sandboxed)
    began = datetime.fromtimestamp(sandboxed.world.clock.now(), UTC).date()
    targets = tmp_path / "targets.yml"
    with ExitStack() as stack:
        url = postgres.new_database()
        one, two = [await asyncio.to_thread(start, sandboxed, tmp_path / name, url, stack) for name in ("one", "two")]
        list_targets(targets, one, two)
        prometheus: Prometheus = stack.enter_context(prometheus_running(tmp_path, shipped(targets), release))
        await prometheus.until(FAIR, TOTAL / 2)
        await caught_up(prometheus, truth)
        await live(sandboxed, chance, began)
        sandboxed.world.clock.advance(DAY)
        await live(sandboxed, chance, began)
        await caught_up(prometheus, truth)

        await asyncio.to_thread(one.end, signal.SIGKILL)
        await live(sandboxed, chance, began)
        await prometheus.until(HELD, TOTAL)
        await caught_up(prometheus, truth)

        three = await asyncio.to_thread(start, sandboxed, tmp_path / "three", url, stack)
        list_targets(targets, two, three)
        await live(sandboxed, chance, began)
        await prometheus.until(FAIR, TOTAL / 2)
        await live(sandboxed, chance, began)
        held = await caught_up(prometheus, truth)

        assert {
            family: {labels: increase(values) for labels, values in series.items()} for family, series in held.items()
        } == truth.since()
        assert all(values == sorted(values) for series in held.values() for values in series.values())
        identities = await asyncio.to_thread(prometheus.ask, SERIES)
        assert [found["metric"] for found in identities] == [{"instance": "edge-exporter"}]
