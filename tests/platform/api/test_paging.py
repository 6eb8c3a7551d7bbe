"""Lists are read to their end with any page size, and report whether they are complete."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from exporter.platform.api import search, shield
from exporter.platform.api.search import Found
from exporter.platform.errors import PlatformError, Rejected, ServerError, WrongShape
from tests.platform.callers import caller
from tests.platform.clients import client_of
from tests.platform.raw_server import Line, RawRequest, raw_server, reply


def found(ids: Sequence[int | None], total: int | None) -> str:
    results = [{"Type": "dns", "Id": one, "Name": f"zone{one}.example"} for one in ids]
    return json.dumps({"Total": total, "From": 0, "Size": 20, "SearchResults": results})


def zones(ids: Sequence[int | str | None], total: int | None, following: int | None, pages: int | None = None) -> str:
    page = {"totalCount": total, "totalPages": pages, "currentPage": 1, "nextPage": following, "pageSize": 10}
    return json.dumps({"data": [{"shieldZoneId": one} for one in ids], "page": page})


async def searched(*answers: str | PlatformError) -> tuple[list[int], int | None, bool, list[tuple[int, int]]]:
    """Return the ids, the total, whether the list is complete, and the requested pages: (from, size)."""
    asked = caller(*answers)
    listing = (await search.everything(asked)).value
    pages = [(arguments["from"], arguments["size"]) for _, arguments in asked.calls]
    return [one.id for one in listing.names], listing.total, listing.complete, pages


async def listed(*answers: str | PlatformError) -> tuple[list[int], list[int], int | None, bool, list[int]]:
    """Return the ids, the unusable ones, the total, whether the list is complete, and the requested pages."""
    asked = caller(*answers)
    listing = (await shield.zones(asked)).value
    pages = [arguments["page"] for _, arguments in asked.calls]
    return list(listing.zones), list(listing.unusable), listing.total, listing.complete, pages


async def test_a_search_ends_with_its_total() -> None:
    assert await searched(found([1, 2, 3], 5), found([4, 5], 5)) == ([1, 2, 3, 4, 5], 5, True, [(0, 1000), (3, 1000)])


async def test_an_empty_search_is_whole() -> None:
    assert await searched(found([], 0)) == ([], 0, True, [(0, 1000)])


async def test_a_search_without_a_total_ends_with_an_empty_page_and_is_never_whole() -> None:
    assert await searched(found([1, 2], None), found([3], None), found([], None)) == (
        [1, 2, 3],
        None,
        False,
        [(0, 1000), (2, 1000), (3, 1000)],
    )


async def test_a_search_that_ends_before_its_total_is_not_whole() -> None:
    assert await searched(found([1, 2], 5), found([], 5)) == ([1, 2], 5, False, [(0, 1000), (2, 1000)])


async def test_a_search_that_repeats_itself_ends() -> None:
    assert await searched(found([1, 2], 5)) == ([1, 2], 5, False, [(0, 1000), (2, 1000)])


async def test_a_page_size_that_is_refused_is_asked_for_smaller() -> None:
    refusal = Rejected("the platform answered 400", status=400)
    assert await searched(refusal, found([1, 2], 3), found([3], 3)) == (
        [1, 2, 3],
        3,
        True,
        [(0, 1000), (0, 20), (2, 20)],
    )
    with pytest.raises(Rejected):
        await searched(refusal)


async def test_a_search_that_is_refused_further_in_is_what_came_until_then() -> None:
    assert await searched(found([1, 2], 20_000), Rejected("too deep", status=400)) == (
        [1, 2],
        20_000,
        False,
        [(0, 1000), (2, 1000)],
    )


async def test_a_search_that_fails_further_in_is_what_came_until_then_and_tells_of_it() -> None:
    fault = ServerError("the platform answered 500", status=500)
    listing = (await search.everything(caller(found([1, 2], 4), fault))).value
    assert ([one.id for one in listing.names], listing.complete, listing.fault) == ([1, 2], False, fault)
    with pytest.raises(ServerError):
        await searched(fault)


async def test_items_that_cannot_be_read_keep_a_search_from_being_whole_and_do_not_end_it() -> None:
    assert await searched(found([None, None], 5), found([3, 4], 5), found([5], 5)) == (
        [3, 4, 5],
        5,
        False,
        [(0, 1000), (2, 1000), (4, 1000)],
    )


async def test_a_search_that_shrinks_while_it_is_read_is_whole_by_its_last_total() -> None:
    assert (await searched(found([1, 2], 4), found([3], 3)))[:3] == ([1, 2, 3], 3, True)


async def test_a_resource_is_its_type_and_its_id() -> None:
    body = (
        '{"Total": 4, "SearchResults": [{"Type": "dns", "Id": 1, "Name": "a"}, {"Type": "cdn", "Id": 1, "Name": null}, '
        '{"Type": "new kind", "Id": 2}, {"Type": "dns", "Id": 1, "Name": "b"}]}'
    )
    listing = (await search.everything(caller(body))).value
    assert listing.names == {Found("dns", 1): "b", Found("cdn", 1): "", Found("new kind", 2): ""}
    assert listing.complete is False


async def test_counting_takes_one_call() -> None:
    asked = caller(found([1], 12))
    assert (await search.count(asked, "prod")).value == 12
    assert asked.calls == [("search", {"search": "prod", "from": 0, "size": 1})]


async def test_shield_zones_follow_the_pages_that_are_named() -> None:
    assert await listed(zones([1, 2], 5, 2), zones([3, 4], 5, 3), zones([5], 5, None)) == (
        [1, 2, 3, 4, 5],
        [],
        5,
        True,
        [1, 2, 3],
    )


async def test_shield_zones_go_on_by_the_total_where_no_page_is_named() -> None:
    assert await listed(zones([1, 2], 3, None), zones([3], 3, None)) == ([1, 2, 3], [], 3, True, [1, 2])


async def test_shield_zones_go_on_by_the_number_of_pages_where_nothing_else_is_told() -> None:
    assert await listed(zones([1], None, None, 2), zones([2], None, None, 2)) == ([1, 2], [], None, False, [1, 2])


async def test_no_shield_zones_are_a_whole_list() -> None:
    assert await listed(zones([], 0, None)) == ([], [], 0, True, [1])


async def test_no_list_where_there_are_no_zones_is_a_whole_list() -> None:
    assert await listed('{"data": null, "page": {"totalCount": 0}, "error": null}') == ([], [], 0, True, [1])
    for missing in ('{"data": null, "page": {"totalCount": 2}}', '{"data": null}'):
        with pytest.raises(WrongShape):
            await listed(missing)


@pytest.mark.parametrize("following", [1, 0, -1, 2])
async def test_shield_zones_that_repeat_themselves_end(following: int) -> None:
    ids, _, total, complete, pages = await listed(zones([1, 2], 5, following))
    assert (ids, total, complete, len(pages)) == ([1, 2], 5, False, 2)


async def test_a_list_without_a_page_object_is_read_once_and_is_not_whole() -> None:
    assert await listed('{"data": [{"shieldZoneId": 1}]}') == ([1], [], None, False, [1])


async def test_a_zone_that_cannot_be_read_counts_and_is_named() -> None:
    body = json.dumps(
        {
            "data": [{"shieldZoneId": 1}, {"shieldZoneId": 2, "wafEnabled": {}}, {"shieldZoneId": "x"}, 7],
            "page": {"totalCount": 4, "nextPage": None},
        }
    )
    listing = (await shield.zones(caller(body))).value
    assert (list(listing.zones), dict(listing.unusable), listing.complete) == (
        [1],
        {2: "wafEnabled: Input should be a valid boolean"},
        False,
    )


async def test_a_zone_that_is_read_on_another_page_is_not_unusable() -> None:
    broken = '{"data": [{"shieldZoneId": 1, "planType": {}}], "page": {"totalCount": 1, "nextPage": 2}}'
    assert await listed(broken, zones([1], 1, None)) == ([1], [], 1, True, [1, 2])


async def test_a_page_that_fails_fails_the_list() -> None:
    with pytest.raises(WrongShape):
        await listed(zones([1], 2, 2), '{"data": 7}')


@pytest.mark.parametrize("size", [1, 7, 10, 1000])
async def test_both_lists_are_whole_over_the_wire_with_any_page_size(size: int) -> None:
    ids = list(range(1, 24))

    async def page(request: RawRequest, line: Line) -> None:
        arguments = dict(pair.split("=") for pair in request.target.partition("?")[2].split("&"))
        if request.target.startswith("/search"):
            start = int(arguments["from"])
            await line.send(reply(found(ids[start : start + size], len(ids))))
            return
        number = int(arguments["page"])
        part = ids[(number - 1) * size : number * size]
        await line.send(reply(zones(part, len(ids), number + 1 if number * size < len(ids) else None)))

    async with raw_server(page) as server, client_of(server.url) as kit:
        everything, shields = await asyncio.gather(search.everything(kit.calls), shield.zones(kit.calls))
    assert ([one.id for one in everything.value.names], everything.value.complete) == (ids, True)
    assert (list(shields.value.zones), shields.value.complete) == (ids, True)
