from datetime import date

import httpx
import pytest

from exporter.sandbox.breaches import Breaches
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import BEARER_TOKEN
from exporter.sandbox.world import World

TODAY = date(2026, 2, 6)
DAYS = "ratelimitOverviewPastTwentyEightDays"


async def test_the_zones_are_listed(client: httpx.AsyncClient) -> None:
    listed = (await client.get("/shield/shield-zones")).json()
    assert listed["page"] == {"totalCount": 3, "totalPages": 1, "currentPage": 1, "nextPage": None, "pageSize": 10}
    assert [zone["shieldZoneId"] for zone in listed["data"]] == [1, 2, 3]
    assert [zone["planType"] for zone in listed["data"]] == [2, 0, 3]


async def test_the_list_is_paged_to_its_end(client: httpx.AsyncClient, world: World) -> None:
    world.shield.largest_page = 2
    seen: list[int] = []
    page: int | None = 1
    while page is not None:
        listed = (await client.get("/shield/shield-zones", params={"page": page})).json()
        seen += [zone["shieldZoneId"] for zone in listed["data"]]
        page = listed["page"]["nextPage"]
    assert seen == [1, 2, 3]


async def test_pages_can_be_smaller_than_requested(client: httpx.AsyncClient, world: World) -> None:
    world.shield.largest_page = 1
    listed = (await client.get("/shield/shield-zones", params={"perPage": 1000})).json()
    assert listed["page"] == {"totalCount": 3, "totalPages": 3, "currentPage": 1, "nextPage": 2, "pageSize": 1}


@pytest.mark.parametrize("per_page", ["-1", "0", "1", "4", "5"])
async def test_a_page_of_under_five_silently_becomes_one_of_five(client: httpx.AsyncClient, per_page: str) -> None:
    listed = (await client.get("/shield/shield-zones", params={"perPage": per_page})).json()
    assert listed["page"]["pageSize"] == 5


@pytest.mark.parametrize("query", [{"page": "0"}, {"perPage": "1001"}, {"page": "one"}])
async def test_a_page_that_cannot_be_is_a_bad_request(client: httpx.AsyncClient, query: dict[str, str]) -> None:
    answer = await client.get("/shield/shield-zones", params=query)
    assert (answer.status_code, answer.json()) == (400, {"statusCode": 400})


async def test_fields_show_what_a_test_sets(client: httpx.AsyncClient, world: World) -> None:
    world.shield.set_fields(2, {"planType": 9, "wafExecutionMode": None})
    zone = (await client.get("/shield/shield-zones")).json()["data"][1]
    assert (zone["planType"], zone["wafExecutionMode"]) == (9, None)


async def test_a_zone_is_added_with_its_pull_zone_and_removed(client: httpx.AsyncClient, world: World) -> None:
    added = world.shield.add_zone("new-web")
    found = (await client.get("/search", params={"search": "new-web"})).json()["SearchResults"]
    zone = (await client.get("/shield/shield-zones")).json()["data"][-1]
    assert found == [{"Type": "cdn", "Id": zone["pullZoneId"], "Name": "new-web"}]
    world.shield.remove_zone(added)
    assert (await client.get("/shield/shield-zones")).json()["page"]["totalCount"] == 3


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


async def test_days_can_be_plain_integers_or_null(client: httpx.AsyncClient, world: World) -> None:
    plain = (await client.get("/shield/metrics/rate-limit/8")).json()["data"]
    assert plain[DAYS]["06-02-2026"] == world.rate_limits.true_breaches(8, TODAY).total
    missing = (await client.get("/shield/metrics/rate-limit/6")).json()["data"]
    assert missing == {"overview": Breaches().answer(), DAYS: None}


async def test_the_form_of_the_days_is_a_tests_to_choose(client: httpx.AsyncClient, world: World) -> None:
    world.rate_limits.set_plain_days(7, plain=True)
    world.rate_limits.set_no_days(8, missing=True)
    plain, null = [(await client.get(f"/shield/metrics/rate-limit/{limit}")).json()["data"][DAYS] for limit in (7, 8)]
    assert (plain["06-02-2026"], null) == (world.rate_limits.true_breaches(7, TODAY).total, None)


async def test_a_day_that_is_dropped_is_absent_until_it_is_restored(client: httpx.AsyncClient, world: World) -> None:
    whole = (await client.get("/shield/metrics/rate-limit/7")).json()
    world.rate_limits.drop_day(7, TODAY)
    assert "06-02-2026" not in (await client.get("/shield/metrics/rate-limit/7")).json()["data"][DAYS]
    world.rate_limits.restore_day(7, TODAY)
    assert (await client.get("/shield/metrics/rate-limit/7")).json() == whole


async def test_breaches_that_a_test_adds_are_counted(client: httpx.AsyncClient, world: World) -> None:
    limit = world.rate_limits.add_limit("quiet", 3)
    world.rate_limits.add_breaches(limit, logged=1, challenged=2, blocked=3)
    world.rate_limits.add_breaches(limit, blocked=5, day=date(2026, 1, 31))
    world.rate_limits.add_breaches(limit, blocked=-1, day=date(2026, 1, 31))
    data = (await client.get(f"/shield/metrics/rate-limit/{limit}")).json()["data"]
    assert data == {
        "overview": Breaches(1, 2, 7).answer(),
        DAYS: {"31-01-2026": Breaches(blocked=4).answer(), "06-02-2026": Breaches(1, 2, 3).answer()},
    }
    world.rate_limits.drop_day(limit, TODAY)
    assert list((await client.get(f"/shield/metrics/rate-limit/{limit}")).json()["data"][DAYS]) == ["31-01-2026"]


async def test_all_rate_limits_of_a_zone_come_at_once(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/shield/metrics/rate-limits/3")).json()
    assert [one["ratelimitId"] for one in answer["data"]] == [7, 8]
    single = (await client.get("/shield/metrics/rate-limit/7")).json()["data"]
    assert answer["data"][0] == {"ratelimitId": 7, **single}


@pytest.mark.parametrize(
    ("path", "error_key"),
    [
        ("/shield/metrics/rate-limit/99", "not_found.ratelimit_shieldzone"),
        ("/shield/metrics/rate-limits/99", "not_found_or_unauthorised_access.shieldzone"),
    ],
)
async def test_what_is_not_there_fails_inside_an_envelope(client: httpx.AsyncClient, path: str, error_key: str) -> None:
    answer = await client.get(path)
    assert (answer.status_code, answer.json()["data"]) == (202, None)
    error = answer.json()["error"]
    assert (error["success"], error["errorKey"], error["statusCode"], bool(error["message"])) == (
        False,
        error_key,
        404,
        True,
    )


async def test_a_good_answer_may_carry_a_record_of_defaults_as_its_error(client: httpx.AsyncClient) -> None:
    errors = [(await client.get(f"/shield/metrics/rate-limit/{limit}")).json()["error"] for limit in (7, 8)]
    assert errors == [None, {"success": False, "message": None, "errorKey": None, "statusCode": 0}]


@pytest.mark.parametrize("path", ["/shield/shield-zones", "/shield/metrics/rate-limit/7"])
async def test_the_shield_accepts_either_scheme_and_refuses_a_wrong_key(
    client: httpx.AsyncClient,
    path: str,
) -> None:
    del client.headers["AccessKey"]
    assert (await client.get(path, headers={"Authorization": f"Bearer {BEARER_TOKEN}"})).status_code == 200
    refused = await client.get(path, headers={"AccessKey": "wrong"})
    assert (refused.status_code, refused.json()) == (401, {"statusCode": 401})
