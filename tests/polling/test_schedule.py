"""When targets are polled, and how results are recorded."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from exporter.collectors.collector import Collector, Context, PollResult
from exporter.counters.ledger import Counters, PollRecord
from exporter.platform.errors import ServerError
from exporter.polling.schedule import FIRST_WAIT_OF_LISTS, NAMES_SECONDS
from exporter.sandbox.faults import Scripted
from exporter.sandbox.keys import API_KEY, DATABASE_TOKEN_FULL
from exporter.settings.account import DnsZonesSettings
from exporter.settings.service import CollectorsSettings
from exporter.targets.target import Inventory, PollKey, Resource, ResourceList, Target
from exporter.web.target_statuses import all_statuses, target_values
from tests.endpoints.undocumented_platform import Query, good, platform
from tests.exporter_parts import ExporterParts, exporter_parts, only, poll_now, still
from tests.turned_clock import TurnedClock
from tests.waiting import END_SECONDS, PATIENCE, until

# Makes a small world whose time does not pass.
world = partial(still, dns_zones=3)
MISSED = "edge_exporter_collector_missed_runs_total"
DNS_ONLY = {"scripts": {"discover": False}, "shield_zones": {"discover": False}}
STATISTICS = only("discovery", "dns_statistics")
SHIELD_ONLY = {"dns_zones": {"discover": False}, "scripts": {"discover": False}}


def was_up(parts: ExporterParts, collector: str, target: Target) -> bool | None:
    """Return whether the last poll succeeded; None before the first."""
    status = parts.store.statuses.get(PollKey(target.key, collector))
    return status.up if status is not None and status.polled else None


class Zones:
    """The zones of a platform that is not the sandbox, and its answers."""

    def __init__(self, numbers: range) -> None:
        self.numbers, self.is_refused = numbers, False

    def answer(self, path: str, query: Query) -> tuple[int, bytes]:
        """Return a page of the search, or the same statistics of each zone."""
        if self.is_refused:
            return 403, b""
        if path != "/search":
            return good({"TotalQueriesServed": 7, "QueriesServedChart": {}, "QueriesByTypeChart": {"1": 7}})
        page = self.numbers[int(query["from"][0]) :][:1000]
        found = [{"Type": "dns", "Id": number, "Name": f"zone-{number}.example"} for number in page]
        return good({"Total": len(self.numbers), "SearchResults": found})


class SlowZones(Zones):
    """The same, but its next answers are slow: each advances the clock by one of the delays."""

    def __init__(self, numbers: range) -> None:
        super().__init__(numbers)
        self.clock, self.delays = TurnedClock(), iter(list[float]())

    def answer(self, path: str, query: Query) -> tuple[int, bytes]:
        """Turn the clock, and return the same."""
        self.clock.now += next(self.delays, 0.0)
        return super().answer(path, query)


@asynccontextmanager
async def polling(
    zones: Zones, account: Mapping[str, object], collectors: Mapping[str, object]
) -> AsyncIterator[tuple[Counter[str], ExporterParts]]:
    """Run the parts of an exporter that polls zones, without waiting for the first round; yield its requests, too."""
    async with platform(zones.answer) as place:
        # The fault is one of the sandbox, which is not asked.
        stall = {"kind": "stall"}
        async with exporter_parts(account=account, collectors=collectors, url=place.url, fault=stall) as parts:
            yield place.asked, parts


def statistics(asked: Counter[str]) -> int:
    """Return the number of requests for a zone's statistics."""
    return sum(times for path, times in asked.items() if path.endswith("/statistics"))


def without_zones(parts: ExporterParts) -> dict[str, object]:
    """Return a change of the settings with which no zones are discovered."""
    (main,) = parts.settings.accounts
    return {"accounts": (main.model_copy(update={"dns_zones": DnsZonesSettings(discover=False)}),)}


async def test_in_the_first_round_few_targets_do_not_wait_behind_the_many_of_another_collector() -> None:
    few = {"shield_zones": {"ids": [1, 2, 3]}, "budget": {"requests_per_second": 50, "max_in_flight": 8}}
    collectors = only("discovery", "dns_statistics", "dns_record_scans", "shield_bot_detection")
    async with polling(Zones(range(1, 251)), few, collectors) as (asked, parts):
        for _ in range(15):
            await parts.turn(1)
        polled = [path for path in asked if path.startswith(("/dnszone/", "/shield/shield-zone/"))]
    before = polled[: polled.index("/shield/shield-zone/3/bot-detection")]
    assert len(polled) > 500
    assert sum(path.startswith("/dnszone/") for path in before) <= 100
    first = [path.rpartition("/")[2] for path in polled if path.startswith("/dnszone/")][:200]
    assert 95 < first.count("statistics") < 105, "the two share the budget evenly"


async def test_the_duration_of_a_collector_is_that_of_its_last_poll() -> None:
    zones = SlowZones(range(0))
    async with polling(zones, {"dns_zones": {"ids": [1]}}, only("dns_statistics")) as (_, parts):
        await parts.settle()
        zones.clock, zones.delays = parts.clock, iter([2.5])
        await parts.turn(450)
        assert parts.value("edge_exporter_collector_duration_seconds", collector="dns_statistics") == 2.5


