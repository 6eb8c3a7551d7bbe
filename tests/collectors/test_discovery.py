import asyncio
import json
from dataclasses import replace
from typing import Any, TypeVar

from exporter.collectors.collector import Polled
from exporter.collectors.discovery import AT_ONCE, COLLECTOR, RATE_LIMITS, SEARCH, SHIELD_ZONES
from exporter.platform.errors import (
    EnvelopeError,
    Forbidden,
    NotAvailable,
    PlatformError,
    RateLimited,
    Refused,
    ServerError,
    Unauthorized,
)
from exporter.platform.operation import Answer, Request
from exporter.targets.target import Inventory, Resource, ResourceList, Target
from tests.collectors.polls import assert_as_in_file, context_of, exposed, poll
from tests.platform.callers import ScriptedCaller

T = TypeVar("T")
FOUND = json.dumps(
    {
        "Total": 6,
        "SearchResults": [
            {"Type": "dns", "Id": 102, "Name": "example.com"},
            {"Type": "dns", "Id": 103, "Name": None},
            {"Type": "cdn", "Id": 9, "Name": "shop"},
            {"Type": "script", "Id": 7, "Name": "router"},
            {"Type": "storage", "Id": 7, "Name": "files"},
            {"Type": "a new kind", "Id": 7, "Name": "?"},
        ],
    }
)
EMPTY = '{"Total": 0, "SearchResults": []}'


def account(*watched: str) -> Target:
    return Target("main", "account", "main", "main", watched=watched)


WITH_LIMITS = account(SHIELD_ZONES, RATE_LIMITS)


def zones(*ids: int, total: int | None = None) -> str:
    data = [{"shieldZoneId": one, "pullZoneId": one * 3} for one in ids]
    return json.dumps({"data": data, "page": {"totalCount": len(ids) if total is None else total}})


def limits(*ids: int | None) -> str:
    return json.dumps({"data": [{"ratelimitId": one} for one in ids], "error": None})


def lists(polled: Polled) -> Any:
    assert polled.found is not None
    return polled.found.lists


async def test_what_an_account_has() -> None:
    polled = await poll(COLLECTOR, account(SEARCH), FOUND)
    assert_as_in_file(exposed(COLLECTOR, polled), "discovery_types")
    assert polled.found == Inventory(
        {
            "dns_zone": ResourceList((Resource("102", "example.com"), Resource("103")), complete=True),
            "script": ResourceList((Resource("7", "router"),), complete=True),
            "cdn": ResourceList((Resource("9", "shop"),), complete=True),
        }
    )


async def test_shield_zones_go_by_their_pull_zones_names() -> None:
    polled = await poll(COLLECTOR, account(SEARCH, SHIELD_ZONES), FOUND, zones(3, 4))
    assert lists(polled)["shield_zone"] == ResourceList((Resource("3", "shop"), Resource("4")), complete=True)


async def test_a_short_list_is_incomplete() -> None:
    polled = await poll(COLLECTOR, account(SHIELD_ZONES), zones(3, total=2), zones(total=2))
    assert polled.found == Inventory({"shield_zone": ResourceList((Resource("3"),), complete=False)})


async def test_a_shield_zone_that_cannot_be_read_is_known_all_the_same() -> None:
    body = '{"data": [{"shieldZoneId": 3, "planType": {}}], "page": {"totalCount": 1}}'
    polled = await poll(COLLECTOR, account(SHIELD_ZONES), body)
    assert polled.found == Inventory({"shield_zone": ResourceList((Resource("3"),), complete=True)})


async def test_rate_limits_are_found_zone_by_zone() -> None:
    polled = await poll(COLLECTOR, WITH_LIMITS, zones(3, 4), limits(55, 56, None), limits(57))
    assert lists(polled)["rate_limit"] == ResourceList(
        (Resource("55", parent="3"), Resource("56", parent="3"), Resource("57", parent="4")), complete=True
    )


async def test_a_rate_limit_that_cannot_be_read_is_known_all_the_same() -> None:
    body = '{"data": [{"ratelimitId": 55, "overview": 7}, {"ratelimitId": 56}], "error": null}'
    polled = await poll(COLLECTOR, WITH_LIMITS, zones(3), body)
    assert lists(polled)["rate_limit"] == ResourceList(
        (Resource("55", parent="3"), Resource("56", parent="3")), complete=True
    )


async def test_a_rate_limit_without_a_readable_id_makes_the_list_incomplete() -> None:
    body = '{"data": [{"ratelimitId": "x"}, {"ratelimitId": 56}], "error": null}'
    polled = await poll(COLLECTOR, WITH_LIMITS, zones(3), body)
    assert lists(polled)["rate_limit"] == ResourceList((Resource("56", parent="3"),), complete=False)


async def test_a_platform_without_that_listing_is_asked_once_and_is_no_failure() -> None:
    caller = ScriptedCaller([zones(3, 4), None])
    polled = await COLLECTOR.poll(context_of(caller, WITH_LIMITS), WITH_LIMITS)
    assert ([name for name, _ in caller.calls], sorted(lists(polled)), polled.outcomes[0].error) == (
        ["shield_zones", "shield_zone_rate_limits"],
        ["shield_zone"],
        None,
    )


