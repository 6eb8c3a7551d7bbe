"""History and live counters together count everything once, whichever is first."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from exporter.backfill.job import Report, Selected
from exporter.sandbox.dns import Chart, Shape
from tests.backfill.backfill_setup import DAY, TODAY, BackfillSetup, Raw, ago, backfill_setup, grown, parsed

FIRST = ago(29)
QUERIES, ROUTED, BREACHES = (
    "edge_dns_queries_total",
    "edge_dns_routed_queries_total",
    "edge_shield_rate_limit_breaches_total",
)
ZONE, LIMIT = 101, 3


def days(first: date, last: date) -> list[date]:
    return [date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1)]


def joined(*raws: Raw) -> Raw:
    whole: Raw = {}
    for raw in raws:
        for key, samples in raw.items():
            whole.setdefault(key, []).extend(samples)
    return whole


def growth(raw: Raw, name: str, **labels: str) -> float:
    """Return the total growth of the series of a family with these labels."""
    return sum(
        grown(samples) for (family, own), samples in raw.items() if family == name and labels.items() <= set(own)
    )


def assert_all_is_counted(where: BackfillSetup, raw: Raw, first: date, last: date) -> None:
    """Check every zone's queries and every limit's breaches of the days exactly."""
    world, span = where.world, days(first, last)
    for zone in world.dns.zones:
        grown = growth(raw, QUERIES, zone_id=str(zone))
        assert grown == sum(world.dns.true_queries(zone, day) for day in span), zone
    breach_days = [day for day in span if (TODAY - day).days <= 27]
    for limit in world.rate_limits.limits:
        if any(key[0] == BREACHES and ("rate_limit_id", str(limit)) in key[1] for key in raw):
            grown = growth(raw, BREACHES, rate_limit_id=str(limit))
            assert grown == sum(world.rate_limits.true_breaches(limit, day).total for day in breach_days), limit


async def test_history_first_and_live_later_lose_nothing(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path) as where:
        report = await where.backfill(FIRST)
        assert (report.failures, report.targets, report.done) == ([], 18, 18)
        raw: Raw = {}
        # The daemon starts six hours later, and only it counts what happened in between.
        for step in (DAY / 4, 60.0, DAY, DAY * 2):
            where.world.clock.advance(step)
            async with where.ledger() as ledger:
                await where.scrape(ledger, raw)
        assert_all_is_counted(where, joined(parsed(where.output), raw), FIRST, date(2026, 2, 11))


async def test_live_first_and_history_later_count_nothing_twice(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path) as where:
        raw: Raw = {}
        async with where.ledger() as ledger:
            for step in (0.0, 3600.0, DAY, DAY):
                where.world.clock.advance(step)
                await where.scrape(ledger, raw)
            # The live counters have counted these days.
            assert (await where.backfill(date(2026, 2, 9), date(2026, 2, 10))).live == 18
            # The platform's map no longer has earlier days.
            report = await where.backfill(ago(25))
            assert (report.failures, report.live) == ([], 0)
        assert_all_is_counted(where, joined(parsed(where.output), raw), ago(25), date(2026, 2, 10))


@pytest.mark.parametrize(
    ("spans", "has_state", "counted"),
    [
        # Far history is asked for in windows.
        ([(99, 0)], True, (99, 0)),
        # Two spans, one after the other, count all once.
        ([(20, 11), (10, 1)], True, (20, 1)),
        # Without a state file, the history ends with yesterday.
        ([(29, 0)], False, (29, 1)),
    ],
)
async def test_each_day_is_counted_once(
    tmp_path: Path, spans: list[tuple[int, int]], counted: tuple[int, int], *, has_state: bool
) -> None:
    async with backfill_setup(tmp_path, shield_zones={"discover": False}) as where:
        found: Raw = {}
        for first, last in spans:
            chosen = Selected(zones=frozenset({str(ZONE)}))
            report = await where.backfill(ago(first), ago(last), state=has_state, selected=chosen)
            assert (report.failures, report.targets) == ([], 1)
            found = joined(found, parsed(where.output))
            where.output.unlink()
        span = days(ago(counted[0]), ago(counted[1]))
        assert growth(found, QUERIES) == sum(where.world.dns.true_queries(ZONE, day) for day in span)
        assert where.state.exists() == has_state


@pytest.mark.parametrize("is_searched", [True, False])
async def test_the_present_day_is_the_platform_s(tmp_path: Path, *, is_searched: bool) -> None:
    off: dict[str, Any] = {key: {"discover": False} for key in ("dns_zones", "scripts", "shield_zones")}
    async with backfill_setup(tmp_path, **{} if is_searched else off, rate_limits=[{"id": LIMIT}]) as where:
        where.behind = DAY
        report = await where.backfill(state=False)
        assert (str(report.span), report.failures) == (f"{FIRST} to {TODAY}", [])
        breaches = where.world.rate_limits
        expected = sum(breaches.true_breaches(LIMIT, day).total for day in days(ago(27), ago(1)))
        assert growth(parsed(where.output), BREACHES, rate_limit_id=str(LIMIT)) == expected


async def test_a_chart_that_is_null_has_no_history(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path) as where:
        where.world.dns.set_chart(ZONE, Chart.QUERIES, Shape.NULL)
        await where.backfill(FIRST)
        history = parsed(where.output)
        assert not any(name == QUERIES and ("zone_id", str(ZONE)) in own for name, own in history)
        assert any(name == ROUTED and ("zone_id", str(ZONE)) in own for name, own in history)


async def test_a_zone_that_cannot_be_read_spoils_no_other_and_is_tried_again(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path, dns_zones={"ids": [999]}) as where:
        fault = where.faults.add({"kind": "status", "status": 500, "path_regex": "/dnszone/103/.*"})
        report = await where.backfill(FIRST)
        assert {failure.target.key.label for failure in report.failures} == {"dns_zone/103", "dns_zone/999"}
        assert where.waited == [5.0, 10.0], "a 500 may be past, and a 404 is not"
        assert growth(parsed(where.output), QUERIES, zone_id="103") == 0
        where.faults.remove(fault.fault_id)
        again = await where.backfill(FIRST)
        assert [failure.target.key.label for failure in again.failures] == ["dns_zone/999"]
        assert again.resumed == again.targets - 2
        grown = growth(parsed(where.output), QUERIES, zone_id="103")
        assert grown == sum(where.world.dns.true_queries(103, day) for day in days(FIRST, TODAY))


class Unplugged(Exception):
    """Raised at the point where the process would end."""


async def test_interrupted_anywhere_it_goes_on_and_writes_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with backfill_setup(tmp_path / "a") as whole:
        await whole.backfill(FIRST)
    async with backfill_setup(tmp_path / "b", budget={"max_in_flight": 2}) as broken:
        for stop in range(1, 18, 4):
            seen: list[int] = []

            def progressed(report: Report, stop: int = stop, seen: list[int] = seen) -> None:
                seen.append(report.done)
                if seen[-1] == stop:
                    raise Unplugged

            with pytest.raises(Unplugged):
                await broken.backfill(FIRST, progressed=progressed)
            assert (stop <= seen[-1] <= stop + 2, broken.output.exists()) == (True, False), "no further call begins"
        report = await broken.backfill(FIRST)
        assert report.resumed >= 17
        assert sorted(broken.output.read_text().splitlines()) == sorted(whole.output.read_text().splitlines())
        # A strict parser takes their order, too.
        assert parsed(broken.output)


async def test_a_refused_key_is_one_failure_and_not_one_a_zone(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path, api_key="wrong", dns_zones={"ids": list(range(101, 113))}) as where:
        report = await where.backfill(FIRST)
        assert [failure.target.key.label for failure in report.failures] == ["account/main", "account/main"]
        assert ["401" in failure.reason for failure in report.failures] == [True, True]
        assert report.failures[1].reason.startswith("dns_statistics: ")


async def test_an_answer_of_too_many_requests_is_waited_for(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path) as where:
        fault = {"kind": "status", "status": 429, "path_regex": "/dnszone/104/.*", "headers": {"Retry-After": "400"}}
        where.faults.add({**fault, "times": 2})
        assert ((await where.backfill(FIRST)).failures, where.waited) == ([], [300.0, 300.0])


async def test_a_target_that_the_running_daemon_has_not_seen_is_left_for_later(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path) as where:
        async with where.ledger() as ledger:
            await where.scrape(ledger, {})
            where.world.dns.add_zone("new.example")
            report = await where.backfill(FIRST)
        assert [failure.reason for failure in report.failures] == [
            "the running exporter has not counted it yet; run this again later"
        ]


async def test_days_that_the_ledger_knows_are_not_asked_for_again(tmp_path: Path) -> None:
    async with backfill_setup(tmp_path, shield_zones={"discover": False}) as where:
        async with where.ledger() as ledger:
            await where.scrape(ledger, {})
        where.faults.add({"kind": "status", "status": 500, "path_regex": "/dnszone/101/.*"})
        report = await where.backfill(ago(5), selected=Selected(zones=frozenset({"101"})))
        assert (report.failures, report.targets) == ([], 1)
