"""Endpoints on a platform that is not the sandbox, through registry, scheduler, ledger and exposition."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.endpoints.undocumented_platform import Answer, Platform, Query, good, platform
from tests.exporter_parts import ExporterParts, exporter_parts, only

ITEMS, PAGE = 1000, 7
ABSENT = "13"
THINGS: Mapping[str, object] = {
    "name": "thing_stats",
    "path": "/thing/{id}/stats",
    "each": {"list": "/things?sort=id", "items": "Items", "id": "Id", "name": "Name"}
    | {"page": "page", "size": "perPage", "more": "HasMoreItems"},
    "label": "thing",
    "interval": "10m",
    "metrics": [
        {"name": "edge_thing_bytes", "help": "Bytes.", "value": "Bytes"},
        {"name": "edge_thing_requests_total", "help": "Requests.", "month": "Requests"},
    ],
}
# Nothing but the endpoints is polled.
QUIET: Mapping[str, object] = {key: {"discover": False} for key in ("dns_zones", "scripts", "shield_zones")}
BUSY: Mapping[str, object] = {**QUIET, "budget": {"requests_per_second": 10000, "max_in_flight": 8}}
OFF = only("database")


def things(ids: range) -> Answer:
    """Return answers with things in pages of seven, with any requested page size; every other one has no name."""

    def answer(path: str, query: Query) -> tuple[int, bytes]:
        if path == "/things":
            page = int(query["page"][0])
            listed = ids[(page - 1) * PAGE : page * PAGE]
            more = page * PAGE < len(ids)
            items = [{"Id": one, "Name": f"thing {one}" if one % 2 else None} for one in listed]
            return good({"Items": items, "CurrentPage": page, "HasMoreItems": more})
        number = path.split("/")[2]
        if number == ABSENT:
            return 404, b'{"Message": "no such thing"}'
        return good({"Bytes": int(number) * 10, "Requests": 5})

    return answer


@asynccontextmanager
async def running(
    answer: Answer, endpoints: Sequence[Mapping[str, object]], account: Mapping[str, object] = BUSY, **settings: Any
) -> AsyncIterator[tuple[Platform, ExporterParts]]:
    """Run the endpoints against a platform."""
    async with platform(answer) as place:
        settings = {"collectors": OFF, **settings}
        async with exporter_parts(
            url=place.url, account=account, more={"endpoints": list(endpoints)}, **settings
        ) as world:
            yield place, world


async def test_a_thousand_things_in_pages_of_seven() -> None:
    async with running(things(range(1, ITEMS + 1)), [THINGS]) as (place, world):
        await world.settle()
        found = world.samples("edge_thing_bytes")
        assert found == {
            ("main", f"thing {one}" if one % 2 else "", str(one)): one * 10.0
            for one in range(1, ITEMS + 1)
            if str(one) != ABSENT
        }
        assert world.value("edge_thing_requests_total", thing_id="7") == 0
        assert world.value("edge_target_up", collector="thing_stats", target=f"thing/{ABSENT}") == 0
        assert world.value("edge_target_up", collector="thing_stats", target="thing/12") == 1
        assert world.value("edge_target_up", collector="thing_stats_list", target="account/main") == 1
        listed = sum(times for asked, times in place.asked.items() if asked.startswith("/things?"))
        assert listed == -(-ITEMS // PAGE), "each page once"
        assert place.asked["/thing/7/stats"] == 1


async def test_a_list_that_fails_on_a_page_removes_nothing_and_brings_what_it_has() -> None:
    of_things = things(range(1, 30))

    def answer(path: str, query: Query) -> tuple[int, bytes]:
        if path == "/things" and query["page"] == ["3"]:
            return 403, b"{}"
        return of_things(path, query)

    async with running(answer, [THINGS]) as (_, world):
        await world.settle()
        assert len(world.samples("edge_thing_bytes")) == 13
        assert world.value("edge_target_up", collector="thing_stats_list", target="account/main") == 0
        for _ in range(3):
            await world.turn(600)
        assert len(world.samples("edge_thing_bytes")) == 13


CHARGES: Mapping[str, object] = {
    "name": "charges",
    "path": "/billing?from={days_ago:30}&to={today}",
    "interval": "10m",
    "metrics": [{"name": "edge_charges", "help": "A number.", "value": "Charges"}],
}


async def test_the_days_of_a_path_are_those_of_the_platforms_clock() -> None:
    async with running(lambda *_: good({"Charges": 3.5}), [CHARGES]) as (place, world):
        await world.settle()
        # The machine's clock says noon of 8 February. A day of difference is believed.
        place.date = "Mon, 09 Feb 2026 05:00:00 GMT"
        await world.turn(900)
        await world.turn(900)
        assert sorted(set(place.asked)) == [
            "/billing?from=2026-01-09&to=2026-02-08",
            "/billing?from=2026-01-10&to=2026-02-09",
        ]


async def test_a_list_of_an_endpoint_does_not_keep_zones_from_being_polled_with_their_names() -> None:
    """The first discovery supplies names; polls do not wait for an endpoint's list, which may be long or fail."""
    of_things = things(range(1, 4))
    account = {**BUSY, "dns_zones": {"discover": True}}
    on = {**OFF, "dns_statistics": {"enabled": True}, "discovery": {"enabled": True}}

    def answer(path: str, query: Query) -> tuple[int, bytes]:
        if path == "/search":
            found = [{"Type": "dns", "Id": 5, "Name": "shop.example"}]
            return good({"Total": 1, "From": 0, "Size": 100, "SearchResults": found})
        if path.startswith("/dnszone/"):
            return good({"TotalQueriesServed": 4})
        return (500, b"{}") if path == "/things" else of_things(path, query)

    async with running(answer, [THINGS], account=account, collectors=on) as (_, world):
        for _ in range(5):
            await world.turn(60)
        assert world.samples("edge_dns_window_queries") == {("main", "shop.example", "5"): 4.0}


async def test_an_endpoint_has_the_settings_of_a_collector() -> None:
    own = {**OFF, "charges": {"enabled": False}, "thing_stats": {"interval": "1h", "stale_after": "5h"}}
    async with running(things(range(1, 4)), [THINGS, CHARGES], collectors=own) as (place, world):
        await world.turn(900)
        assert list(place.asked.values()) == [1] * 4, "the list and its three things, once"
        assert world.schedule.plans["thing_stats"].stale_after == 18_000
