"""The sandbox's OpenAPI description: answers conform to it, also those to random requests."""

import json
import re
from typing import Any

import httpx
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.keys import API_KEY, DATABASE_TOKEN_FULL, POWERLESS_KEY
from exporter.sandbox.openapi import describe
from exporter.sandbox.operation import Operation
from exporter.sandbox.operations import OPERATIONS
from exporter.sandbox.world import World
from tests.sandbox.test_answers import GROUPS, ask

NOON = 1_770_379_200.0


def transport() -> httpx.ASGITransport:
    """Return a transport to a new small world."""
    return httpx.ASGITransport(create_app(World(clock=WorldClock(NOON, speed=0.0))), raise_app_exceptions=False)


def closed(schema: Any) -> Any:
    """Return a schema in which objects allow only the described properties."""
    match schema:
        case dict():
            inner = {name: closed(part) for name, part in schema.items()}
            return {"additionalProperties": False, **inner} if "properties" in schema else inner
        case _:
            return schema


DESCRIPTION = closed(describe(OPERATIONS))


def check(answer: httpx.Response, path: str) -> None:
    """Check that an answer has a status, a media type and a body that the description has for its operation."""
    responses = DESCRIPTION["paths"][path][answer.request.method.lower()]["responses"]
    assert str(answer.status_code) in responses, f"{answer.request.url}: {answer.status_code} is not described"
    content = responses[str(answer.status_code)].get("content")
    if content is None:
        assert answer.content == b""
        return
    ((media_type, body),) = content.items()
    assert answer.headers["content-type"].partition(";")[0] == media_type
    value = answer.text if media_type == "text/plain" else answer.json()
    schema = {**body["schema"], "components": DESCRIPTION["components"]}
    jsonschema.Draft202012Validator(schema).validate(value)


async def test_the_description_is_served(client: httpx.AsyncClient) -> None:
    assert (await client.get("/openapi.json")).json() == describe(OPERATIONS)


async def test_every_answer_of_the_golden_is_as_described() -> None:
    checked = set()
    async with httpx.AsyncClient(transport=transport(), base_url="http://sandbox") as client:
        client.headers.clear()
        for request in (line for name, lines in GROUPS.items() if "/" in name for line in lines):
            answer = await ask(client, request)
            for path, methods in DESCRIPTION["paths"].items():
                is_asked = re.fullmatch(re.sub("{.*?}", "[^/]+", path), answer.request.url.path) is not None
                if is_asked and answer.request.method.lower() in methods:
                    check(answer, path)
                    checked.add(path)
    assert checked == DESCRIPTION["paths"].keys() - {"/v2/pipeline"}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
IDS = st.sampled_from(["1", "3", "7", "11", "21", "101", "111"])
SEGMENTS = IDS | st.integers().map(str) | st.text(min_size=1, max_size=10).filter(lambda segment: "/" not in segment)
FIELDS = ("Name", "Secret", "ScriptType", "action", "isEnabled", "registryId", "imageName", "imageNamespace")
KNOWN = st.sampled_from(["x", "dockerhub", "library", "nginx", True, 0, 1, 2])
BODIES = st.dictionaries(st.sampled_from(FIELDS), KNOWN | SCALARS, max_size=6) | JSON
CONTENT_TYPES = st.sampled_from(["application/json", "text/json", "application/merge-patch+json", "text/plain", ""])
KEYS = st.sampled_from([API_KEY] * 6 + [POWERLESS_KEY, "wrong", ""])
DATES = st.sampled_from(["2026-02-01", "2026-02-06T00:00:00Z", "0001-01-01", "9999-12-31T23:59:59Z", ""])
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "dateFrom": DATES | st.text(max_size=12),
        "dateTo": DATES | st.text(max_size=12),
        "page": st.integers(-1, 5).map(str) | st.text(max_size=5),
        "perPage": st.integers(-1, 1_001).map(str) | st.integers().map(str),
        "search": st.text(max_size=10),
        "from": st.integers().map(str),
        "size": st.integers(-1, 50).map(str) | st.integers().map(str),
    },
)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@given(data=st.data())
async def test_an_operation_answers_any_request_as_described(operation: Operation, data: st.DataObject) -> None:
    path = operation.path
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", quote(data.draw(SEGMENTS, name)))
    headers = {"AccessKey": data.draw(KEYS, "key")}
    content = None
    if operation.body_field is not None:
        headers["Content-Type"] = data.draw(CONTENT_TYPES, "content type")
        content = json.dumps(data.draw(BODIES, "body")) if data.draw(st.integers(0, 9)) else data.draw(st.binary())
    query = data.draw(QUERIES, "query")
    async with httpx.AsyncClient(transport=transport(), base_url="http://sandbox") as client:
        answer = await client.request(operation.method, path, params=query, content=content, headers=headers)
    failed_by_design = operation.name == "script_list" and query.get("page", "1").lstrip("-0") in ("", "1")
    assert answer.status_code != 500 or failed_by_design
    check(answer, operation.path)


def quote(segment: str) -> str:
    """Quote every byte of a path segment."""
    return "".join(f"%{byte:02X}" for byte in segment.encode("utf-8", "replace"))


KINDS = ("execute", "batch", "sequence", "describe", "store_sql", "close_sql", "close", "x")
SQL = st.text(max_size=20)
STREAM_REQUESTS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "sql": SQL | st.sampled_from(["SELECT 1", "SELECT ?", "DELETE FROM orders", "BEGIN"]),
        "sql_id": st.integers(0, 2),
        "stmt": st.fixed_dictionaries({"sql": SQL}, optional={"args": JSON}),
        "batch": st.fixed_dictionaries({"steps": JSON}),
    },
)


@given(requests=st.lists(STREAM_REQUESTS | JSON, max_size=5))
async def test_the_pipeline_answers_any_request_as_described(requests: list[Any]) -> None:
    world = World(clock=WorldClock(NOON, speed=0.0))
    asgi = httpx.ASGITransport(create_app(world), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=asgi, base_url="http://sandbox") as client:
        headers = {"Authorization": f"Bearer {DATABASE_TOKEN_FULL}"}
        content = json.dumps({"requests": requests})
        check(await client.post("/v2/pipeline", content=content, headers=headers), "/v2/pipeline")
    world.close()
