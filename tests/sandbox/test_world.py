"""What must hold of a world whatever its seed: sums, growth and windows; the golden has the values of one."""

from datetime import date
from itertools import pairwise
from typing import Any

import httpx
import pytest

from exporter.sandbox.app import create_app
from exporter.sandbox.breaches import Breaches
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import API_KEY
from exporter.sandbox.scans import ScanStatus
from exporter.sandbox.search import ResourceIds
from exporter.sandbox.timestamps import parse_date_time
from exporter.sandbox.world import World

TODAY = date(2026, 2, 6)
DAYS = "ratelimitOverviewPastTwentyEightDays"


class Monotonic:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.value = 5.0

    def __call__(self) -> float:
        """Return the time."""
        return self.value


def test_a_stopped_clock_only_moves_by_advance() -> None:
    monotonic = Monotonic()
    clock = WorldClock(1_000.0, speed=0.0, monotonic=monotonic)
    monotonic.value += 60
    assert clock.now() == 1_000.0
    clock.advance(90)
    assert clock.now() == 1_090.0


def test_a_speed_applies_from_when_it_is_set() -> None:
    monotonic = Monotonic()
    clock = WorldClock(1_000.0, monotonic=monotonic)
    monotonic.value += 10
    clock.set_speed(60.0)
    monotonic.value += 2
    assert clock.now() == 1_000.0 + 10 + 120
    assert clock.speed == 60.0


def test_the_example_ids_are_those_that_the_documentation_uses(world: World) -> None:
    assert (7, "login", 3) in world.rate_limit_ids()
    assert (3, 11) in world.access_list_ids()
    assert 21 in world.custom_rule_ids()
    assert world.scripts.scripts.name(7) == "router"
    assert world.images()[0][:3] == ("dockerhub", "library", "nginx")


def test_the_world_can_be_as_small_as_nothing() -> None:
    world = World(clock=WorldClock(0.0, speed=0.0), dns_zones=0, scripts=0, shield_zones=0)
    assert (len(world.dns.zones), world.rate_limit_ids(), world.access_list_ids()) == (0, [], [])
    assert world.shield.page(1, 10)["page"]["totalPages"] == 0


def test_ids_are_added_removed_and_renamed() -> None:
    ids = ResourceIds(10, 3, ("seeded-0", "seeded-1", "seeded-2"))
    added = ids.add("added")
    ids.rename(11, "renamed")
    ids.remove(10)
    assert added == 13
    assert [(resource_id, ids.name(resource_id)) for resource_id in ids] == [
        (11, "renamed"),
        (12, "seeded-2"),
        (13, "added"),
    ]
    assert (len(ids), 10 in ids, 13 in ids, ids.slice(1, 5)) == (3, False, True, [12, 13])
    assert ids.add("next") == 14
    assert ids.add("back", 10) == 10
    assert ids.name(10) == "back"


@pytest.mark.parametrize("resource_id", [10, 0, -1, 2**63])
def test_a_known_or_invalid_id_cannot_be_added(resource_id: int) -> None:
    with pytest.raises(ValueError, match=r"already exists|is no id"):
        ResourceIds(10, 3, ("seeded-0", "seeded-1", "seeded-2")).add("x", resource_id)


def test_an_unknown_id_is_an_error() -> None:
    ids = ResourceIds(10, 3, ("seeded-0", "seeded-1", "seeded-2"))
    for act in (ids.name, ids.remove):
        with pytest.raises(KeyError):
            act(99)
    with pytest.raises(KeyError):
        ids.rename(99, "x")


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-01T00:01", 60.0),
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:00.5000000Z", 0.5),
        ("1970-01-01T24:00:00Z", None),
        ("1970-1-1", None),
        ("1970-W01-1", None),
        ("1970-01-01 00:00:00", None),
        ("", None),
        ("1970-01-01T00:00:00Zulu", None),
    ],
)
def test_dates_and_date_times_are_read_strictly(text: str, moment: float | None) -> None:
    assert parse_date_time(text) == moment


async def test_results_beyond_the_ten_thousandth_cannot_be_reached() -> None:
    world = World(clock=WorldClock(0.0, speed=0.0), dns_zones=20_000)
    transport = httpx.ASGITransport(create_app(world))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://sandbox", headers={"AccessKey": API_KEY}
    ) as client:
        last = (await client.get("/search", params={"from": 9_995, "size": 20})).json()
        beyond = (await client.get("/search", params={"from": 10_000, "size": 20})).json()
    assert (len(last["SearchResults"]), last["Total"]) == (5, 20_011)
    assert (beyond["SearchResults"], beyond["Total"]) == ([], 20_011)


