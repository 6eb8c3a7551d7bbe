import httpx
import pytest

from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import API_KEY
from exporter.sandbox.world import World


async def test_a_term_finds_names_of_every_type_in_any_case(client: httpx.AsyncClient) -> None:
    page = (await client.get("/search", params={"search": "PROD-shop"})).json()
    assert page == {
        "Query": "PROD-shop",
        "Total": 3,
        "From": 0,
        "Size": 20,
        "SearchResults": [
            {"Type": "dns", "Id": 101, "Name": "prod-shop.example"},
            {"Type": "cdn", "Id": 201, "Name": "prod-shop-web"},
            {"Type": "storage", "Id": 501, "Name": "prod-shop-assets"},
        ],
    }


async def test_every_search_term_of_the_world_has_results(client: httpx.AsyncClient, world: World) -> None:
    for term in world.search_terms():
        assert (await client.get("/search", params={"search": term})).json()["Total"] > 0


async def test_an_empty_term_finds_all(client: httpx.AsyncClient) -> None:
    page = (await client.get("/search", params={"size": 1000})).json()
    types = [found["Type"] for found in page["SearchResults"]]
    assert page["Total"] == len(types) == 23
    assert {kind: types.count(kind) for kind in types} == {
        "dns": 12,
        "script": 4,
        "cdn": 3,
        "storage": 2,
        "stream": 1,
        "container": 1,
    }


async def test_pages_have_twenty_results_by_default_and_follow_each_other(client: httpx.AsyncClient) -> None:
    whole = (await client.get("/search", params={"size": 100})).json()["SearchResults"]
    first = (await client.get("/search")).json()
    second = (await client.get("/search", params={"from": 20})).json()
    assert (first["Size"], len(first["SearchResults"])) == (20, 20)
    assert first["SearchResults"] + second["SearchResults"] == whole


async def test_a_change_of_the_account_is_found_at_once(client: httpx.AsyncClient, world: World) -> None:
    assert (await client.get("/search", params={"search": "fresh"})).json()["Total"] == 0
    zone = world.dns.add_zone("fresh.example")
    assert (await client.get("/search", params={"search": "fresh"})).json()["SearchResults"] == [
        {"Type": "dns", "Id": zone, "Name": "fresh.example"},
    ]
    world.dns.rename_zone(zone, "stale.example")
    assert (await client.get("/search", params={"search": "fresh"})).json()["Total"] == 0


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


@pytest.mark.parametrize("query", [{"from": "-1"}, {"size": "-1"}, {"from": "x"}, {"size": "9223372036854775808"}])
async def test_a_page_that_cannot_be_is_a_bad_request(client: httpx.AsyncClient, query: dict[str, str]) -> None:
    assert (await client.get("/search", params=query)).status_code == 400


async def test_a_wrong_key_is_unauthorised_with_an_empty_body(client: httpx.AsyncClient) -> None:
    answer = await client.get("/search", headers={"AccessKey": "wrong"})
    assert (answer.status_code, answer.content) == (401, b"")
