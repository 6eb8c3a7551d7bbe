"""What must hold of a world at any time: sums, growth and windows; the golden has the values of one at a few times."""

from collections.abc import Callable
from datetime import date
from itertools import pairwise
from typing import Any

import httpx
import pytest

from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import API_KEY
from exporter.sandbox.search import ResourceIds, Search
from exporter.sandbox.timestamps import parse_date_time
from exporter.sandbox.world import World

TODAY = date(2026, 2, 6)
DAYS = "ratelimitOverviewPastTwentyEightDays"


def test_a_clock_moves_by_advance_and_at_the_speed_from_when_it_is_set() -> None:
    monotonic = [5.0]
    clock = WorldClock(1_000.0, monotonic=lambda: monotonic[0])
    monotonic[0] += 10
    clock.set_speed(60.0)
    monotonic[0] += 2
    assert (clock.now(), clock.speed) == (1_000.0 + 10 + 120, 60.0)
    clock.set_speed(0.0)
    monotonic[0] += 60
    clock.advance(90)
    assert clock.now() == 1_000.0 + 10 + 120 + 90


def test_the_example_ids_are_those_that_the_documentation_uses(world: World) -> None:
    assert (7, "login", 3) in world.rate_limit_ids()
    assert (3, 11) in world.access_list_ids()
    assert 21 in world.waf.rules
    assert world.scripts.scripts.name(7) == "router"
    assert world.images()[0][:3] == ("dockerhub", "library", "nginx")


def test_the_world_can_be_as_small_as_nothing() -> None:
    world = World(clock=WorldClock(0.0, speed=0.0), dns_zones=0, scripts=0, shield_zones=0)
    assert (len(world.dns.zones), world.rate_limit_ids(), world.access_list_ids()) == (0, [], [])
    assert world.shield.page(1, 10)["page"]["totalPages"] == 0


def test_a_resource_that_comes_back_keeps_its_id_and_is_found() -> None:
    ids = ResourceIds(10, 3)
    search = Search([("dns", ids)])
    ids.remove(10)
    assert search.answer("back", 0, 5)["Total"] == 0
    assert [ids.add("added"), ids.add("back", 10), ids.add("next")] == [13, 10, 14]
    assert search.answer("back", 0, 5)["SearchResults"] == [{"Type": "dns", "Id": 10, "Name": "back"}]


@pytest.mark.parametrize(
    ("text", "moment"),
    [("1970-01-01T00:01", 60.0), ("1970-01-01T00:00:00.5000000Z", 0.5), ("1970-01-01T00:00:00Zulu", None)],
)
def test_date_times_may_end_early_and_in_no_other_way(text: str, moment: float | None) -> None:
    assert parse_date_time(text) == moment


@pytest.mark.parametrize("resource_id", [10, 0, -1, 2**63])
def test_a_known_or_invalid_id_cannot_be_added(resource_id: int) -> None:
    with pytest.raises(ValueError, match=r"already exists|is no id"):
        ResourceIds(10, 3, ("seeded-0", "seeded-1", "seeded-2")).add("x", resource_id)


async def test_results_beyond_the_ten_thousandth_cannot_be_reached() -> None:
    transport = httpx.ASGITransport(create_app(World(clock=WorldClock(0.0, speed=0.0), dns_zones=20_000)))
    async with httpx.AsyncClient(transport=transport, base_url="http://x", headers={"AccessKey": API_KEY}) as client:
        found = [(await client.get("/search", params={"from": start})).json() for start in (9_995, 10_000)]
    assert [(len(page["SearchResults"]), page["Total"]) for page in found] == [(5, 20_011), (0, 20_011)]


async def statistics(client: httpx.AsyncClient, **window: str) -> dict[str, Any]:
    """Request the statistics of zone 101."""
    content: dict[str, Any] = (await client.get("/dnszone/101/statistics", params=window)).json()
    return content