async def test_a_zone_that_went_meanwhile_has_no_rate_limits() -> None:
    polled = await poll(COLLECTOR, WITH_LIMITS, zones(3, 4, 5), limits(55), None, limits(57))
    assert lists(polled)["rate_limit"] == ResourceList(
        (Resource("55", parent="3"), Resource("57", parent="5")), complete=True
    )


async def test_a_zone_whose_plan_has_no_rate_limits_is_passed_over() -> None:
    for lacking in (
        EnvelopeError("no", status=202, error_key="not_found.ratelimit_shieldzone"),
        NotAvailable("no", status=202, error_key="invalid_plan_type.ratelimit"),
    ):
        polled = await poll(COLLECTOR, WITH_LIMITS, zones(3, 4), lacking, limits(57))
        assert lists(polled)["rate_limit"] == ResourceList((Resource("57", parent="4"),), complete=True)
        assert polled.outcomes[0].error is None


async def test_a_zone_that_fails_does_not_hide_the_next_and_is_told() -> None:
    failing = EnvelopeError("broken", status=202, error_key="internal.failure")
    for fault in (ServerError("500", status=500), Forbidden("403", status=403), failing):
        polled = await poll(COLLECTOR, WITH_LIMITS, zones(3, 4), fault, limits(57))
        assert lists(polled)["rate_limit"] == ResourceList((Resource("57", parent="4"),), complete=False)
        assert polled.outcomes[0].error is fault


async def test_what_keeps_every_call_from_being_answered_ends_the_attempt() -> None:
    faults: list[PlatformError] = [Refused("no"), RateLimited("429", status=429), Unauthorized("401", status=401)]
    for fault in faults:
        caller = ScriptedCaller([zones(3, 4, 5), limits(55), fault])
        polled = await COLLECTOR.poll(context_of(caller, WITH_LIMITS), WITH_LIMITS)
        assert lists(polled)["rate_limit"] == ResourceList((Resource("55", parent="3"),), complete=False)
        assert (len(caller.calls), polled.outcomes[0].error) == (3, fault)


async def test_a_search_that_fails_further_in_hides_nothing_that_it_found() -> None:
    page = '{"Total": 2, "SearchResults": [{"Type": "dns", "Id": 102, "Name": "example.com"}]}'
    polled = await poll(COLLECTOR, account(SEARCH), page, ServerError("the platform answered 500", status=500))
    assert lists(polled)["dns_zone"] == ResourceList((Resource("102", "example.com"),), complete=False)
    assert [(str(outcome.error), outcome.families) for outcome in polled.outcomes] == [
        ("the platform answered 500", ())
    ]


async def test_one_list_that_fails_spoils_no_other() -> None:
    fault = ServerError("500", status=500)
    no_search = await poll(COLLECTOR, account(SEARCH, SHIELD_ZONES), fault, zones(3))
    assert (list(lists(no_search)), no_search.outcomes[0].error) == (["shield_zone"], fault)
    no_zones = await poll(COLLECTOR, account(SEARCH, SHIELD_ZONES), FOUND, fault)
    assert (sorted(lists(no_zones)), no_zones.outcomes[0].error) == (["cdn", "dns_zone", "script"], fault)
    assert_as_in_file(exposed(COLLECTOR, no_zones), "discovery_types")


async def test_an_account_without_resources_has_whole_lists_of_none() -> None:
    polled = await poll(COLLECTOR, account(SEARCH), EMPTY)
    assert exposed(COLLECTOR, polled) == ""
    assert polled.found == Inventory({kind: ResourceList((), complete=True) for kind in ("dns_zone", "script", "cdn")})


def test_an_account_with_nothing_to_discover_is_not_asked() -> None:
    assert [COLLECTOR.wants(account(what)) for what in (SEARCH, SHIELD_ZONES, "shield_zone")] == [True, True, False]


async def test_each_list_is_told_before_the_next_is_asked_for() -> None:
    caller = ScriptedCaller([FOUND, zones(3, 4), limits(55), limits(57)])
    reported: list[tuple[Inventory, int]] = []

    async def tell(inventory: Inventory) -> None:
        reported.append((inventory, len(caller.calls)))

    context = replace(context_of(caller, account()), found=tell)
    polled = await COLLECTOR.poll(context, account(SEARCH, SHIELD_ZONES, RATE_LIMITS))
    assert [(sorted(inventory.lists), inventory.names_follow, calls) for inventory, calls in reported] == [
        (["cdn", "dns_zone", "script"], True, 1),
        (["shield_zone"], False, 2),
    ]
    assert list(lists(polled)) == ["rate_limit"], "what was reported is not reported again"


async def test_several_zones_are_asked_for_their_rate_limits_at_once() -> None:
    under_way, most = 0, 0

    class Waiting(ScriptedCaller):
        async def call(self, request: Request[T]) -> Answer[T]:
            """Count the calls under way."""
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            return await super().call(request)

    count = 30
    waiting = Waiting([zones(*range(1, count + 1)), *(limits(1000 + zone) for zone in range(1, count + 1))])
    polled = await COLLECTOR.poll(context_of(waiting, WITH_LIMITS), WITH_LIMITS)
    assert most == AT_ONCE
    parents = [resource.parent for resource in lists(polled)["rate_limit"].resources]
    assert parents == [str(zone) for zone in range(1, count + 1)], "in the order of the zones"
