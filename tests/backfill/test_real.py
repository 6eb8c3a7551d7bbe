"""Blocks that promtool makes of the history, in a real Prometheus that scrapes the daemon, and the panels on them."""

import asyncio
import time
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.backfill.openmetrics import STEPS
from exporter.daemon.daemon import Daemon
from exporter.sandbox import keys
from exporter.settings.model import Settings
from tests.backfill.backfill_setup import BackfillSetup, Samples, Written, backfill_setup, grown, written
from tests.deploy.files import DEPLOY
from tests.real_parts import Prometheus, Release, create_blocks, prometheus_running, victoria_metrics_running
from tests.waiting import PATIENCE

pytestmark = pytest.mark.real
DAY = timedelta(days=1)
ZONES = range(101, 113)
# The labels that the shipped scrape configuration gives to the series of targets.
SHIPPED_LABELS = dict.fromkeys(("job", "instance", "pod"), "edge-exporter")


def settings(where: BackfillSetup, listen: str) -> Settings:
    return Settings.model_validate(
        {
            "accounts": [
                {"name": "main", "base_url": where.url, "api_key": keys.API_KEY, "budget": {"requests_per_second": 500}}
            ],
            "collectors": {"dns_statistics": {"interval": "1s"}, "shield_rate_limits": {"interval": "1s"}},
            "state": where.state.model_dump(mode="json"),
            "web": {"listen": listen},
        }
    )


def raw(server: Prometheus, family: str, end: float) -> Mapping[str, Samples]:
    """Return the raw samples of each zone's series over 31 days."""
    found = server.ask(f"{family}[31d]", time=end)
    return {
        series["metric"]["zone_id"]: [(float(at), float(value)) for at, value in series["values"]] for series in found
    }


@pytest.fixture(scope="module", params=STEPS)
def month(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A month with each step."""
    return written(tmp_path_factory.mktemp("month"), request.param)


def by_zone(found: list[dict[str, Any]]) -> dict[str, float]:
    """Return the values of an instant query."""
    return {series["metric"]["zone_id"]: float(series["value"][1]) for series in found}


def increase(days: float, at: float, server: Prometheus) -> dict[str, float]:
    """Return the growth over a number of days up to a time, as the panels ask for it."""
    return by_zone(server.ask(f"increase(edge_dns_queries_total[{days * 24:.0f}h])", time=at))


def assert_increases_are_the_platforms(server: Prometheus, month: Written) -> None:
    """A midnight, a week and the month are exact; an hour of a day is its mean."""
    for number in range(1, 30):
        midnight = increase(1, month.end - number * 86400, server)
        assert midnight == pytest.approx({zone: truth[-number - 1] for zone, truth in month.truth.items()}, abs=0.1)
    for number in (0, 1, 7, 20):
        week = {zone: sum(truth[23 - number : 30 - number]) for zone, truth in month.truth.items()}
        assert increase(7, month.end - number * 86400, server) == pytest.approx(week, abs=0.1)
    whole = {zone: sum(truth) for zone, truth in month.truth.items()}
    assert increase(30, month.end, server) == pytest.approx(whole, abs=0.1)
    half = {zone: truth[-1] / 2 for zone, truth in month.truth.items()}
    assert increase(0.5, month.end, server) == pytest.approx(half, rel=0.001, abs=1)


@pytest.mark.real("prometheus")
@pytest.mark.parametrize("release", Release)
def test_a_midnight_a_week_and_a_month_are_exact_on_each_prometheus(
    tmp_path: Path, month: Written, release: Release
) -> None:
    """Prometheus 2 counts the sample at a range's beginning as part of it, Prometheus 3 does not."""
    create_blocks(month.output, tmp_path / "data", release)
    with prometheus_running(tmp_path, release=release) as server:
        assert_increases_are_the_platforms(server, month)
        found = server.ask_range("edge_dns_queries_total", start=month.end - 30 * 86400, end=month.end, step=86400)
        by_zone = {series["metric"]["zone_id"]: [float(value) for _, value in series["values"]] for series in found}
        assert by_zone == {zone: list(accumulate(truth)) for zone, truth in month.truth.items()}


def test_victoria_metrics_takes_the_file_and_tells_the_same(tmp_path: Path, month: Written) -> None:
    with victoria_metrics_running(tmp_path / "vm") as server:
        request = urllib.request.Request(  # noqa: S310 - loopback
            f"{server.url}/api/v1/import/prometheus", month.output.read_bytes(), {"Content-Type": "text/plain"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - loopback
            assert answer.status == HTTPStatus.NO_CONTENT
        with urllib.request.urlopen(f"{server.url}/internal/force_flush", timeout=PATIENCE):  # noqa: S310 - loopback
            pass
        assert_increases_are_the_platforms(server, month)


def shipped_job(address: str) -> dict[str, Any]:
    """Return the shipped scrape configuration for one exporter, scraped every second."""
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    return {
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{**job, "static_configs": [{"targets": [address]}]}],
    }


@pytest.mark.real("prometheus")
@pytest.mark.parametrize("release", [Release.INSTALLED, Release.NEWEST], ids=["Prometheus 2", "Prometheus 3"])
async def test_history_and_live_counters_are_one_series(tmp_path: Path, release: Release) -> None:
    async with backfill_setup(tmp_path, start=time.time()) as where:
        dns = where.world.dns
        today = datetime.fromtimestamp(where.world.clock.now(), UTC).date()
        days = [today - number * DAY for number in range(29, 0, -1)]
        daemon_settings = settings(where, "127.0.0.1:0")
        daemon = await Daemon.start(daemon_settings, lambda: daemon_settings)
        address = daemon.server.url.removeprefix("http://")
        try:
            with prometheus_running(tmp_path, shipped_job(address), release) as server:
                await server.until("count(edge_dns_queries_total)", len(ZONES))
                for zone in ZONES:
                    dns.add_queries(zone, 1000 + zone)
                await server.until("sum(edge_dns_queries_total)", sum(1000 + zone for zone in ZONES))
            assert await where.backfill(days[0], days[-1], labels=SHIPPED_LABELS) == []
        finally:
            await daemon.stop()
        create_blocks(where.output, tmp_path / "data", release)
        with prometheus_running(tmp_path, release=release) as server:
            whole = await asyncio.to_thread(raw, server, "edge_dns_queries_total", time.time() + 1)
        assert {zone: grown(samples) for zone, samples in whole.items()} == {
            str(zone): sum(dns.true_queries(zone, day) for day in days) + 1000 + zone for zone in ZONES
        }