async def test_a_slow_platform_lengthens_no_interval_and_polls_that_come_late_are_missed_runs() -> None:
    zones, budget = SlowZones(range(0)), {"requests_per_second": 10, "max_in_flight": 1}
    account = {"timeout": 600, "budget": budget, "dns_zones": {"ids": list(range(1, 13))}}
    async with polling(zones, account, only("dns_statistics")) as (_, parts):
        await parts.settle()
        before = parts.value(MISSED, collector="dns_statistics") or 0.0
        # One call at a time: twelve zones take 1,200 s, four of their intervals.
        zones.clock, zones.delays = parts.clock, iter([100.0] * 60)
        await parts.turn(450)
        assert parts.value("edge_exporter_collector_interval_seconds", collector="dns_statistics") == 300
        assert parts.value("edge_api_budget_requests_per_second", account="main") == 10
        missed = parts.value(MISSED, collector="dns_statistics")
        assert missed is not None
        assert missed - before > 60


async def test_a_poll_that_has_not_ended_is_not_begun_again_and_the_missed_run_is_counted() -> None:
    async with exporter_parts(account={**DNS_ONLY, "timeout": 600}, world=world()) as parts:
        parts.faults.add({"kind": "stall", "point": "start", "path": "/dnszone/102/statistics"})
        parts.clock.now += 451
        await parts.work.poller.tick()
        await until(lambda: len(parts.schedule.running) == 1)
        assert [key.target.id for key in parts.schedule.running] == ["102"]
        await parts.renderer.render()
        before = parts.value(MISSED, collector="dns_statistics") or 0.0
        assert parts.value(MISSED, collector="search") == 0.0, "the series of each collector begins at 0"
        parts.clock.now += 451
        # Every zone is due again, and one poll of the last tick has not ended.
        await parts.work.poller.tick()
        await parts.renderer.render()
        assert parts.value(MISSED, collector="dns_statistics") == before + 1


async def test_zones_do_not_wait_for_a_shield_zone_list_that_stalls_at_first_sight() -> None:
    stall = {"kind": "stall", "point": "start", "path": "/shield/shield-zones"}
    account = {"timeout": 600.0, "shield_zones": {"ids": [1]}}
    zones = [Target("main", "dns_zone", str(number)) for number in (101, 102, 103)]
    async with exporter_parts(account=account, world=world(), fault=stall) as parts:
        await until(lambda: all(was_up(parts, "dns_statistics", zone) for zone in zones))
        # Targets that the list would name wait for the list.
        assert was_up(parts, "shield_bot_detection", Target("main", "shield_zone", "1")) is None
        assert not parts.schedule.all_discovered()
        # A zone without a name waits for the running discovery, which is not asked to begin again.
        parts.registry.apply("main", Inventory({"dns_zone": ResourceList((Resource("104", ""),), complete=False)}))
        await parts.work.poller.tick()
        await parts.renderer.render()
        assert parts.value(MISSED, collector="discovery") == 0.0


FIXED: dict[str, Any] = {
    "dns_zones": {"ids": [101], "discover": False},
    "scripts": {"ids": [7], "discover": False},
    "shield_zones": {"ids": [1], "discover": False},
}
NAMES = {"dns_zone/101": "prod-shop.example", "script/7": "router", "shield_zone/1": "prod-shop-web"}


def names(parts: ExporterParts) -> dict[str, str]:
    """Return the names of configured targets in all health series, each of which is up."""
    found: dict[str, set[str]] = {}
    for (_, name, target), up in parts.samples("edge_target_up", account="main").items():
        assert up == 1.0, f"{target} {name!r} fails"
        if target in NAMES:
            found.setdefault(target, set()).add(name)
    return {target: ", ".join(found) for target, found in found.items()}


def searches(parts: ExporterParts) -> float:
    """Return how often search was answered well."""
    return sum(parts.samples("edge_api_requests_total", operation="search", code="200").values())


