"""Lists are read to their end with any page size; `lists.txt` has what is read from the pages of each case."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exporter.platform.api import global_search, shield
from exporter.platform.errors import PlatformError, Rejected, ServerError
from tests.golden import assert_golden
from tests.platform.callers import ScriptedCaller, caller


def found(ids: Sequence[int | None], total: int | None) -> str:
    results = [{"Type": "dns", "Id": one, "Name": f"zone{one}.example"} for one in ids]
    return json.dumps({"Total": total, "From": 0, "Size": 20, "SearchResults": results})


def zones(items: Sequence[Any], total: int | None, following: int | None, pages: int | None = None) -> str:
    page = {"totalCount": total, "totalPages": pages, "currentPage": 1, "nextPage": following, "pageSize": 10}
    listed = [item if isinstance(item, dict) else {"shieldZoneId": item} for item in items]
    return json.dumps({"data": listed, "page": page})


REFUSAL, FAULT = Rejected("the platform answered 400", status=400), ServerError("the platform answered 500", status=500)
NAMELESS = (
    '{"Total": 4, "SearchResults": [{"Type": "dns", "Id": 1, "Name": "a"}, {"Type": "cdn", "Id": 1, "Name": null}, '
    '{"Type": "new kind", "Id": 2}, {"Type": "dns", "Id": 1, "Name": "b"}]}'
)
BROKEN = {"shieldZoneId": 2, "wafEnabled": {}}
SEARCHES: dict[str, list[str | PlatformError]] = {
    "its total": [found([1, 2], 3), found([3], 3)],
    "nothing found": [found([], 0)],
    "nothing found and no list": ['{"Total": 0, "SearchResults": null}'],
    "an empty page, without a total": [found([1], None), found([], None)],
    "an empty page before its total": [found([1], 5), found([], 5)],
    "a page that it has read": [found([1, 2], 5)],
    "pages of a size that is not refused": [REFUSAL, found([1, 2], 3), found([3], 3)],
    "a refusal of any size": [REFUSAL],
    "a refusal further in": [found([1, 2], 20_000), REFUSAL],
    "a failure": [FAULT],
    "a failure further in": [found([1, 2], 4), FAULT],
    "its last total": [found([1, 2], 4), found([3], 3)],
    "the total that its first page has": [found([1, 2], 3), found([3], None)],
    # Items that cannot be read do not end it, and keep it from being whole.
    "its total, with items that cannot be read": [found([None, None], 5), found([3, 4], 5), found([5], 5)],
    "its first page without a total, if none of it can be read": [found([None], None)],
    "resources that are known by their types and ids": [NAMELESS],
}
ZONES: dict[str, list[str | PlatformError]] = {
    "pages that are named": [zones([1, 2], 3, 2), zones([3], 3, None)],
    "the total": [zones([1, 2], 3, None), zones([3], 3, None)],
    "the number of pages": [zones([1], None, None, 2), zones([2], None, None, 2)],
    "no zones": [zones([], 0, None)],
    "no zones and no list": ['{"data": null, "page": {"totalCount": 0}, "error": null}'],
    "no page object": ['{"data": [{"shieldZoneId": 1}]}'],
    **{f"pages that repeat themselves, the next is {next_}": [zones([1, 2], 5, next_)] for next_ in (1, 0, -1, 2)},
    "zones that cannot be read": [
        zones([3, BROKEN, "x", *({"shieldZoneId": one} for one in (None, "x", True))], 6, None)
    ],
    "a zone that can be read on another page": [zones([BROKEN], 1, 2), zones([2], 1, None)],
    "zones that are on two pages": [zones([{"shieldZoneId": 1, "pullZoneId": pull}], 2, 2) for pull in (7, 8)],
    "no list with a total": ['{"data": null, "page": {"totalCount": 2}}'],
    "no list": ['{"data": null}'],
    "a second page that is no list": [zones([1], 2, 2), '{"data": 7}'],
}


async def searched(asked: ScriptedCaller) -> str:
    listing = (await global_search.list_resources(asked)).value
    names = ", ".join(f"{one.type} {one.id} {name}" for one, name in listing.names.items())
    return f"{names or 'none'}; of {listing.total}, complete: {listing.complete}, failed: {listing.fault}"


async def listed(asked: ScriptedCaller) -> str:
    listing = (await shield.list_zones(asked)).value
    zones = {number: zone.pull_zone_id for number, zone in listing.zones.items()}
    return f"{zones}, unusable: {dict(listing.unusable)}; of {listing.total}, complete: {listing.complete}"


async def test_lists_end_with_what_their_pages_say() -> None:
    text = ""
    for read, cases in ((searched, SEARCHES), (listed, ZONES)):
        for words, answers in cases.items():
            asked = caller(*answers)
            try:
                said = await read(asked)
            except PlatformError as error:
                said = f"{error.reason}: {error}"
            text += f"{read.__name__}, {words}: {said}; asked {[list(given.values()) for _, given in asked.calls]}\n"
    assert_golden(text, Path(__file__).parent / "lists.txt")
