"""History and live counters together count everything once, but for the first day before the first sight."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from exporter.backfill.missing_days import BUILT_IN, AccountCharts, Windowed
from exporter.collectors import discovery
from exporter.counters.counting import CountedFamily
from exporter.counters.days import DaySeries
from exporter.counters.rows import StateRow, pack
from exporter.counters.storage import StorageError
from exporter.daemon.daemon import Daemon
from exporter.platform.api import dns
from exporter.platform.operation import Request
from exporter.settings.service import StateSettings
from exporter.targets.target import PollKey
from exporter.wiring.state_storage import stored_rows
from tests.backfill.backfill_setup import DAY, TODAY, BackfillSetup, Raw, ago, backfill_setup, grown, parsed
from tests.exporter_parts import ExporterParts, configuration, exporter_parts, only
from tests.platform.callers import caller
from tests.postgres import Postgres

QUERIES, BREACHES = "edge_dns_queries_total", "edge_shield_rate_limit_breaches_total"
ZONE, LIMIT = 101, 3


def days(first: date, last: date) -> list[date]:
    return [date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1)]


def growth(raws: Iterable[Raw], name: str, **labels: str) -> float:
    """Return the total growth of the series of a family with these labels."""
    whole: Raw = {}
    for raw in raws:
        for key, samples in raw.items():
            whole.setdefault(key, []).extend(samples)
    chosen = (samples for (family, own), samples in whole.items() if family == name and labels.items() <= set(own))
    return sum(map(grown, chosen))


def scrape(parts: ExporterParts, raw: Raw) -> None:
    """Add the served values to the raw samples."""
    for family in text_string_to_metric_families(parts.text()):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            raw.setdefault(key, []).append((parts.world.clock.now(), sample.value))


def queries(where: BackfillSetup, span: Iterable[date]) -> dict[int, int]:
    """Return the true queries of each zone on these days."""
    chosen = list(span)
    return {zone: sum(where.world.dns.true_queries(zone, day) for day in chosen) for zone in where.world.dns.zones}


@pytest.mark.parametrize("is_history_first", [True, False])
async def test_only_the_first_day_before_the_first_sight_is_in_neither(
    tmp_path: Path, *, is_history_first: bool
) -> None:
    async with backfill_setup(tmp_path) as where:
        world, raw = where.world, Raw()
        if is_history_first:
            assert await where.backfill(ago(25), ago(1)) == []
        held, limits = queries(where, [TODAY]), world.rate_limits
        breached = {limit: limits.true_breaches(limit, TODAY).total for limit in limits.limits}
        polled = only("discovery", "dns_statistics", "shield_rate_limits")
        more = {"state": {"path": str(where.state.path)}}
        async with exporter_parts(world=world, collectors=polled, more=more) as parts:
            scrape(parts, raw)
            # A day from before the first sight rises later: the live counter counts that.
            world.dns.add_queries(ZONE, 70, ago(2))
            for step in (3600.0, DAY, DAY):
                await parts.turn(step)
                scrape(parts, raw)
        if not is_history_first:
            assert await where.backfill(ago(25), date(2026, 2, 9)) == []
        history, span = parsed(where.output), days(ago(25), date(2026, 2, 10))
        for zone, total in queries(where, span).items():
            assert growth([history, raw], QUERIES, zone_id=str(zone)) == total - held[zone], zone
        served = {limit for limit in limits.limits if growth([raw], BREACHES, rate_limit_id=str(limit))}
        assert LIMIT in served
        for limit in served:
            known = sum(limits.true_breaches(limit, day).total for day in span) - breached[limit]
            assert growth([history, raw], BREACHES, rate_limit_id=str(limit)) == known, limit
        assert {max(samples)[0] for samples in history.values()} == {1_770_508_800.0}, "the midnight of the first sight"
        # Days that are counted live have no history.
        await where.backfill(TODAY, date(2026, 2, 9))
        assert parsed(where.output) == {}


@pytest.mark.parametrize("spans", [[(99, 1)], [(20, 11), (10, 1)]], ids=["far back, in windows", "two files"])
async def test_each_day_is_counted_once(tmp_path: Path, spans: list[tuple[int, int]]) -> None:
    async with backfill_setup(tmp_path, shield_zones={"discover": False}) as where:
        found, asked = [], where.faults.add({"kind": "delay", "seconds": 0, "path": f"/dnszone/{ZONE}/statistics"})
        for first, last in spans:
            assert await where.backfill(ago(first), ago(last)) == []
            found.append(parsed(where.output))
        assert asked.hits == sum(-(-(first - last + 1) // 30) for first, last in spans), "a chart has 30 days"
        for zone, total in queries(where, days(ago(spans[0][0]), ago(1))).items():
            assert growth(found, QUERIES, zone_id=str(zone)) == total


async def test_each_counter_has_the_days_before_its_own_first_sight_under_its_name_of_then(tmp_path: Path) -> None:
    counted = {name: CountedFamily(b"", ago(-1).toordinal()) for name in (QUERIES, "edge_dns_routed_queries_total")}
    # The row has a series that left the chart, and for the day before the first sight more than the chart has now.
    counted[QUERIES].series[()] = DaySeries(ago(5).toordinal(), highs={-1: 1e12, -2: 5})
    rows = {
        PollKey.of("dns_statistics", "main", "dns_zone", str(zone)): StateRow("then.example", 0.0, data)
        for zone, data in ((ZONE, pack(counted)), (102, b"damaged"))
    }
    async with backfill_setup(tmp_path) as where, where.parts() as (registry, client):
        one_day = '"ratelimitOverviewPastTwentyEightDays": {"05-02-2026": {"loggedBreaches": 4}}'
        for limit, chart in ((str(LIMIT), one_day), (".*", '"overview": {}')):
            answer = {"kind": "status", "status": 200, "body": f'{{"data": {{{chart}}}, "error": null}}'}
            where.faults.add({**answer, "path_regex": f"/shield/metrics/rate-limit/{limit}"})
        charts = AccountCharts("main", client, registry, rows)
        await charts.discover([discovery.COLLECTOR])
        past = await charts.read(BUILT_IN, range(ago(9).toordinal(), TODAY.toordinal() + 1))
    failing = f"main: dns_zone/102 ({where.world.dns.zones.name(102)})"
    assert [failure.partition(": the stored row is damaged: ")[0] for failure in charts.failures] == [failing]
    own = [one for one in past if one.values[1] == str(ZONE)]
    assert {one.values[:3] for one in own} == {("main", str(ZONE), "then.example")}
    shown = {one.info.name: days(date.fromordinal(min(one.days)), date.fromordinal(max(one.days))) for one in own}
    assert list(shown.values()) == [days(ago(9), ago(6)), days(ago(9), ago(1))]
    held = queries(where, [ago(6)])[ZONE], 5
    assert tuple(own[0].days[ago(back).toordinal()] for back in (6, 7)) == held
    breaches = [(one.values[2], one.values[-1], one.days) for one in past if one.info.name == BREACHES]
    none = {ago(back).toordinal(): 0.0 for back in range(9, 0, -1)}
    logged = none | {ago(3).toordinal(): 4.0}
    assert breaches == [("3", "logged", logged), ("3", "challenged", none), ("3", "blocked", none)], (
        "omitted days are 0"
    )


@pytest.mark.real
async def test_the_first_sights_are_read_from_a_database_while_exporters_run(
    tmp_path: Path, postgres: Postgres
) -> None:
    async with backfill_setup(tmp_path) as where:
        state = StateSettings(url=SecretStr(postgres.new_database()))
        assert await stored_rows(state, ["dns_statistics"]) == {}
        settings = configuration(where.url, {}, {"state": {"url": state.address()}})
        daemon = await Daemon.start(settings, lambda: settings)
        try:
            # Only the database shows it.
            while len(await stored_rows(state, ["dns_statistics"])) < len(where.world.dns.zones):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            where.world.clock.advance(2 * DAY)
            await where.backfill(ago(5), date(2026, 2, 9), state=state)
        finally:
            await daemon.stop()
        for zone, total in queries(where, days(ago(5), ago(1))).items():
            assert growth([parsed(where.output)], QUERIES, zone_id=str(zone)) == total


async def test_the_present_day_is_the_platform_s(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path, rate_limits=[{"id": LIMIT}]) as where:
        where.behind = DAY
        await where.backfill(ago(29), TODAY)
        breaches = where.world.rate_limits
        expected = sum(breaches.true_breaches(LIMIT, day).total for day in days(ago(27), ago(1)))
        raw = parsed(where.output)
        assert growth([raw], BREACHES, rate_limit_id=str(LIMIT)) == expected
        begins = min(min(samples)[0] for (name, _), samples in raw.items() if name == BREACHES)
        assert datetime.fromtimestamp(begins, UTC).date() == ago(27), "the map covers 28 days"


async def test_a_window_ends_at_the_midnight_after_its_last_day() -> None:
    asked, end = caller('{"TotalQueriesServed": 7}'), date(2026, 2, 1).toordinal()
    await Windowed(asked, range(end - 2, end)).call(Request(dns.STATISTICS, {"id": 102}))
    assert asked.calls[0][1] == {"id": 102, "dateFrom": "2026-01-30T00:00:00Z", "dateTo": "2026-02-01T00:00:00Z"}


async def test_a_chart_that_is_null_has_no_history(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path) as where:
        await where.backfill(ago(29), ago(1))
        # Both charts of routed queries of this zone are null.
        assert {name for name, own in parsed(where.output) if ("zone_id", "104") in own} == {QUERIES}


async def test_a_state_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(StorageError, match=r"the state database cannot be read: .*refused"):
        await stored_rows(StateSettings(url=SecretStr("postgresql://a:secret@127.0.0.1:1/x")), ["dns_statistics"])
    with pytest.raises(StorageError, match="x cannot be read: File name too long"):
        await stored_rows(StateSettings(path=Path("x" * 300)), ["dns_statistics"])