async def statistics(client: httpx.AsyncClient, zone_id: int, **window: str) -> dict[str, Any]:
    """Request a zone's statistics."""
    answer = await client.get(f"/dnszone/{zone_id}/statistics", params=window)
    assert answer.status_code == 200
    content: dict[str, Any] = answer.json()
    return content


async def test_charts_add_up_to_the_total(client: httpx.AsyncClient) -> None:
    content = await statistics(client, 101)
    total = content["TotalQueriesServed"]
    assert total == sum(content["QueriesServedChart"].values())
    assert total == sum(content["QueriesByTypeChart"].values())
    normal, smart = content["NormalQueriesServedChart"], content["SmartQueriesServedChart"]
    assert {key: normal[key] + smart[key] for key in normal} == content["QueriesServedChart"]


async def test_each_whole_day_of_the_window_is_the_true_one(client: httpx.AsyncClient, world: World) -> None:
    chart = (await statistics(client, 101))["QueriesServedChart"]
    served = {key[:10]: value for key, value in list(chart.items())[1:]}
    assert served == {day: world.dns.true_queries(101, date.fromisoformat(day)) for day in served}


async def test_the_oldest_day_is_clipped_where_the_window_begins(client: httpx.AsyncClient, world: World) -> None:
    chart = (await statistics(client, 101))["QueriesServedChart"]
    assert 0 < chart["2026-01-07T00:00:00Z"] < world.dns.true_queries(101, date(2026, 1, 7))


async def test_todays_bucket_grows_with_the_clock_and_never_falls(world: World, clock: WorldClock) -> None:
    seen = []
    for _ in range(12):
        seen.append((world.dns.true_queries(101, TODAY), *world.dns.true_routed(101, TODAY)))
        clock.advance(3_000)
    assert all(earlier < later for earlier, later in pairwise(seen))


@pytest.mark.parametrize("hours", [1, 6, 12])
async def test_finer_buckets_add_up_to_their_days(client: httpx.AsyncClient, world: World, hours: int) -> None:
    world.dns.add_queries(101, 1_000, date(2026, 2, 4))
    world.dns.set_bucket_hours(101, hours)
    chart = (await statistics(client, 101))["QueriesServedChart"]
    for day in (date(2026, 2, 4), TODAY):
        assert sum(value for key, value in chart.items() if key.startswith(str(day))) == world.dns.true_queries(
            101, day
        )


async def test_longer_buckets_hold_several_days(client: httpx.AsyncClient, world: World) -> None:
    world.dns.set_bucket_hours(101, 48)
    content = await statistics(client, 101, dateFrom="2026-02-01", dateTo="2026-02-04")
    true = [world.dns.true_queries(101, date(2026, 2, day)) for day in (1, 2, 3, 4)]
    assert list(content["QueriesServedChart"].values()) == [true[0] + true[1], true[2] + true[3]]


async def test_the_window_of_a_zone_can_be_a_day_longer(client: httpx.AsyncClient, world: World) -> None:
    world.dns.set_window_days(101, 31)
    assert len((await statistics(client, 101))["QueriesServedChart"]) == 32


def test_the_same_seed_gives_the_same_world_and_another_seed_another() -> None:
    def answer(seed: int) -> dict[str, Any]:
        return World(seed=seed, clock=WorldClock(1_770_379_200.0, speed=0.0)).dns.statistics(101)

    assert answer(7) == answer(7)
    assert answer(7) != answer(8)


def test_a_hundred_thousand_zones_have_traffic_four_hundred_days_back() -> None:
    world = World(clock=WorldClock(1_770_379_200.0, speed=0.0), dns_zones=100_000)
    assert len(world.dns.zones) == 100_000
    assert world.dns.true_queries(100_100, date(2025, 1, 1)) > 0


def test_a_world_that_opens_shows_a_scan_in_each_state(world: World) -> None:
    seen = {world.scans.status(zone_id) for zone_id in world.dns.zones}
    assert seen == {None, *ScanStatus}


def test_a_month_grows_and_starts_anew_with_the_utc_month(world: World, clock: WorldClock) -> None:
    seen = []
    for _ in range(22):
        month = world.scripts.true_month(7)
        seen.append((month.cost, month.requests, month.cpu_ms))
        clock.advance(86_400)
    assert all(earlier < later for earlier, later in pairwise(seen))
    clock.advance(12 * 3600 + 1)
    reset = world.scripts.true_month(7)
    assert 0 < reset.requests < 1_000
    assert reset.cost < seen[0][0]


