from datetime import date
from itertools import pairwise
from typing import Any

import httpx
import pytest

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.dns import Chart, KeyFormat, Shape
from exporter.sandbox.keys import BEARER_TOKEN, POWERLESS_KEY, STATISTICS_ROLES
from exporter.sandbox.world import World

TODAY = date(2026, 2, 6)

UNAUTHORISED = {"Message": "Authorization has been denied for this request."}


async def statistics(client: httpx.AsyncClient, zone_id: int, **window: str) -> dict[str, Any]:
    """Request a zone's statistics."""
    answer = await client.get(f"/dnszone/{zone_id}/statistics", params=window)
    assert answer.status_code == 200
    content: dict[str, Any] = answer.json()
    return content


async def test_an_answer_without_dates_holds_thirty_days_before_today_and_today(client: httpx.AsyncClient) -> None:
    content = await statistics(client, 101)
    keys = list(content["QueriesServedChart"])
    assert (len(keys), keys[0], keys[-1]) == (31, "2026-01-07T00:00:00Z", "2026-02-06T00:00:00Z")


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


async def test_a_window_between_two_dates_holds_both(client: httpx.AsyncClient, world: World) -> None:
    content = await statistics(client, 101, dateFrom="2025-02-01", dateTo="2025-02-03T00:00:00Z")
    days = [date(2025, 2, day) for day in (1, 2, 3)]
    assert content["QueriesServedChart"] == {f"{day}T00:00:00Z": world.dns.true_queries(101, day) for day in days}


async def test_a_window_with_one_end_is_the_last_thirty_days(client: httpx.AsyncClient) -> None:
    assert await statistics(client, 101, dateFrom="2025-02-01") == await statistics(client, 101)
    assert await statistics(client, 101, dateFrom="", dateTo="2025-02-01") == await statistics(client, 101)


async def test_a_window_in_the_future_is_empty(client: httpx.AsyncClient) -> None:
    content = await statistics(client, 101, dateFrom="2030-01-01", dateTo="2030-01-05")
    assert content == {
        "TotalQueriesServed": 0,
        "QueriesServedChart": {},
        "NormalQueriesServedChart": {},
        "SmartQueriesServedChart": {},
        "QueriesByTypeChart": {},
    }


@pytest.mark.parametrize(
    "window",
    [
        {"dateFrom": "yesterday"},
        {"dateTo": "2026-13-01"},
        {"dateFrom": "2026-02-30"},
        {"dateFrom": "2026-02-02", "dateTo": "2026-02-01"},
        {"dateFrom": "20260201"},
    ],
)
async def test_a_window_that_cannot_be_read_is_a_bad_request(client: httpx.AsyncClient, window: dict[str, str]) -> None:
    answer = await client.get("/dnszone/101/statistics", params=window)
    assert (answer.status_code, answer.json()["ErrorKey"]) == (400, "request.invalid")


@pytest.mark.parametrize("zone_id", ["1", "99999999", "9223372036854775808", "abc", "-1", "1.5"])
async def test_a_zone_that_is_not_there_is_not_found(client: httpx.AsyncClient, zone_id: str) -> None:
    for path in (f"/dnszone/{zone_id}/statistics", f"/dnszone/{zone_id}/records/scan"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["ErrorKey"]) == (404, "dnsZone.not_found")


async def test_traffic_that_a_test_adds_is_in_the_answer(client: httpx.AsyncClient, world: World) -> None:
    zone = world.dns.add_zone("quiet.example", queries_a_day=0, routes_smartly=False)
    world.dns.add_queries(zone, 40)
    world.dns.add_queries(zone, 7, date(2026, 2, 1))
    world.dns.add_queries(zone, -3, date(2026, 2, 1))
    content = await statistics(client, zone)
    assert content["TotalQueriesServed"] == 44
    counted = {key: value for key, value in content["QueriesServedChart"].items() if value}
    assert counted == {"2026-02-01T00:00:00Z": 4, "2026-02-06T00:00:00Z": 40}
    assert world.dns.true_routed(zone, TODAY) == (40, 0)


async def test_a_day_that_is_dropped_is_absent_until_it_is_restored(client: httpx.AsyncClient, world: World) -> None:
    day = date(2026, 2, 3)
    whole = await statistics(client, 101)
    world.dns.drop_day(101, day)
    without = await statistics(client, 101)
    assert "2026-02-03T00:00:00Z" not in without["QueriesServedChart"]
    assert without["TotalQueriesServed"] == sum(without["QueriesServedChart"].values())
    world.dns.restore_day(101, day)
    assert await statistics(client, 101) == whole


