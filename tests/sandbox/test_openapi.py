"""The sandbox's OpenAPI description, and its answers to random requests."""

import json
import re

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.sandbox.keys import API_KEY, POWERLESS_KEY
from exporter.sandbox.management_api import OPERATIONS
from exporter.sandbox.route import Operation
from exporter.sandbox.sandbox_app import create_app
from exporter.sandbox.world import World
from exporter.sandbox.world_clock import WorldClock

NOON = 1_770_379_200.0


def transport() -> httpx.ASGITransport:
    """Return a transport to a new small world."""
    return httpx.ASGITransport(create_app(World(clock=WorldClock(NOON, speed=0.0))), raise_app_exceptions=False)


def check(answer: httpx.Response) -> None:
    """Check that an answer is no failure of the sandbox, and that its body is what its media type says."""
    assert answer.status_code < 500
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    if media_type in ("application/json", "application/problem+json"):
        answer.json()
    else:
        assert media_type == "text/plain" or answer.content == b""


async def test_the_description_has_every_documented_operation(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    paths = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert paths == {(one.method, one.path) for one in OPERATIONS} | {("POST", "/v2/pipeline")}
    statistics = described["paths"]["/dnszone/{id}/statistics"]["get"]
    assert [one["name"] for one in statistics["parameters"]] == ["id", "dateFrom", "dateTo"]
    secret = described["components"]["schemas"]["Body_script_add_secret"]
    assert (secret["required"], secret["properties"]["Secret"]["maxLength"]) == (["Name", "Secret"], 4_096)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
SEGMENTS = st.sampled_from(["1", "3", "7", "11", "21", "101", "111"]) | st.integers().map(str) | st.text(min_size=1)
FIELDS = ("Name", "Secret", "ScriptType", "action", "isEnabled", "registryId", "imageName", "imageNamespace")
KNOWN = st.sampled_from(["x", "dockerhub", "library", "nginx", True, 0, 1, 2])
BODIES = st.dictionaries(st.sampled_from(FIELDS), KNOWN | SCALARS, max_size=6) | JSON
CONTENT_TYPES = st.sampled_from(["application/json", "text/json", "application/merge-patch+json", "text/plain", ""])
KEYS = st.sampled_from([API_KEY] * 6 + [POWERLESS_KEY, "wrong", ""])
DATES = st.sampled_from(["2026-02-01", "2026-02-06T00:00:00Z", "0001-01-01", "9999-12-31T23:59:59Z", ""])
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("dateFrom", "dateTo"), DATES | st.text(max_size=12)),
        **dict.fromkeys(("page", "perPage", "from", "size"), st.integers().map(str) | st.text(max_size=5)),
        "search": st.text(max_size=10),
    },
)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@given(data=st.data())
async def test_an_operation_answers_any_request(operation: Operation, data: st.DataObject) -> None:
    path = operation.path
    for name in re.findall(r"{(\w+)}", path):
        path = path.replace(f"{{{name}}}", quote(data.draw(SEGMENTS, name).replace("/", "-")))
    headers = {"AccessKey": data.draw(KEYS, "key")}
    content = None
    if operation.body_field is not None:
        headers["Content-Type"] = data.draw(CONTENT_TYPES, "content type")
        content = json.dumps(data.draw(BODIES, "body")) if data.draw(st.integers(0, 9)) else data.draw(st.binary())
    query = data.draw(QUERIES, "query")
    async with httpx.AsyncClient(transport=transport(), base_url="http://sandbox") as client:
        answer = await client.request(operation.method, path, params=query, content=content, headers=headers)
    if operation.name == "script_list" and answer.status_code == 500:
        assert int(query["page"]) < 1  # to which the platform answers so
    else:
        check(answer)


def quote(segment: str) -> str:
    """Quote every byte of a path segment."""
    return "".join(f"%{byte:02X}" for byte in segment.encode("utf-8", "replace"))
