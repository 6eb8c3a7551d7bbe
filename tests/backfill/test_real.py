"""Blocks that promtool makes of the history, in a real Prometheus that scrapes the daemon."""

import asyncio
import time
import urllib.request
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.backfill.samples import STEPS
from exporter.commands.backfill.writing import SHIPPED_LABELS
from exporter.counters.rows import Families, unpack
from exporter.counters.series import DaySeries
from exporter.daemon.daemon import Daemon
from exporter.sandbox import keys
from exporter.settings.model import Settings
from tests.backfill.backfill_setup import BackfillSetup, Samples, Written, backfill_setup, grown, written
from tests.deploy.files import DEPLOY
from tests.real_parts import Prometheus, Release, create_blocks, prometheus_running, scraping, victoria_metrics_running
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.real
DAY = timedelta(days=1)
ZONES = range(101, 113)


def settings(where: BackfillSetup, listen: str) -> Settings:
    return Settings.model_validate(
        {
            "accounts": [
                {"name": "main", "base_url": where.url, "api_key": keys.API_KEY, "budget": {"requests_per_second": 500}}
            ],
            "collectors": {"dns_statistics": {"interval": "1s"}, "shield_rate_limits": {"interval": "1s"}},
            "state": {"path": str(where.state)},
            "web": {"listen": listen},
        }
    )


def raw(server: Prometheus, family: str, end: float) -> Mapping[str, Samples]:
    """Return the raw samples of each zone's series over 31 days."""
    found = server.ask(f"{family}[31d]", time=end)
    return {
        series["metric"]["zone_id"]: [(float(at), float(value)) for at, value in series["values"]] for series in found
    }


def baseline(families: Families, day: date) -> float:
    """Return the part of a day that the live counter of a zone excludes."""
    series = families["edge_dns_queries_total"][()]
    assert isinstance(series, DaySeries)
    return series.uncounted(day.toordinal()) or 0.0


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
    """A midnight, a noon, a week and the month are exact."""
    for number in range(1, 30):
        at = month.end - number * 86400
        midnight = increase(1, at, server)
        assert midnight == pytest.approx({zone: truth[-number - 1] for zone, truth in month.truth.items()}, abs=0.1)
        noon = increase(1, at + 43200, server)
        halves = {zone: (truth[-number - 1] + truth[-number]) / 2 for zone, truth in month.truth.items()}
        # Samples are whole numbers, and half of an odd count is none.
        assert noon == pytest.approx(halves, abs=0.6), number
    for number in (0, 1, 7, 20):
        week = {zone: sum(truth[23 - number : 30 - number]) for zone, truth in month.truth.items()}
        assert increase(7, month.end - number * 86400, server) == pytest.approx(week, abs=0.1)
    whole = {zone: sum(truth) for zone, truth in month.truth.items()}
    assert increase(30, month.end, server) == pytest.approx(whole, abs=0.1)


@pytest.mark.real("prometheus")
@pytest.mark.parametrize("release", Release)
def test_a_midnight_a_noon_and_a_week_are_exact_on_each_prometheus(
    tmp_path: Path, month: Written, release: Release
) -> None:
    """Prometheus 2 counts the sample at a range's beginning as part of it, Prometheus 3 does not."""
    create_blocks(month.output, tmp_path / "data", release)
    with prometheus_running(tmp_path, release=release) as server:
        assert_increases_are_the_platforms(server, month)
        found = server.ask_range("edge_dns_queries_total", start=month.end - 30 * 86400, end=month.end, step=86400)
        by_zone = {series["metric"]["zone_id"]: [float(value) for _, value in series["values"]] for series in found}
        assert {zone: [after - before for before, after in pairwise(values)] for zone, values in by_zone.items()} == (
            month.truth
        )


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


def counted(daemon: Daemon) -> dict[str, Families]:
    """The counters of each zone that the daemon has polled."""
    rows = dict(daemon.ledger.remembered())
    return {key.target.id: unpack(row.data) for key, row in rows.items() if key.collector == "dns_statistics"}


@pytest.mark.real("prometheus")
@pytest.mark.parametrize("release", [Release.INSTALLED, Release.NEWEST], ids=["Prometheus 2", "Prometheus 3"])
@pytest.mark.parametrize(
    ("history_first", "shipped"),
    [(True, True), (False, True), (False, False)],
    ids=["history first, shipped job", "live first, shipped job", "live first, job of one's own"],
)
async def test_across_the_seam_every_query_is_counted_once(
    tmp_path: Path, release: Release, *, history_first: bool, shipped: bool
) -> None:
    async with backfill_setup(tmp_path, start=time.time()) as where:
        dns = where.world.dns
        # A zone with so few queries that the live counter exceeds its history before the first scrape.
        small = dns.add_zone("small.example", queries_a_day=0)
        today = datetime.fromtimestamp(where.world.clock.now(), UTC).date()
        first = today - 29 * DAY
        dns.add_queries(small, 3, today - DAY)
        where.world.clock.set_speed(1.0)
        zones = [*ZONES, small]
        if history_first:
            await where.backfill(first, labels={})
            dns.add_queries(small, 70)
        daemon_settings = settings(where, "127.0.0.1:0")
        daemon = await Daemon.start(daemon_settings, lambda: daemon_settings)
        address = daemon.server.url.removeprefix("http://")
        labels = SHIPPED_LABELS if shipped else {"job": "edge", "instance": address}
        try:
            if not history_first:
                await until(lambda: len(counted(daemon)) == len(zones))
                dns.add_queries(small, 70)
            with prometheus_running(tmp_path, (shipped_job if shipped else scraping)(address), release) as server:
                for zone in zones:
                    dns.add_queries(zone, 1000 + zone)
                where.world.clock.set_speed(0)
                rows = counted(daemon)
                live = sum(dns.true_queries(zone, today) - baseline(rows[str(zone)], today) for zone in zones)
                await server.until("sum(edge_dns_queries_total)", live)
            output = where.output
            if history_first:
                text = output.read_text()
                added = ",".join(f'{name}="{value}"' for name, value in labels.items())
                output.write_text(text.replace("{account=", f"{{{added},account="))
            else:
                await where.backfill(first, labels=labels)
        finally:
            await daemon.stop()
        create_blocks(output, tmp_path / "data", release)
        with prometheus_running(tmp_path, release=release) as server:
            whole = await asyncio.to_thread(raw, server, "edge_dns_queries_total", time.time() + 1)
        days = [first + number * DAY for number in range(30)]
        assert {zone: grown(samples) for zone, samples in whole.items()} == {
            str(zone): sum(dns.true_queries(zone, day) for day in days) for zone in zones
        }