async def test_charts_can_be_null_or_empty(client: httpx.AsyncClient, world: World) -> None:
    world.dns.set_chart(101, Chart.QUERIES, Shape.NULL)
    world.dns.set_chart(101, Chart.NORMAL, Shape.EMPTY)
    world.dns.set_chart(101, Chart.RECORD_TYPES, Shape.NULL)
    content = await statistics(client, 101)
    assert content["QueriesServedChart"] is None
    assert content["NormalQueriesServedChart"] == {}
    assert content["QueriesByTypeChart"] is None
    assert content["SmartQueriesServedChart"]


async def test_the_seeded_zones_show_null_and_empty_charts(client: httpx.AsyncClient) -> None:
    shapes = {zone: (await statistics(client, zone))["SmartQueriesServedChart"] for zone in (102, 103)}
    assert shapes == {102: {}, 103: None}


@pytest.mark.parametrize(
    ("key_format", "key"),
    [
        (KeyFormat.DATE, "2026-02-06"),
        (KeyFormat.NAIVE, "2026-02-06T00:00:00"),
        (KeyFormat.FRACTION, "2026-02-06T00:00:00.0000000Z"),
    ],
)
async def test_keys_are_written_in_the_chosen_format(
    client: httpx.AsyncClient,
    world: World,
    key_format: KeyFormat,
    key: str,
) -> None:
    world.dns.set_key_format(101, key_format)
    assert key in (await statistics(client, 101))["QueriesServedChart"]


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


def test_buckets_that_do_not_fit_into_days_are_refused(world: World) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        world.dns.set_bucket_hours(101, 5)


async def test_the_window_of_a_zone_can_be_a_day_longer(client: httpx.AsyncClient, world: World) -> None:
    world.dns.set_window_days(101, 31)
    assert len((await statistics(client, 101))["QueriesServedChart"]) == 32


async def test_only_the_documented_roles_may_read_statistics(client: httpx.AsyncClient, world: World) -> None:
    allowed = set()
    for key, role in world.keys.items():
        answer = await client.get("/dnszone/101/statistics", headers={"AccessKey": key})
        if answer.status_code == 200:
            allowed.add(role)
        else:
            assert (answer.status_code, answer.json()) == (401, UNAUTHORISED)
    assert allowed == STATISTICS_ROLES
    assert world.keys[POWERLESS_KEY] not in allowed


async def test_statistics_take_a_bearer_token_and_the_scan_takes_none(client: httpx.AsyncClient) -> None:
    del client.headers["AccessKey"]
    bearer = {"Authorization": f"Bearer {BEARER_TOKEN}"}
    assert (await client.get("/dnszone/101/statistics", headers=bearer)).status_code == 200
    assert (await client.get("/dnszone/101/records/scan", headers=bearer)).status_code == 401


@pytest.mark.parametrize("headers", [{"AccessKey": "wrong"}, {"AccessKey": ""}, {"Authorization": "Bearer wrong"}])
async def test_a_wrong_key_is_unauthorised(
    client: httpx.AsyncClient,
    headers: dict[str, str],
) -> None:
    del client.headers["AccessKey"]
    answer = await client.get("/dnszone/101/statistics", headers=headers)
    assert (answer.status_code, answer.json()) == (401, UNAUTHORISED)


async def test_a_zone_can_go_come_back_and_be_renamed(client: httpx.AsyncClient, world: World) -> None:
    world.dns.remove_zone(105)
    assert (await client.get("/dnszone/105/statistics")).status_code == 404
    assert 105 not in list(world.dns.zones)
    world.dns.add_zone("back.example", 105)
    assert (await client.get("/dnszone/105/statistics")).status_code == 200
    world.dns.rename_zone(105, "renamed.example")
    assert world.dns.zones.name(105) == "renamed.example"


async def test_the_date_header_is_the_worlds_clock(client: httpx.AsyncClient, clock: WorldClock) -> None:
    clock.advance(3_600)
    answer = await client.get("/dnszone/101/statistics")
    assert answer.headers.get_list("date") == ["Fri, 06 Feb 2026 13:00:00 GMT"]


def test_the_same_seed_gives_the_same_world_and_another_seed_another() -> None:
    def answer(seed: int) -> dict[str, Any]:
        return World(seed=seed, clock=WorldClock(1_770_379_200.0, speed=0.0)).dns.statistics(101)

    assert answer(7) == answer(7)
    assert answer(7) != answer(8)


def test_a_hundred_thousand_zones_have_traffic_four_hundred_days_back() -> None:
    world = World(clock=WorldClock(1_770_379_200.0, speed=0.0), dns_zones=100_000)
    assert len(world.dns.zones) == 100_000
    assert world.dns.true_queries(100_100, date(2025, 1, 1)) > 0