@pytest.mark.parametrize(
    "fault",
    [{"status": 500}, {"status": 403}, {"status": 401}, {"status": 200, "body": "{}"}, {"kind": "reset"}],
    ids=str,
)
@pytest.mark.parametrize("shields", [FIXED["shield_zones"], {"discover": True, "rate_limits": False}], ids=str)
async def test_a_search_that_fails_leaves_configured_ids_polled_without_names_until_it_is_answered(
    fault: dict[str, object], shields: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = {"kind": "status", "path": "/search", **fault}
    async with exporter_parts(account={**FIXED, "shield_zones": shields}, world=world(), fault=search) as parts:
        await parts.settle()
        assert parts.schedule.all_discovered()
        await parts.turn(NAMES_SECONDS)
        # A script has its name in its own answer.
        assert names(parts) == {**dict.fromkeys(NAMES, ""), "script/7": "router"}
        parts.faults.clear()
        with monkeypatch.context() as broken:
            broken.setattr("exporter.platform.api.global_search.list_resources", lambda _: 1 / 0)
            await parts.turn(900)
        for _ in range(3):
            await parts.turn(900)
        assert names(parts) == NAMES


async def test_configured_ids_do_not_wait_for_a_search_that_stalls() -> None:
    stall = {"kind": "stall", "point": "start", "path": "/search"}
    async with exporter_parts(account={**FIXED, "timeout": 600.0}, world=world(), fault=stall) as parts:
        zone = Target("main", "dns_zone", "101")
        parts.clock.now += NAMES_SECONDS
        await parts.work.poller.tick()
        await until(lambda: was_up(parts, "dns_statistics", zone))


LOOKED_UP = [
    (FIXED, "discovery", ("", "", 0.0)),
    ({**FIXED, "dns_zones": {"discover": True}}, "shield_zones", ("prod-shop.example", "prod-shop-web", 1.0)),
]


@pytest.mark.parametrize(("account", "disabled", "found"), LOOKED_UP, ids=["discovery", "shield_zones"])
async def test_the_discovery_and_no_other_collector_looks_up_the_names_of_configured_ids(
    account: dict[str, Any], disabled: str, found: tuple[str, str, float]
) -> None:
    async with exporter_parts(account=account, collectors={disabled: {"enabled": False}}, world=world()) as parts:
        named = names(parts)
        assert (named["dns_zone/101"], named["shield_zone/1"], searches(parts)) == found


async def test_what_nobody_answers_is_asked_again_before_anything_is_polled_without_its_name() -> None:
    reset = {"kind": "reset", "path": "/search"}
    async with exporter_parts(world=world(), fault=reset) as parts:
        await parts.settle()
        # A rate limit has its name in its own answer.
        assert {status.collector for status in parts.store.statuses.values()} == {"discovery", "shield_rate_limits"}
        await parts.turn(FIRST_WAIT_OF_LISTS)
        await parts.turn(NAMES_SECONDS)
        assert {status.collector for status in parts.store.statuses.values()} > {"discovery", "shield_zones"}


@pytest.mark.parametrize(("account", "index"), [(FIXED, 0), ({}, 0), ({}, 1)], ids=["names", "0 of 2", "1 of 2"])
async def test_a_list_that_nobody_answers_is_asked_for_again_soon_also_where_no_series_shows_its_failure(
    account: dict[str, Any], index: int
) -> None:
    shard, none = {"shard": {"index": index, "total": 2}}, {"kind": "reset"}
    collectors = only("discovery")
    async with exporter_parts(account=account, collectors=collectors, world=world(), fault=none, more=shard) as parts:
        await parts.settle()
        parts.faults.clear()
        await parts.turn(FIRST_WAIT_OF_LISTS)
        assert searches(parts) == 1.0


async def test_names_that_may_not_be_searched_for_are_asked_for_less_and_less_often() -> None:
    account = {**FIXED, "shield_zones": {"discover": True, "rate_limits": False}}
    async with exporter_parts(account=account, collectors=only("discovery"), world=world()) as parts:
        search = parts.faults.add({"kind": "status", "status": 403, "path": "/search"})
        await poll_now(parts.work, "discovery")
        for _ in range(60):
            await parts.turn(10)
        # At once, after ten seconds, twice that and so on, and at the regular time.
        assert 6 <= search.hits <= 8


async def test_an_account_that_answers_nothing_keeps_no_other_from_being_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("exporter.polling.schedule.MOST_RECORDING", 2)
    none = {"discover": False}
    scripts = {"discover": False, "ids": list(range(1, 9))}
    hanging = {"name": "hanging", "timeout": 600, "dns_zones": none, "shield_zones": none, "scripts": scripts}
    good = {**DNS_ONLY, "name": "good", "budget": {"requests_per_second": 10000, "max_in_flight": 1}}
    stall, collectors = {"kind": "stall", "point": "start", "path_regex": "/compute/.*"}, {**STATISTICS, "scripts": {}}
    async with exporter_parts(account=hanging, second=good, collectors=collectors, world=world(), fault=stall) as parts:
        zone = Target("good", "dns_zone", "101")
        await until(lambda: was_up(parts, "dns_statistics", zone))
        parts.clock.now += NAMES_SECONDS
        await parts.work.poller.tick()
        assert Counter(key.target.account for key in parts.schedule.running)["hanging"] == 8
        parts.faults.add({"kind": "status", "status": 404, "path": "/dnszone/101/statistics"})
        parts.clock.now += 450
        await parts.work.poller.tick()
        await until(lambda: was_up(parts, "dns_statistics", zone) is False)


@pytest.mark.parametrize("kinds", [{}, {**SHIELD_ONLY, "shield_zones": {"discover": False, "ids": [1, 2, 3]}}])
async def test_a_key_that_is_put_right_brings_names_before_anything_that_carries_them(
    tmp_path: Path, kinds: dict[str, Any]
) -> None:
    key = tmp_path / "key"
    key.write_text("wrong")
    account = {"api_key": None, "api_key_file": str(key), **kinds}
    async with exporter_parts(account=account, world=world()) as parts:
        await parts.turn(NAMES_SECONDS)
        key.write_text(API_KEY)
        # The file is read on a thread, which takes its time.
        credential = parts.schedule.accounts["main"].client.credential
        async with asyncio.timeout(PATIENCE):
            while credential.problem:
                await parts.turn(1)
        await parts.turn(1)
        for _ in range(2):
            names = {name for name, _ in parts.samples("edge_target_up", account="main", collector="shield_zones")}
            assert names == {"main", "prod-shop-web", "staging-shop-web", "prod-api-gateway"}
            # A reload of the same settings removes nothing.
            assert await parts.daemon.reload() == ()
            await parts.renderer.render()


async def test_a_new_zone_is_polled_while_rate_limits_are_still_being_listed() -> None:
    small = world()
    # The listing stalls for longer than anything else here takes.
    async with exporter_parts(world=small) as parts:
        parts.faults.add({"kind": "stall", "point": "start", "path_regex": "/shield/metrics/rate-limits/.*"})
        new = Target("main", "dns_zone", str(small.dns.add_zone("new.example")))
        parts.clock.now += 901
        await parts.work.poller.tick()
        await until(lambda: was_up(parts, "dns_statistics", new) is not None)
        assert "discovery" in {key.collector for key in parts.schedule.running}


async def test_a_shield_zone_list_is_polled_with_its_names_while_rate_limits_are_still_being_listed() -> None:
    stall = {"kind": "stall", "point": "start", "path_regex": "/shield/metrics/rate-limits/.*"}
    async with exporter_parts(account={"timeout": 600.0}, world=world(), fault=stall) as parts:
        await until(lambda: was_up(parts, "shield_zones", Target("main", "account", "main")))
        assert parts.schedule.all_discovered()


@pytest.mark.parametrize(("discover", "shown"), [(True, {"1", "2", "3", "99"}), (False, {"1"})])
async def test_a_zone_of_the_list_is_shown_before_a_discovery_finds_it_where_zones_are_discovered(
    *, discover: bool, shown: set[str]
) -> None:
    listed = '{"data": [{"shieldZoneId": 1}, {"shieldZoneId": 99}], "page": {"totalCount": 2}}'
    account, rarely = {"shield_zones": {"discover": discover, "ids": [1]}}, {"discovery": {"interval": "1d"}}
    async with exporter_parts(account=account, collectors=rarely, world=world()) as parts:
        parts.faults.add({"kind": "status", "status": 200, "body": listed, "path": "/shield/shield-zones"})
        await parts.turn(451)
        assert {zone for *_, zone in parts.samples("edge_shield_zone_info")} == shown


async def test_a_zone_that_was_gone_and_came_back_is_told_of_by_whichever_collector_polls_it_first() -> None:
    small = world()
    async with exporter_parts(account=DNS_ONLY, collectors={"discovery": {"interval": 60}}, world=small) as parts:
        name = small.dns.zones.name(103)
        small.dns.remove_zone(103)
        for _ in range(2):
            await parts.turn(451)
        assert parts.samples("edge_target_up", target="dns_zone/103") == {}
        assert {key.target.id for key in parts.schedule.polled()} == {"main", "101", "102"}
        small.dns.add_zone(name, 103)
        parts.faults.add({"kind": "status", "status": 500, "path": "/dnszone/103/statistics"})
        await parts.turn(90)
        assert parts.value("edge_dns_record_scan_found", zone_id="103") is not None


async def test_a_zone_is_back_with_its_own_answer_even_if_a_poll_that_is_counted_with_it_came_first() -> None:
    async with exporter_parts(account=DNS_ONLY, world=world()) as parts:
        parts.faults.add({"kind": "status", "status": 404, "path_regex": "/dnszone/103/.*"})
        await parts.turn(900)
        parts.faults.clear()
        record, counted, waiting = parts.ledger.record, asyncio.Event(), list[PollRecord]()

        async def held(entry: PollRecord) -> Counters:
            waiting.append(entry)
            await counted.wait()
            return await record(entry)

        parts.ledger.record = held  # type: ignore[method-assign]
        for number, name in enumerate(("dns_record_scans", "dns_statistics"), 1):
            parts.schedule.poll_again([PollKey.of(name, "main", "dns_zone", "103")])
            await parts.work.poller.tick()
            await until(lambda number=number: len(waiting) == number)  # type: ignore[misc]
        counted.set()
        await parts.settle()
        for family in ("edge_dns_window_queries", "edge_dns_record_scan_found"):
            assert parts.value(family, zone_id="103") is not None


async def test_a_platform_is_not_known_by_what_another_one_did_not_have() -> None:
    async with exporter_parts(account=DNS_ONLY, world=world()) as parts:
        parts.faults.add({"kind": "status", "status": 404, "path_regex": "/dnszone/103/.*"})
        await parts.turn(900)
        parts.faults.clear()
        parts.faults.add({"kind": "stall", "path_regex": "/dnszone/10[13]/statistics"})
        (account,) = parts.settings.accounts
        moved = account.model_copy(update={"base_url": account.base_url.replace("127.0.0.1", "localhost")})
        assert parts.value("edge_dns_window_queries", zone_id="101") is not None
        await parts.reload(accounts=[moved])
        assert parts.value("edge_dns_window_queries", zone_id="101") is None
        scans = PollKey.of("dns_record_scans", "main", "dns_zone", "103")
        await until(lambda: (status := parts.store.statuses.get(scans)) is not None and status.families)


async def test_a_reload_offers_a_refused_key_again() -> None:
    async with exporter_parts(account=DNS_ONLY, collectors=STATISTICS, world=world()) as parts:
        parts.faults.add({"kind": "status", "status": 401})
        await parts.turn(900)
        parts.faults.clear()
        await parts.settle()
        assert parts.samples("edge_target_up", collector="dns_statistics", target="dns_zone/101").popitem()[1] == 0.0
        assert await parts.daemon.reload() == ()
        await parts.settle()
        assert parts.samples("edge_target_up", collector="dns_statistics", target="dns_zone/101").popitem()[1] == 1.0
        credential = parts.schedule.accounts["main"].client.credential
        credential.refuse("a former key")
        parts.schedule.refresh()
        assert credential.problem == "", "without an answer to a call with the new key"
        # An account is up for one and a half of the intervals that the reload sets.
        slow = HOURLY | {"discovery": {"interval": "1h"}}
        await parts.reload(collectors=CollectorsSettings.model_validate(slow))
        parts.clock.now += 1.5 * 3600
        assert parts.work.accounts.up_by_account() == {"main": True}


async def test_a_zone_that_the_platform_does_not_know_loses_its_scan_series_until_it_is_known_again() -> None:
    small = world()
    fixed = {**DNS_ONLY, "dns_zones": {"ids": [101], "discover": False}}
    async with exporter_parts(account=fixed, world=small) as parts:
        name = small.dns.zones.name(101)
        parts.faults.add({"kind": "status", "status": 500, "path": "/dnszone/101/records/scan"})
        await parts.turn(900)
        parts.faults.clear()
        small.dns.remove_zone(101)
        await poll_now(parts.work, "dns_statistics")
        await parts.settle()
        with capture_logs() as logs:
            for _ in range(2):
                assert parts.value("edge_dns_window_queries", zone_id="101") is None
                assert parts.value("edge_dns_record_scan_found", zone_id="101") is None
                await parts.turn(900)
        assert [line["collector"] for line in logs if line["event"] == "target recovered"] == ["dns_record_scans"]
        assert parts.value("edge_target_up", collector="dns_statistics", target="dns_zone/101") == 0.0
        small.dns.add_zone(name, 101)
        for _ in range(3):
            await parts.turn(900)
        assert parts.value("edge_dns_record_scan_found", zone_id="101") is not None


async def test_what_is_not_found_hides_nothing_that_other_collectors_tell() -> None:
    bots = ("shield_bot_detection", "/shield/shield-zone/1/bot-detection", "edge_shield_api_guardian_enabled")
    async with exporter_parts(world=world()) as parts:
        for collector, path, family in (("shield_zones", "/shield/shield-zones", "edge_resources"), bots):
            before = parts.samples(family)
            parts.faults.add({"kind": "status", "status": 404, "path": path})
            await poll_now(parts.work, collector)
            await parts.settle()
            assert 0.0 in parts.samples("edge_target_up", collector=collector).values()
            assert parts.samples(family) == before != {}
        # Its own series are gone.
        assert parts.samples("edge_shield_zones") == {}


@pytest.mark.parametrize(
    ("status", "seconds", "turns"),
    [(429, 2000, 5), (503, 2000, 5), (403, 2000, 5), (429, 10**8, 9), (500, 2000, 1)],
)
async def test_a_target_is_left_alone_for_as_long_as_the_platform_asked_and_an_hour_at_most(
    status: int, seconds: int, turns: int
) -> None:
    async with exporter_parts(account=DNS_ONLY, collectors=STATISTICS, world=world()) as parts:
        fault = {"kind": "status", "status": status, "retry_after": seconds, "path": "/dnszone/102/statistics"}
        parts.faults.add({**fault, "times": 1})
        seen = []
        for _ in range(turns + 1):
            await parts.turn(400)
            refused = parts.value("edge_api_requests_total", operation="dns_statistics", code=str(status))
            seen.append((parts.value("edge_target_up", collector="dns_statistics", target="dns_zone/102"), refused))
        assert seen == [(0.0, 1.0)] * turns + [(1.0, 1.0)]


async def test_intervals_stretch_when_the_budget_does_not_carry_them() -> None:
    small = world(dns_zones=40)
    tight = {**DNS_ONLY, "budget": {"requests_per_second": 0.1, "max_in_flight": 4}}
    both = only("discovery", "dns_statistics", "dns_record_scans")
    async with exporter_parts(account=tight, collectors=both, world=small) as parts:
        plan = parts.schedule.plans["dns_statistics"]
        demand = parts.value("edge_api_demand_requests_per_second", account="main")
        assert demand is not None
        assert 0.19 < demand < 0.22, "40 zones each 300 s and each 600 s, and the account's own polls"
        pace, zone = parts.schedule.accounts["main"].pace, Target("main", "dns_zone", "101")
        assert pace.interval(plan, zone) > 300 * 2
        assert parts.schedule.lifetime("dns_statistics", zone) == 3 * pace.interval(plan, zone)
        pace.stretch = 20.0
        assert pace.interval(plan, zone) == 300 * 20
        assert parts.schedule.longest_interval("discovery") == 600 * 20
        off = CollectorsSettings.model_validate(only("dns_statistics"))
        for change, needed in (({"collectors": off}, 40 / 300), (without_zones(parts), 0)):
            await parts.reload(**change)
            assert parts.value("edge_api_demand_requests_per_second", account="main") == pytest.approx(needed)


async def test_what_a_poll_costs_follows_the_number_of_its_calls_gradually() -> None:
    zones, demand = Zones(range(1000)), []
    async with polling(zones, DNS_ONLY, only("discovery")) as (_, parts):
        for zones.numbers in (range(1000), range(3000), range(3000)):
            await parts.turn(900)
            demand.append(parts.value("edge_api_demand_requests_per_second", account="main") or 0.0)
        zones.is_refused = True
        await parts.turn(900)
        demand.append(parts.value("edge_api_demand_requests_per_second", account="main") or 0.0)
    # Three pages in place of one: a tenth of what is missing counts with each poll that succeeds.
    assert [each / demand[0] for each in demand] == pytest.approx([1.0, 1.2, 1.38, 1.38])


HOURLY = {**STATISTICS, "dns_statistics": {"interval": "1h"}}
OF_102 = "/dnszone/102/statistics"


async def minutes_of_polls(parts: ExporterParts, fault: Scripted, minutes: int) -> list[int]:
    """Return the minutes from now on in which a fault was met."""
    found = []
    for minute in range(minutes):
        hits = fault.hits
        await parts.turn(60)
        found += [minute] * (fault.hits - hits)
    return found


async def test_a_failed_poll_of_a_slow_collector_is_repeated_after_a_minute_two_four_and_so_on() -> None:
    async with exporter_parts(account=DNS_ONLY, collectors=HOURLY, world=world()) as parts:
        for refusal in ({"status": 400}, {"status": 403, "retry_after": 1}):
            fault = parts.faults.add({"kind": "status", "path": OF_102, **refusal})
            polls = await minutes_of_polls(parts, fault, 200)
            gaps = [after - before for before, after in pairwise(polls)]
            assert (gaps[:5], max(gaps) <= 60) == ([1, 2, 4, 8, 16], True)
            parts.faults.clear()
            # A good poll ends the row of failures.
            await parts.turn(3600)
            assert parts.value("edge_target_up", collector="dns_statistics", target="dns_zone/102") == 1.0
            (status,) = (one for one in all_statuses(parts.work.parts) if one.target.id == "102" and one.polled)
            assert 0 < target_values(parts.work.parts, status)["next_poll"] - parts.world.clock.now() <= 7200
        others = parts.samples("edge_api_requests_total", operation="dns_statistics", code="200")[("main",)]
        assert others < 2 * 10
        # A target that the plan does not include is not polled before its regular time.
        no_plan = {"status": 202, "body": '{"error": {"success": false, "errorKey": "invalid_plan_type.x"}}'}
        fault = parts.faults.add({"kind": "status", "path": OF_102, "content_type": "application/json", **no_plan})
        assert 2 <= len(await minutes_of_polls(parts, fault, 150)) <= 3
        collector, zone = parts.schedule.plans["dns_statistics"].collector, Target("main", "dns_zone", "102")
        for _ in range(1100):  # a wait that doubled as often would be no number any more
            parts.schedule.failed(collector, zone, ServerError("the platform answered 500"))
        assert (parts.schedule.due_at(PollKey(zone.key, collector.name)) or 0.0) > parts.clock.now


async def test_a_paused_operation_holds_up_no_other() -> None:
    both = {**STATISTICS, "dns_record_scans": {"enabled": True}}
    async with exporter_parts(account=DNS_ONLY, collectors=both, world=world()) as parts:
        parts.schedule.accounts["main"].client.rate_limiter.pause("dns_statistics", 60)
        parts.schedule.poll_again(sorted(parts.schedule.polled(), key=lambda key: key.collector != "dns_statistics"))
        poll = parts.schedule.take("main")
        assert poll is not None
        assert poll.plan.collector.name != "dns_statistics"


async def test_a_failed_poll_waits_for_its_regular_time_where_the_budget_is_used_up() -> None:
    tight = {**DNS_ONLY, "budget": {"requests_per_second": 0.1, "max_in_flight": 4}}
    async with exporter_parts(account=tight, collectors=STATISTICS, world=world(dns_zones=60)) as parts:
        await parts.turn(700)
        answered = parts.samples("edge_api_requests_total", operation="dns_statistics", code="200")[("main",)]
        fault = parts.faults.add({"kind": "status", "status": 400, "path": OF_102})
        for _ in range(4):
            await parts.turn(60)
        others = parts.samples("edge_api_requests_total", operation="dns_statistics", code="200")[("main",)] - answered
        assert 0 < fault.hits <= others / 59 + 1


async def test_the_polls_of_an_account_are_spread_over_the_interval() -> None:
    counts = []
    async with polling(Zones(range(1, 121)), DNS_ONLY, HOURLY) as (asked, parts):
        for _ in range(30):
            counts.append(statistics(asked))
            await parts.turn(300)
    assert {after - before for before, after in pairwise(counts[18:])} == {10}


async def test_each_collector_and_account_has_a_moment_of_its_own_for_its_only_target() -> None:
    hourly = {**only("dns_statistics", "dns_record_scans"), **HOURLY, "dns_record_scans": {"interval": "1h"}}
    one = {**DNS_ONLY, "dns_zones": {"discover": False, "ids": [101]}}
    other = {**DNS_ONLY, "name": "other", "dns_zones": {"discover": False, "ids": [102]}}
    async with exporter_parts(account=one, second=other, collectors=hourly, world=world()) as parts:
        every, polls = parts.faults.add({"kind": "delay", "seconds": 0}), list[int]()
        for _ in range(24):
            await parts.turn(300)
            polls.append(every.hits)
    assert sorted(after - before for before, after in pairwise(polls[11:])) == [0] * 8 + [1] * 4


async def test_a_key_that_is_refused_is_not_offered_more_often_for_that() -> None:
    slow = {**HOURLY, "discovery": {"interval": "1h"}}
    fixed = {**DNS_ONLY, "dns_zones": {"ids": [101], "discover": False}, "api_key": "wrong"}
    async with exporter_parts(account=fixed, collectors=slow, world=world()) as parts:
        for _ in range(20):
            await parts.turn(60)
        refused = parts.samples("edge_api_requests_total", operation="dns_statistics", code="401")
        assert refused == {("main",): 1.0}
        assert "edge_target_last_success_timestamp_seconds{" not in parts.text(), "it is unknown, and not 0"


@pytest.mark.parametrize("breaks", ["call", "count"])
async def test_breaking_code_in_one_poll_ends_with_that_poll(breaks: str) -> None:
    async with exporter_parts(account=DNS_ONLY, world=world()) as parts:
        collector, count = parts.schedule.plans["dns_statistics"].collector, parts.ledger.record

        class Broken(Collector):
            name, polls, interval, operations, families = "dns_statistics", "dns_zone", 300.0, (), ()

            async def poll(self, context: Context, target: Target) -> PollResult:
                if target.id == "102" and breaks == "call":
                    raise ZeroDivisionError
                return await collector.poll(context, target)

        async def counting(entry: PollRecord) -> Counters:
            if entry.key == PollKey.of("dns_statistics", "main", "dns_zone", "102") and breaks == "count":
                raise ZeroDivisionError
            return await count(entry)

        object.__setattr__(parts.schedule.plans["dns_statistics"], "collector", Broken())
        parts.ledger.record = counting  # type: ignore[method-assign]
        with capture_logs() as logs:
            await parts.turn(400)
        assert [line["target"] for line in logs if line["event"] == "unexpected error in a poll"] == ["dns_zone/102"]
        assert parts.value("edge_target_up", collector="dns_statistics", target="dns_zone/102") == 0.0
        assert parts.store.statuses[PollKey.of("dns_statistics", "main", "dns_zone", "102")].duration < 400
        assert parts.value("edge_target_up", collector="dns_statistics", target="dns_zone/101") == 1.0
        assert parts.schedule.running == {}


async def test_stopping_waits_neither_for_polls_that_stall_nor_for_those_that_are_queued() -> None:
    budget = {"requests_per_second": 10000, "max_in_flight": 1}
    async with exporter_parts(account={**DNS_ONLY, "timeout": 600, "budget": budget}, world=world()) as parts:
        parts.faults.add({"kind": "stall", "point": "start", "path_regex": "/dnszone/.*"})
        parts.clock.now += 400
        await parts.work.poller.tick()
        await asyncio.sleep(0)
        assert len(parts.schedule.running) == 1
        async with asyncio.timeout(END_SECONDS):
            await parts.work.poller.stop()
        await poll_now(parts.work, "dns_statistics")
        assert parts.schedule.running == {}


async def test_results_that_wait_for_a_stopped_ledger_have_a_bound_and_all_are_published_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("exporter.polling.schedule.MOST_RECORDING", 5)
    account = {**DNS_ONLY, "budget": {"requests_per_second": 10000, "max_in_flight": 2}}
    async with polling(Zones(range(1, 41)), account, STATISTICS) as (asked, parts):
        record, resumed = parts.ledger.record, asyncio.Event()

        async def stopped(entry: PollRecord) -> Counters:
            await resumed.wait()
            return await record(entry)

        parts.ledger.record = stopped  # type: ignore[method-assign]
        await until(lambda: len(parts.registry.by_key) > 40)
        before = statistics(asked)
        for _ in range(10):
            parts.clock.now += 300
            await parts.work.poller.tick()
            await asyncio.sleep(0.01)
        # Those that had no answer yet when the bound was reached have one now.
        assert 5 <= len(parts.schedule.running) <= 7
        assert statistics(asked) - before <= 7
        resumed.set()
        await parts.settle()
        assert len(parts.samples("edge_dns_window_queries")) == 40
        # A target that is removed while its poll waits for the ledger is not published any more.
        resumed.clear()
        parts.clock.now += 300
        await parts.work.poller.tick()
        await until(lambda: any(due.is_answered for due in parts.schedule.running.values()))
        await parts.reload(**without_zones(parts))
        resumed.set()
        await parts.settle()
        assert parts.samples("edge_target_up") == {}, "the account itself has no list any more"


@pytest.mark.parametrize(("failing_zone", "logged"), [(101, ["target fails"]), (999, [])])
async def test_after_values_expired_without_a_poll_only_a_failure_is_logged(
    failing_zone: int, logged: list[str]
) -> None:
    async with exporter_parts(account=DNS_ONLY, collectors=STATISTICS, world=world(dns_zones=1)) as parts:
        parts.clock.now += 3600
        parts.store.expire()
        assert not any(status.families for status in parts.store.statuses.values())
        parts.faults.add({"path": f"/dnszone/{failing_zone}/statistics", "kind": "status", "status": 500})
        with capture_logs() as logs:
            for _ in range(3):
                await parts.turn(900)
        assert [line["event"] for line in logs if "target" in line] == logged


async def test_a_list_that_fails_for_the_account_of_another_shard_is_logged_once() -> None:
    told: dict[bool, list[str]] = {}
    fault = {"path": "/search", "kind": "status", "status": 403}
    for index in (0, 1):
        shard = {"shard": {"index": index, "total": 2}}
        with capture_logs() as logs:
            async with exporter_parts(collectors=only("discovery"), world=world(), fault=fault, more=shard) as parts:
                await parts.settle()
                for _ in range(3):
                    await parts.turn(3600)
                is_own = parts.registry.owns(PollKey.of("", "main", "account", "main").target)
        told[is_own] = [line["event"] for line in logs if line["event"].endswith("fails")]
    # No series of the other shard shows the failure.
    assert told == {True: ["target fails"], False: ["list of an account fails"]}


async def test_a_poll_that_fails_after_its_target_was_removed_is_not_logged_as_a_list() -> None:
    async with exporter_parts(account=DNS_ONLY, collectors=STATISTICS, world=world(dns_zones=1)) as parts:
        parts.faults.add({"kind": "status", "status": 404, "path": "/dnszone/101/statistics"})
        with capture_logs() as logs:
            await poll_now(parts.work, "dns_statistics")
            parts.registry.configure(())
            await parts.settle()
    assert logs == []


async def test_healthy_zones_keep_their_series_while_many_new_ones_are_polled_first() -> None:
    often, budget = {"interval": "10s"}, {"requests_per_second": 25, "max_in_flight": 8}
    zones, collectors = Zones(range(1, 4)), {**STATISTICS, "dns_statistics": often, "discovery": often}
    async with polling(zones, {**DNS_ONLY, "budget": budget}, collectors) as (_, parts):
        while len(parts.samples("edge_dns_window_queries", account="main")) < 3:
            await parts.turn(10)
        zones.numbers, seen = range(1, 751), set[tuple[str, ...]]()
        while len(seen) < 750:
            await parts.turn(1)
            seen = set(parts.samples("edge_dns_window_queries", account="main"))
            assert seen >= {(f"zone-{zone}.example", str(zone)) for zone in (1, 2, 3)}
        assert set(parts.samples("edge_target_up", account="main").values()) == {1.0}
        interval = parts.value("edge_exporter_collector_interval_seconds", collector="dns_statistics")
        assert interval is not None
        assert interval > 20


async def test_a_query_s_duration_is_not_the_wait_for_the_budget() -> None:
    queries = [{"name": f"q{number}", "sql": "SELECT 1 AS value", "interval": "1h"} for number in range(8)]
    del queries[0]["interval"]
    # The clock moves while one waits: two calls at once would have each other's waits.
    budget = {"requests_per_second": 4, "max_in_flight": 1}
    database = {"auth_token": DATABASE_TOKEN_FULL, "budget": budget, "queries": queries}
    async with exporter_parts(account=DNS_ONLY, collectors=only("database"), database=database) as parts:
        assert (parts.value("edge_api_throttled_seconds_total", account="database:orders") or 0.0) > 1
        durations = parts.samples("edge_database_query_duration_seconds", database="orders")
        assert list(durations.values()) == [0.0] * 8
        for family in ("edge_up", "edge_api_budget_requests_per_second"):
            assert parts.samples(family).keys() == {("main",)}, "they are of accounts, and not of databases"
        intervals = parts.samples("edge_database_query_interval_seconds", database="orders")
        assert [intervals[f"q{number}",] for number in range(8)] == [60.0, *[3600.0] * 7]
        assert "# HELP edge_database_q0 Column value of the configured query q0, polled.\n" in parts.text()


async def test_the_failure_of_a_query_is_logged_without_an_account() -> None:
    database = {"auth_token": DATABASE_TOKEN_FULL, "queries": [{"name": "q", "sql": "SELECT x FROM nowhere"}]}
    with capture_logs() as logs:
        async with exporter_parts(account=DNS_ONLY, collectors=only("database"), database=database):
            pass
    failed = [(line["account"], line["target"]) for line in logs if line["event"] == "target fails"]
    assert failed == [("", "query/orders/q")]
