from itertools import pairwise

import httpx
import pytest

from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import DEFAULT_VALUE_PREFIX, DEPLOYMENT_KEY_PREFIX
from exporter.sandbox.world import World


async def test_a_script_has_its_values(client: httpx.AsyncClient, world: World) -> None:
    script = (await client.get("/compute/script/7")).json()
    month = world.scripts.true_month(7)
    assert (script["Id"], script["Name"], script["Deleted"]) == (7, "router", False)
    assert (script["MonthlyCost"], script["MonthlyRequestCount"], script["MonthlyCpuTime"]) == (
        month.cost,
        month.requests,
        month.cpu_ms,
    )
    assert script["DeploymentKey"].startswith(DEPLOYMENT_KEY_PREFIX)
    assert all(one["DefaultValue"].startswith(DEFAULT_VALUE_PREFIX) for one in script["EdgeScriptVariables"])
    assert {one["Required"] for one in script["EdgeScriptVariables"]} == {True, False}
    assert script["Integration"]["DeployConfiguration"]["Branch"] == "main"


async def test_what_is_nullable_is_null_somewhere_and_one_script_is_deleted(client: httpx.AsyncClient) -> None:
    bare = (await client.get("/compute/script/9")).json()
    nullable = ("EdgeScriptVariables", "LinkedPullZones", "Integration", "RepositoryId", "IntegrationId")
    assert [bare[field] for field in nullable] == [None] * 5
    assert (await client.get("/compute/script/10")).json()["Deleted"] is True


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


async def test_the_list_is_paged(client: httpx.AsyncClient, world: World) -> None:
    whole = (await client.get("/compute/script", params={"page": 1, "perPage": 1000})).json()
    assert ([one["Id"] for one in whole["Items"]], whole["TotalItems"], whole["HasMoreItems"]) == (
        [7, 8, 9, 10],
        4,
        False,
    )
    added = [world.scripts.add_script(name) for name in ("a", "b", "c")]
    # A page of under five silently becomes one of five.
    pages = [(await client.get("/compute/script", params={"page": page, "perPage": 3})).json() for page in (1, 2, 3)]
    assert [[one["Id"] for one in page["Items"]] for page in pages] == [[7, 8, 9, 10, added[0]], added[1:], []]
    assert [page["HasMoreItems"] for page in pages] == [True, False, False]


async def test_page_zero_is_an_internal_error(client: httpx.AsyncClient) -> None:
    answer = await client.get("/compute/script", params={"page": 0})
    assert (answer.status_code, answer.content) == (500, b"")


async def test_an_update_renames_and_an_empty_one_changes_nothing(client: httpx.AsyncClient, clock: WorldClock) -> None:
    before = (await client.get("/compute/script/8")).json()
    clock.advance(60)
    unchanged = await client.post("/compute/script/8", json={})
    assert unchanged.json()["LastModified"] == before["LastModified"]
    renamed = (await client.post("/compute/script/8", json={"Name": "resizer", "ScriptType": 0})).json()
    assert (renamed["Name"], renamed["ScriptType"], renamed["LastModified"]) == ("resizer", 0, "2026-02-06T12:01:00")
    assert (await client.get("/compute/script/8")).json() == renamed


@pytest.mark.parametrize(
    "body", [{"Name": 7}, {"Name": ""}, {"Name": "x" * 257}, {"ScriptType": 3}, {"ScriptType": True}]
)
async def test_an_invalid_update_is_refused(client: httpx.AsyncClient, body: dict[str, object]) -> None:
    answer = await client.post("/compute/script/7", json=body)
    assert answer.status_code == 400
    assert (set(answer.json()), answer.json()["Field"]) == ({"ErrorKey", "Field", "Message"}, next(iter(body)))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"Secret": "s"}, "Name"),
        ({"Name": "", "Secret": "s"}, "Name"),
        ({"Name": "x" * 257, "Secret": "s"}, "Name"),
        ({"Name": "ok"}, "Secret"),
        ({"Name": "ok", "Secret": 1}, "Secret"),
        ({"Name": "ok", "Secret": "x" * 4097}, "Secret"),
    ],
)
async def test_an_invalid_secret_is_refused(
    client: httpx.AsyncClient,
    body: dict[str, object],
    field: str,
) -> None:
    answer = await client.post("/compute/script/7/secrets", json=body)
    assert answer.status_code == 400
    assert (set(answer.json()), answer.json()["Field"]) == ({"ErrorKey", "Field", "Message"}, field)


async def test_a_secret_is_written_and_never_read(client: httpx.AsyncClient) -> None:
    sent = {"Name": "API_TOKEN", "Secret": "hush-hush"}
    answers = [await client.post("/compute/script/7/secrets", json=sent)]
    assert answers[0].json() == {"Id": 1, "Name": "API_TOKEN", "LastModified": "2026-02-06T12:00:00.0000000Z"}
    answers.append(await client.post("/compute/script/7/secrets", json=sent))
    assert (answers[1].status_code, answers[1].json()["Field"]) == (400, "Name")
    answers += [await client.get("/compute/script/7"), await client.get("/sandbox/world")]
    assert not any("hush-hush" in answer.text for answer in answers)


@pytest.mark.parametrize("path", ["/compute/script/99", "/compute/script/abc", "/compute/script/9223372036854775808"])
async def test_a_script_that_is_not_there_is_not_found(client: httpx.AsyncClient, path: str) -> None:
    answers = [
        await client.get(path),
        await client.post(path, json={}),
        await client.post(f"{path}/secrets", json={"Name": "a", "Secret": "b"}),
    ]
    assert [(answer.status_code, answer.json()["ErrorKey"]) for answer in answers] == [(404, "script.not_found")] * 3


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("text/json", 200),
        ("application/vnd.api+json", 200),
        ("text/plain", 415),
        ("application/xml", 415),
        ("", 415),
    ],
)
async def test_content_types_are_those_of_the_interface(
    client: httpx.AsyncClient,
    content_type: str,
    status: int,
) -> None:
    answer = await client.post("/compute/script/7", content=b"{}", headers={"Content-Type": content_type})
    assert answer.status_code == status


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"Name": NaN}', b"[" * 100_000])
async def test_a_body_that_is_no_object_is_a_bad_request(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/compute/script/7", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


async def test_a_body_that_is_too_large_is_refused(client: httpx.AsyncClient) -> None:
    answer = await client.post("/compute/script/7", json={"Name": "x" * 1_100_000})
    assert answer.status_code == 413


async def test_a_wrong_key_is_unauthorised_with_an_empty_body(client: httpx.AsyncClient) -> None:
    answer = await client.get("/compute/script/7", headers={"AccessKey": "wrong"})
    assert (answer.status_code, answer.content) == (401, b"")
