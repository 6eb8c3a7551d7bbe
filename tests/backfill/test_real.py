"""Blocks that promtool makes of the history, in a real Prometheus that scrapes the daemon."""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from exporter.counters.series import DaySeries
from exporter.counters.state_file import Families, unpack
from exporter.daemon import Daemon
from exporter.sandbox import keys
from exporter.settings.model import Settings
from tests.backfill.place import Place, Samples, grown, place
from tests.real_parts import Prometheus, create_blocks, prometheus_running, scraping

pytestmark = pytest.mark.real
DAY = timedelta(days=1)
ZONES = range(101, 113)


def settings(where: Place, listen: str) -> Settings:
    return Settings.model_validate(
        {
            "accounts": [
                {"name": "main", "base_url": where.url, "api_key": keys.API_KEY, "budget": {"requests_per_second": 500}}
            ],
            "collectors": {"dns_statistics": {"interval": 1}, "shield_rate_limits": {"interval": 1}},
            "state": {"path": str(where.state)},
            "web": {"listen": listen},
        }
    )


def raw(server: Prometheus, family: str, end: float) -> Mapping[str, Samples]:
    """The raw samples of each zone's series, over 31 days."""
    found = server.ask(f'{family}{{job="edge"}}[31d]', time=end)
    return {
        series["metric"]["zone_id"]: [(float(at), float(value)) for at, value in series["values"]] for series in found
    }


def baseline(families: Families, day: date) -> float:
    """What the live counter of a zone left out of a day."""
    series = families["edge_dns_queries_total"][()]
    assert isinstance(series, DaySeries)
    return series.uncounted(day.toordinal()) or 0.0


def test_a_range_query_over_30_days_is_the_platforms_history(tmp_path: Path) -> None:
    data = tmp_path / "data"

    async def write() -> tuple[date, dict[str, list[int]]]:
        async with place(tmp_path, start=time.time()) as where:
            today = datetime.fromtimestamp(where.world.clock.now(), UTC).date()
            await where.backfill(today - 30 * DAY, today - DAY, labels={"job": "edge"}, state=False)
            create_blocks(where.output, data)
            days = [today - number * DAY for number in range(30, 0, -1)]
            return today, {str(zone): [where.world.dns.true_queries(zone, day) for day in days] for zone in ZONES}

    today, truth = asyncio.run(write())
    end = datetime(today.year, today.month, today.day, tzinfo=UTC).timestamp()
    with prometheus_running(tmp_path) as server:
        found = server.ask_range("edge_dns_queries_total", start=end - 30 * 86400, end=end, step=86400)
        told = {series["metric"]["zone_id"]: [float(value) for _, value in series["values"]] for series in found}
        assert {zone: [after - before for before, after in pairwise(values)] for zone, values in told.items()} == truth
        increases = server.ask("increase(edge_dns_queries_total[30d])", time=end)
        assert {series["metric"]["zone_id"]: round(float(series["value"][1])) for series in increases} == {
            zone: sum(counts) for zone, counts in truth.items()
        }


@pytest.mark.parametrize("history_first", [True, False], ids=["history first", "live first"])
async def test_across_the_seam_every_query_is_counted_once(tmp_path: Path, *, history_first: bool) -> None:
    async with place(tmp_path, start=time.time()) as where:
        dns = where.world.dns
        # One whose past is so small that the live counter outgrows it before its first scrape.
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
        daemon = Daemon(daemon_settings, lambda: daemon_settings)
        await daemon.start()
        address = daemon.server.url.removeprefix("http://")
        labels = {"job": "edge", "instance": address}
        try:
            if not history_first:
                async with asyncio.timeout(20):
                    while len(daemon._ledger.remembered()) < len(zones):  # noqa: ASYNC110 - nobody tells
                        await asyncio.sleep(0.05)
                dns.add_queries(small, 70)
            with prometheus_running(tmp_path, scraping(address)) as server:
                for zone in zones:
                    dns.add_queries(zone, 1000 + zone)
                where.world.clock.set_speed(0)
                rows = {
                    key[3]: unpack(row.data)
                    for key, row in dict(daemon._ledger.remembered()).items()
                    if key[0] == "dns_statistics"
                }
                live = sum(dns.true_queries(zone, today) - baseline(rows[str(zone)], today) for zone in zones)
                await server.until("sum(edge_dns_queries_total)", live)
            output = where.output
            if history_first:
                text = output.read_text()
                output.write_text(text.replace("{account=", f'{{job="edge",instance="{address}",account='))
            else:
                await where.backfill(first, labels=labels)
        finally:
            await daemon.stop()
        create_blocks(output, tmp_path / "data")
        with prometheus_running(tmp_path) as server:
            whole = await asyncio.to_thread(raw, server, "edge_dns_queries_total", time.time() + 1)
        days = [first + number * DAY for number in range(30)]
        assert {zone: grown(samples) for zone, samples in whole.items()} == {
            str(zone): sum(dns.true_queries(zone, day) for day in days) for zone in zones
        }
