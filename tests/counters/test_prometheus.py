"""The samples of a real Prometheus after a `kill -9` and an outage: every query is counted once."""

import asyncio
import random
import signal
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from exporter.sandbox import keys
from tests.counters.process import Exporter
from tests.counters.sandboxed_daemons import SandboxedDaemons
from tests.real_parts import Prometheus, prometheus_running, scraping

pytestmark = pytest.mark.real

HOUR = 3600
Labels = tuple[tuple[str, str], ...]


def samples(prometheus: Prometheus, family: str, *names: str) -> dict[Labels, list[float]]:
    """Return the raw samples of each series of a family, in order of time; some labels identify the series."""
    series = [
        (tuple((name, found["metric"][name]) for name in names), [float(value) for _, value in found["values"]])
        for found in prometheus.ask(f"{family}[1h]")
    ]
    assert len(dict(series)) == len(series), "a series changed its labels"
    return dict(series)


def increase(values: list[float]) -> float:
    """Return the sum of the differences; a fall counts as a reset, as in Prometheus."""
    return sum(value - before if value >= before else value for before, value in pairwise(values))


def settings(sandboxed: SandboxedDaemons, port: int) -> dict[str, Any]:
    """The settings of a daemon that polls every counter once a second."""
    limits = sandboxed.world.rate_limit_ids()
    account = {
        "name": "main",
        "base_url": sandboxed.sandbox.url,
        "api_key": keys.API_KEY,
        "budget": {"requests_per_second": 1000, "max_in_flight": 8},
        "rate_limits": [{"id": limit, "name": name, "shield_zone_id": zone} for limit, name, zone in limits],
    }
    return {
        "accounts": [account],
        "web": {"listen": f"127.0.0.1:{port}"},
        "state": {"path": str(sandboxed.state)},
        "collectors": {name: {"interval": "1s"} for name in ("dns_statistics", "scripts", "shield_rate_limits")},
    }


class Truth:
    """The values that the platform has served, whether or not they were polled."""

    def __init__(self, sandboxed: SandboxedDaemons) -> None:
        self._world = sandboxed.world
        self._from = datetime.fromtimestamp(sandboxed.world.clock.now(), UTC).date()
        self._before = self._now()

    def _now(self) -> dict[str, dict[Labels, float]]:
        world = self._world
        last = datetime.fromtimestamp(world.clock.now(), UTC).date()
        days = [self._from + timedelta(days=day) for day in range((last - self._from).days + 1)]
        queries: dict[Labels, float] = {}
        routed: dict[Labels, float] = {}
        breaches: dict[Labels, float] = {}
        for zone in (101, 102, 103):
            queries[("zone_id", str(zone)),] = sum(world.dns.true_queries(zone, day) for day in days)
            for location, routing in enumerate(("normal", "smart")):
                key = (("zone_id", str(zone)), ("routing", routing))
                routed[key] = sum(world.dns.true_routed(zone, day)[location] for day in days)
        for limit, _, _ in world.rate_limit_ids():
            for action in ("logged", "challenged", "blocked"):
                key = (("rate_limit_id", str(limit)), ("action", action))
                breaches[key] = sum(getattr(world.rate_limits.true_breaches(limit, day), action) for day in days)
        requests: dict[Labels, float] = {(("script_id", "7"),): world.scripts.true_month(7).requests}
        return {
            "edge_dns_queries_total": queries,
            "edge_dns_routed_queries_total": routed,
            "edge_shield_rate_limit_breaches_total": breaches,
            "edge_script_requests_total": requests,
        }

    def since(self) -> dict[str, dict[Labels, float]]:
        """Return family → series → the total served since the beginning."""
        return {
            family: {labels: value - self._before[family][labels] for labels, value in values.items()}
            for family, values in self._now().items()
        }


def held_by(prometheus: Prometheus, truth: Truth) -> dict[str, dict[Labels, list[float]]]:
    """Return the raw samples of every resource of the platform."""
    return {
        family: samples(prometheus, family, *(name for name, _ in next(iter(series))))
        for family, series in truth.since().items()
    }


async def caught_up(prometheus: Prometheus, truth: Truth) -> dict[str, dict[Labels, list[float]]]:
    """Wait until Prometheus has the platform's present values; return all samples."""
    wanted = truth.since()
    held: dict[str, dict[Labels, list[float]]] = {}
    for _ in range(3000):
        held = await asyncio.to_thread(held_by, prometheus, truth)
        latest = {family: {labels: values[-1] for labels, values in series.items()} for family, series in held.items()}
        if latest == wanted:
            break
        await asyncio.sleep(0.1)
    return held


async def test_across_a_kill_and_an_outage_prometheus_holds_every_query_once(
    sandboxed: SandboxedDaemons, tmp_path: Path
) -> None:
    chance = random.Random(4)  # noqa: S311 - repeatable
    truth = Truth(sandboxed)
    exporter = await asyncio.to_thread(Exporter, settings(sandboxed, 0), tmp_path)
    port = int(exporter.url.rpartition(":")[2])
    stack = ExitStack()
    try:
        scraped = scraping(f"127.0.0.1:{port}", interval="200ms")
        prometheus = stack.enter_context(prometheus_running(tmp_path, scraped))
        await caught_up(prometheus, truth)
        for outage in (HOUR, 13 * HOUR):
            for change in range(12):
                sandboxed.world.clock.advance(chance.randint(10, 300))
                sandboxed.world.dns.add_queries(chance.choice((101, 102, 103)), chance.randint(1, 1000))
                limit, _, _ = chance.choice(sandboxed.world.rate_limit_ids())
                sandboxed.world.rate_limits.add_breaches(
                    limit, logged=chance.randint(0, 9), blocked=chance.randint(0, 9)
                )
                await asyncio.sleep(chance.uniform(0.05, 0.4))
                if change in {3, 7}:
                    # On a slow machine, too, each series has several values.
                    await caught_up(prometheus, truth)
            assert await asyncio.to_thread(exporter.end, signal.SIGKILL) == -signal.SIGKILL
            sandboxed.world.clock.advance(outage)
            sandboxed.world.dns.add_queries(101, 12_345)
            exporter = await asyncio.to_thread(Exporter, settings(sandboxed, port), tmp_path)
        sandboxed.world.clock.advance(60)
        held = await caught_up(prometheus, truth)
        assert {
            family: {labels: increase(values) for labels, values in series.items()} for family, series in held.items()
        } == truth.since()
        raw = held["edge_dns_queries_total"]
        assert all(len(set(values)) > 3 and values == sorted(values) for values in raw.values())
        assert raw[("zone_id", "101"),][-1] > 24_690
    finally:
        await asyncio.to_thread(exporter.end)
        await asyncio.to_thread(stack.close)