@pytest.mark.parametrize("hours", [1, 6, 12, 24])
async def test_buckets_add_up_to_the_true_days_of_which_the_oldest_is_clipped(
    client: httpx.AsyncClient, world: World, hours: int
) -> None:
    world.dns.add_queries(101, 1_000, date(2026, 2, 4))
    world.dns.set_bucket_hours(101, hours)
    days: dict[str, int] = {}
    for key, value in (await statistics(client))["QueriesServedChart"].items():
        days[key[:10]] = days.get(key[:10], 0) + value
    true = {day: world.dns.true_queries(101, date.fromisoformat(day)) for day in days}
    oldest = min(days)
    assert 0 < days.pop(oldest) < true.pop(oldest)
    assert days == true


def test_the_seed_determines_the_world() -> None:
    first, same, other = (World(seed, WorldClock(1_770_379_200.0, speed=0.0)).dns.statistics(101) for seed in (7, 7, 8))
    assert first == same != other


def test_a_hundred_thousand_zones_have_traffic_four_hundred_days_back() -> None:
    world = World(clock=WorldClock(1_770_379_200.0, speed=0.0), dns_zones=100_000)
    assert len(world.dns.zones) == 100_000
    assert world.dns.true_queries(100_100, date(2025, 1, 1)) > 0


@pytest.mark.parametrize(
    ("read", "step", "times"),
    [
        (lambda world: world.dns.true_routed(101, TODAY), 3_000, 12),
        (lambda world: world.scripts.true_month(7), 86_400, 22),
        # A world that opens has breaches today and more every minute.
        (lambda world: [world.rate_limits.true_breaches(7, TODAY).total], 60, 30),
    ],
)
def test_what_counts_grows_with_the_clock(
    world: World, clock: WorldClock, read: Callable[[World], list[float]], step: float, times: int
) -> None:
    seen = []
    for _ in range(times):
        seen.append(list(read(world)))
        clock.advance(step)
    assert all(
        before < after for earlier, later in pairwise(seen) for before, after in zip(earlier, later, strict=True)
    )


def test_a_month_starts_anew_with_the_utc_month(world: World, clock: WorldClock) -> None:
    clock.advance(22 * 86_400 + 12 * 3600 + 1)
    assert 0 < world.scripts.true_month(7).requests < 1_000


def test_set_values_grow_on_until_the_month_ends(world: World, clock: WorldClock) -> None:
    world.scripts.set_month(7, cost=3.5, requests=900)
    month = world.scripts.true_month(7)
    assert (month.cost, month.requests) == (3.5, 900)
    clock.advance(3_600)
    assert world.scripts.true_month(7).requests > 900
    clock.advance(30 * 86_400)
    assert world.scripts.true_month(7) == World(clock=clock).scripts.true_month(7)


def test_a_month_without_growth_keeps_its_values(world: World, clock: WorldClock) -> None:
    script = world.scripts.add_script("still", growth=0.0)
    assert world.scripts.true_month(script).requests == 0
    world.scripts.set_month(script, cost=1.0, requests=10, cpu_ms=20.0)
    clock.advance(7_200)
    assert world.scripts.true_month(script) == (1.0, 10, 20.0)
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


def test_no_action_ever_falls_within_a_day(world: World, clock: WorldClock) -> None:
    for limit_id, _, _ in world.rate_limit_ids():
        seen = []
        for _ in range(200):
            seen.append(world.rate_limits.true_breaches(limit_id, TODAY))
            clock.advance(37)
        assert all(before <= after for pair in pairwise(seen) for before, after in zip(*pair, strict=True))
        clock.advance(-200 * 37)


async def test_the_form_of_the_days_is_a_tests_to_choose(client: httpx.AsyncClient, world: World) -> None:
    async def days(limit: int) -> Any:
        return (await client.get(f"/shield/metrics/rate-limit/{limit}")).json()["data"][DAYS]

    limits = world.rate_limits.limits
    limits[7].plain_days = limits[8].no_days = True
    assert ((await days(7))["06-02-2026"], await days(8)) == (world.rate_limits.true_breaches(7, TODAY).total, None)
    limits[7].dropped.add(TODAY)
    assert "06-02-2026" not in await days(7)
