"""Blocks that promtool makes of the history, in a real Prometheus that scrapes the daemon, and the panels on them."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import httpx
import pytest

from exporter.backfill.openmetrics import STEPS
from exporter.daemon.daemon import Daemon
from tests.backfill.backfill_setup import backfill_setup, grown
from tests.deploy.files import DEPLOY, document
from tests.exporter_parts import configuration
from tests.real_parts import Prometheus, Release, create_blocks, prometheus_running, victoria_metrics_running
from tests.waiting import PATIENCE

pytestmark = pytest.mark.real
DAY = timedelta(days=1)
ZONES = range(101, 113)
# The labels that the shipped scrape configuration gives to the series of targets.
SHIPPED_LABELS = dict.fromkeys(("job", "instance", "pod"), "edge-exporter")


@dataclass(frozen=True)
class Written:
    """A written month that ends with yesterday: its end, and the true queries of each zone on each day."""

    output: Path
    end: float
    truth: dict[str, list[int]]


@pytest.fixture(scope="module", params=STEPS)
def month(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Write the 30 days that end with yesterday, with each step."""

    async def write() -> Written:
        async with backfill_setup(tmp_path_factory.mktemp("month"), start=time.time()) as where:
            today = datetime.fromtimestamp(where.world.clock.now(), UTC).date()
            days = [today - number * DAY for number in range(30, 0, -1)]
            await where.backfill(days[0], days[-1], labels={"job": "edge"}, step=request.param)
            dns = where.world.dns
            truth = {str(zone): [dns.true_queries(zone, day) for day in days] for zone in dns.zones}
            end = datetime(today.year, today.month, today.day, tzinfo=UTC).timestamp()
            return Written(where.output, end, truth)

    return asyncio.run(write())


def increase(days: float, at: float, server: Prometheus) -> dict[str, float]:
    """Return each zone's growth over a number of days up to a time, as the panels ask for it."""
    found = server.ask(f"increase(edge_dns_queries_total[{days * 24:.0f}h])", time=at)
    return {series["metric"]["zone_id"]: float(series["value"][1]) for series in found}


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
        with httpx.Client(base_url=server.url, timeout=PATIENCE, trust_env=False) as client:
            imported = client.post("/api/v1/import/prometheus", content=month.output.read_bytes())
            assert imported.status_code == 204
            client.get("/internal/force_flush").raise_for_status()
        assert_increases_are_the_platforms(server, month)


@pytest.mark.real("prometheus")
@pytest.mark.parametrize("release", [Release.INSTALLED, Release.NEWEST], ids=["Prometheus 2", "Prometheus 3"])
async def test_history_and_live_counters_are_one_series(tmp_path: Path, release: Release) -> None:
    async with backfill_setup(tmp_path, start=time.time()) as where:
        dns = where.world.dns
        today = datetime.fromtimestamp(where.world.clock.now(), UTC).date()
        days = [today - number * DAY for number in range(29, 0, -1)]
        collectors = {"dns_statistics": {"interval": "1s"}, "shield_rate_limits": {"interval": "1s"}}
        settings = configuration(where.url, collectors, {"state": where.state.model_dump(mode="json")})
        daemon = await Daemon.start(settings, lambda: settings)
        (job,) = document(DEPLOY / "prometheus" / "prometheus.yml")["scrape_configs"]
        job["static_configs"] = [{"targets": [daemon.server.url.removeprefix("http://")]}]
        scraping = {"global": {"scrape_interval": "1s"}, "scrape_configs": [job]}
        try:
            with prometheus_running(tmp_path, scraping, release) as server:
                await server.until("count(edge_dns_queries_total)", len(ZONES))
                for zone in ZONES:
                    dns.add_queries(zone, 1000 + zone)
                await server.until("sum(edge_dns_queries_total)", sum(1000 + zone for zone in ZONES))
            assert await where.backfill(days[0], days[-1], labels=SHIPPED_LABELS) == []
        finally:
            await daemon.stop()
        create_blocks(where.output, tmp_path / "data", release)
        with prometheus_running(tmp_path, release=release) as server:
            whole = await asyncio.to_thread(server.ask, "edge_dns_queries_total[31d]", time=time.time() + 1)
        samples = {
            series["metric"]["zone_id"]: [(at, float(value)) for at, value in series["values"]] for series in whole
        }
        assert {zone: grown(own) for zone, own in samples.items()} == {
            str(zone): sum(dns.true_queries(zone, day) for day in days) + 1000 + zone for zone in ZONES
        }