def test_set_values_grow_on_until_the_month_ends(world: World, clock: WorldClock) -> None:
    world.scripts.set_month(7, cost=3.5, requests=900)
    month = world.scripts.true_month(7)
    assert (month.cost, month.requests) == (3.5, 900)
    clock.advance(3_600)
    assert world.scripts.true_month(7).requests > 900
    clock.advance(30 * 86_400)
    assert world.scripts.true_month(7).cost != 3.5


def test_a_month_without_growth_keeps_its_values(world: World, clock: WorldClock) -> None:
    script = world.scripts.add_script("still", growth=0.0)
    assert world.scripts.true_month(script).requests == 0
    world.scripts.set_month(script, cost=1.0, requests=10, cpu_ms=20.0)
    clock.advance(7_200)
    month = world.scripts.true_month(script)
    assert (month.cost, month.requests, month.cpu_ms) == (1.0, 10, 20.0)
    before = world.scripts.true_month(7)
    world.scripts.set_growth(7, 0.0)
    clock.advance(7_200)
    assert world.scripts.true_month(7) == before


async def test_the_list_is_paged_to_its_end(client: httpx.AsyncClient, world: World) -> None:
    world.shield.largest_page = 2
    seen: list[int] = []
    page: int | None = 1
    while page is not None:
        listed = (await client.get("/shield/shield-zones", params={"page": page})).json()
        seen += [zone["shieldZoneId"] for zone in listed["data"]]
        page = listed["page"]["nextPage"]
    assert seen == [1, 2, 3]


async def test_a_rate_limit_shows_each_breached_day_and_their_sum(client: httpx.AsyncClient, world: World) -> None:
    data = (await client.get("/shield/metrics/rate-limit/7")).json()["data"]
    expected = {}
    for ordinal in range(TODAY.toordinal() - 27, TODAY.toordinal() + 1):
        day = date.fromordinal(ordinal)
        breaches = world.rate_limits.true_breaches(7, day)
        if breaches.total:
            expected[f"{day:%d-%m-%Y}"] = breaches.answer()
    assert data[DAYS] == expected
    assert data["overview"] == {key: sum(day[key] for day in expected.values()) for key in data["overview"]}


def test_a_world_that_opens_has_breaches_today_and_more_every_minute(world: World, clock: WorldClock) -> None:
    first = world.rate_limits.true_breaches(7, TODAY)
    clock.advance(60)
    second = world.rate_limits.true_breaches(7, TODAY)
    assert min(first.logged, first.challenged, first.blocked) > 0
    assert second.total >= first.total + 30


def test_no_action_ever_falls_within_a_day(world: World, clock: WorldClock) -> None:
    for limit_id, _, _ in world.rate_limit_ids():
        before = Breaches()
        for _ in range(200):
            now = world.rate_limits.true_breaches(limit_id, TODAY)
            assert (now.logged, now.challenged, now.blocked) >= (before.logged, before.challenged, before.blocked)
            assert (
                min(now.logged - before.logged, now.challenged - before.challenged, now.blocked - before.blocked) >= 0
            )
            before = now
            clock.advance(37)
        clock.advance(-200 * 37)


def test_bursts_leave_quiet_days_between_them(world: World) -> None:
    days = [date.fromordinal(TODAY.toordinal() - n) for n in range(1, 200)]
    totals = [world.rate_limits.true_breaches(7, day).total for day in days]
    assert 0 < totals.count(0) < len(totals)


async def test_the_form_of_the_days_is_a_tests_to_choose(client: httpx.AsyncClient, world: World) -> None:
    world.rate_limits.limits[7].plain_days = world.rate_limits.limits[8].no_days = True
    plain, null = [(await client.get(f"/shield/metrics/rate-limit/{limit}")).json()["data"][DAYS] for limit in (7, 8)]
    assert (plain["06-02-2026"], null) == (world.rate_limits.true_breaches(7, TODAY).total, None)


async def test_a_day_that_is_dropped_is_absent_until_it_is_restored(client: httpx.AsyncClient, world: World) -> None:
    whole = (await client.get("/shield/metrics/rate-limit/7")).json()
    world.rate_limits.limits[7].dropped.add(TODAY)
    assert "06-02-2026" not in (await client.get("/shield/metrics/rate-limit/7")).json()["data"][DAYS]
    world.rate_limits.limits[7].dropped.clear()
    assert (await client.get("/shield/metrics/rate-limit/7")).json() == whole
