"""Lists are read to their end with any page size, and report whether they are complete."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

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


def zones(items: Sequence[Any], total: int | None, following: int | None, pages: int | None = None) -> str:
    page = {"totalCount": total, "totalPages": pages, "currentPage": 1, "nextPage": following, "pageSize": 10}
    listed = [item if isinstance(item, dict) else {"shieldZoneId": item} for item in items]
    return json.dumps({"data": listed, "page": page})


REFUSAL, FAULT = Rejected("the platform answered 400", status=400), ServerError("the platform answered 500", status=500)
# The answers → the ids, the total, whether the list is complete, and the requested pages: the first item, and how many.
Search = tuple[list[str | PlatformError], tuple[list[int], int | None, bool, list[tuple[int, int]]]]
SEARCHES: dict[str, Search] = {
    "its total": ([found([1, 2], 3), found([3], 3)], ([1, 2, 3], 3, True, [(0, 1000), (2, 1000)])),
    "nothing found": ([found([], 0)], ([], 0, True, [(0, 1000)])),
    "an empty page, without a total": ([found([1], None), found([], None)], ([1], None, False, [(0, 1000), (1, 1000)])),
    "an empty page before its total": ([found([1], 5), found([], 5)], ([1], 5, False, [(0, 1000), (1, 1000)])),
    "a page that it has read": ([found([1, 2], 5)], ([1, 2], 5, False, [(0, 1000), (2, 1000)])),
    "pages of a size that is not refused": (
        [REFUSAL, found([1, 2], 3), found([3], 3)],
        ([1, 2, 3], 3, True, [(0, 1000), (0, 20), (2, 20)]),
    ),
    "a refusal further in": ([found([1, 2], 20_000), REFUSAL], ([1, 2], 20_000, False, [(0, 1000), (2, 1000)])),
    "its last total": ([found([1, 2], 4), found([3], 3)], ([1, 2, 3], 3, True, [(0, 1000), (2, 1000)])),
    # Items that cannot be read do not end it, and keep it from being whole.
    "its total, with items that cannot be read": (
        [found([None, None], 5), found([3, 4], 5), found([5], 5)],
        ([3, 4, 5], 5, False, [(0, 1000), (2, 1000), (4, 1000)]),
    ),
}


@pytest.mark.parametrize(("answers", "expected"), SEARCHES.values(), ids=SEARCHES)
async def test_a_search_ends_with(answers: list[str | PlatformError], expected: object) -> None:
    asked = caller(*answers)
    listing = (await search.everything(asked)).value
    pages = [(arguments["from"], arguments["size"]) for _, arguments in asked.calls]
    assert ([one.id for one in listing.names], listing.total, listing.complete, pages) == expected
    assert listing.fault is None


async def test_a_search_that_fails_further_in_is_what_came_until_then_and_tells_of_it() -> None:
    listing = (await search.everything(caller(found([1, 2], 4), FAULT))).value
    assert ([one.id for one in listing.names], listing.complete, listing.fault) == ([1, 2], False, FAULT)
    for first in (FAULT, REFUSAL):
        with pytest.raises(type(first)):
            await search.everything(caller(first))


async def test_a_resource_is_its_type_and_its_id() -> None:
    body = (
        '{"Total": 4, "SearchResults": [{"Type": "dns", "Id": 1, "Name": "a"}, {"Type": "cdn", "Id": 1, "Name": null}, '
        '{"Type": "new kind", "Id": 2}, {"Type": "dns", "Id": 1, "Name": "b"}]}'
    )
    listing = (await search.everything(caller(body))).value
    assert listing.names == {Found("dns", 1): "b", Found("cdn", 1): "", Found("new kind", 2): ""}
    assert listing.complete is False


# The answers → the ids, the unusable ones with their faults, the total, whether the list is complete, and the number of
# requested pages.
BROKEN = {"shieldZoneId": 2, "wafEnabled": {}}
Zones = tuple[list[str], tuple[list[int], dict[int, str], int | None, bool, int]]
LISTS: dict[str, Zones] = {
    "pages that are named": ([zones([1, 2], 3, 2), zones([3], 3, None)], ([1, 2, 3], {}, 3, True, 2)),
    "the total": ([zones([1, 2], 3, None), zones([3], 3, None)], ([1, 2, 3], {}, 3, True, 2)),
    "the number of pages": ([zones([1], None, None, 2), zones([2], None, None, 2)], ([1, 2], {}, None, False, 2)),
    "no zones": ([zones([], 0, None)], ([], {}, 0, True, 1)),
    "no zones and no list": (['{"data": null, "page": {"totalCount": 0}, "error": null}'], ([], {}, 0, True, 1)),
    "no page object": (['{"data": [{"shieldZoneId": 1}]}'], ([1], {}, None, False, 1)),
    **{
        f"pages that repeat themselves, the next is {following}": (
            [zones([1, 2], 5, following)],
            ([1, 2], {}, 5, False, 2),
        )
        for following in (1, 0, -1, 2)
    },
    "zones that cannot be read": (
        [zones([1, BROKEN, "x", {"shieldZoneId": None}], 4, None)],
        ([1], {2: "wafEnabled: Input should be a valid boolean"}, 4, False, 1),
    ),
    "a zone that can be read on another page": (
        [zones([BROKEN], 1, 2), zones([2], 1, None)],
        ([2], {}, 1, True, 2),
    ),
}


@pytest.mark.parametrize(("answers", "expected"), LISTS.values(), ids=LISTS)
async def test_the_list_of_shield_zones_is_read_by(answers: list[str], expected: object) -> None:
    asked = caller(*answers)
    listing = (await shield.zones(asked)).value
    made = (list(listing.zones), dict(listing.unusable), listing.total, listing.complete, len(asked.calls))
    assert made == expected
    assert [arguments["page"] for _, arguments in asked.calls] == list(range(1, len(asked.calls) + 1))


@pytest.mark.parametrize(
    "answers",
    [
        ['{"data": null, "page": {"totalCount": 2}}'],
        ['{"data": null}'],
        [zones([1], 2, 2), '{"data": 7}'],
    ],
)
async def test_a_page_that_fails_fails_the_list(answers: list[str]) -> None:
    with pytest.raises(WrongShape):
        await shield.zones(caller(*answers))


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
