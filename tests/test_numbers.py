"""The queries of the page on numbers that differ: on days of the sandbox with known faults, in Prometheus 2 and 3."""

import asyncio
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import httpx
import pytest

from exporter.sandbox import keys
from tests.exporter_parts import ExporterParts, exporter_parts, only, still
from tests.real_parts import REPOSITORY, Prometheus, Release, create_blocks, prometheus_running

PAGE = REPOSITORY / "docs" / "why-numbers-differ.md"
DAY, SCRAPE, LATE = 86400, 300, 5000
ZONE, RENAMED = "101", "102"
# Noon of the last day. The platform adds to the day before at seven in the morning; two scrapes had failed at four.
ENDS = datetime(2026, 2, 11, 12, tzinfo=UTC).timestamp()
ADDS, MISSED = ENDS - 5 * 3600, (ENDS - 8 * 3600, ENDS - 8 * 3600 + SCRAPE)
SERVED = ("edge_dns_queries_total", "edge_dns_day_queries")


def queries() -> dict[str, str]:
    """Return the query below each question of the page."""
    return dict(re.findall(r"^## ([^\n]+)\n\n```promql\n(.+?)```", PAGE.read_text(), re.MULTILINE | re.DOTALL))


def scraped(parts: ExporterParts, at: float) -> Iterator[str]:
    """Yield the samples of a scrape as OpenMetrics; in the last hour a second exporter serves one zone, too."""
    exporters = ("exporter-0", "exporter-1") if at > ENDS - 3600 else ("exporter-0",)
    yield f'up{{job="edge-exporter",instance="exporter-0"}} {int(at not in MISSED)} {at:.0f}\n'
    for line in parts.text().splitlines() if at not in MISSED else ():
        for exporter in exporters:
            if line.startswith(SERVED) and (exporter == "exporter-0" or f'zone_id="{RENAMED}"' in line):
                series, value = line.rsplit(" ", 1)
                yield f'{series[:-1]},job="edge-exporter",instance="{exporter}"}} {value} {at:.0f}\n'


async def write_days(file: Path) -> dict[str, float]:
    """Write three days of scrapes; return the platform's final counts of yesterday, and the last polled ones."""
    world = still(ENDS - 3 * DAY)
    account = {"dns_zones": {"discover": False, "ids": [int(ZONE), int(RENAMED)]}}
    settings = only("dns_statistics") | {"dns_statistics": {"interval": "15m"}}
    said: dict[str, float] = {}
    async with exporter_parts(world=world, account=account, collectors=settings) as parts:
        with file.open("w") as written:
            while (at := world.clock.now()) <= ENDS:
                if ENDS - DAY / 2 - 3600 < at <= ENDS - DAY / 2:
                    today = parts.value("edge_dns_day_queries", zone_id=ZONE, account="main") or 0.0
                    said["last poll"] = max(said.get("last poll", 0.0), today)
                if at == ADDS:
                    world.dns.add_queries(int(ZONE), LATE, date(2026, 2, 10))
                written.writelines(scraped(parts, at))
                await parts.turn(SCRAPE)
            written.write("# EOF\n")
        address = parts.settings.accounts[0].base_url
        async with httpx.AsyncClient(headers={"AccessKey": keys.API_KEY}, trust_env=False) as client:
            chart = (await client.get(f"{address}/dnszone/{ZONE}/statistics")).json()["QueriesServedChart"]
    said["yesterday"] = next(count for day, count in chart.items() if day.startswith("2026-02-10"))
    return said


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """Write the scrapes once for both Prometheus."""
    file = tmp_path_factory.mktemp("days") / "days.om"
    return file, asyncio.run(write_days(file))


@pytest.mark.real("prometheus")
@pytest.mark.parametrize("release", [Release.INSTALLED, Release.NEWEST], ids=["prometheus-2", "prometheus-3"])
def test_each_query_answers_its_question(days: tuple[Path, dict[str, float]], tmp_path: Path, release: Release) -> None:
    file, said = days
    create_blocks(file, tmp_path / "data", release)
    with prometheus_running(tmp_path, release=release) as prometheus:
        found = {question: answer(prometheus, query) for question, query in queries().items()}
    stretched = found.pop("How much does `increase()` extrapolate?")
    assert found == {
        "What did the platform count yesterday, exactly?": {ZONE: said["yesterday"]},
        "Does the platform agree with itself?": {},
        "Does the counter drift from the day's own figure?": {ZONE: LATE},
        "Are scrapes missing?": {"": 2},
        "Are there two series for one target?": {RENAMED: 2},
        "How much of yesterday came after its last poll?": {ZONE: said["yesterday"] - said["last poll"]},
    }
    assert 0 < abs(stretched[ZONE]) < said["yesterday"] / 50


def answer(prometheus: Prometheus, query: str) -> dict[str, float]:
    """Return the values of a query after the last scrape, by zone."""
    rows = prometheus.ask(query, time=ENDS + SCRAPE / 3)
    values = {row["metric"].get("zone_id", ""): float(row["value"][1]) for row in rows}
    return {zone: value for zone, value in values.items() if zone != RENAMED or "count by" in query}
