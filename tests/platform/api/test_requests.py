"""The request of each operation, byte by byte."""

import json
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from exporter.collectors.endpoints.path import parse_path
from exporter.platform.api import containers, database, dns, search, shield
from exporter.platform.api.catalogue import OPERATIONS
from exporter.platform.api.document import Document
from exporter.platform.errors import CredentialError, PlatformError
from exporter.platform.operation import Operation, Request
from tests.platform.clients import NOW, client_of
from tests.platform.raw_server import Line, RawRequest, raw_server, reply, saying

PLANS = reply('{"data": [], "error": null}')
GOLDEN = Path(__file__).parent / "requests.http"
_, *_PARTS = re.split(rb"^### (.+)\n", GOLDEN.read_bytes(), flags=re.MULTILINE)
REQUESTS: dict[str, bytes] = {
    case.decode(): raw.removesuffix(b"\n") for case, raw in zip(_PARTS[::2], _PARTS[1::2], strict=True)
}


def request_of(case: Mapping[str, Any]) -> Request[Any]:
    """Return the request of an operation, or of the path of a configured endpoint."""
    if "operation" in case:
        operation = next(one for one in OPERATIONS if one.name == case["operation"])
        return Request(operation, case.get("path"), case.get("query"), case.get("body"))
    path = parse_path(case["get"])
    endpoint = Operation("endpoint", "GET", path.template, "", TypeAdapter(Document), documented=False)
    return Request(endpoint, path.parameters(case.get("id", ""), NOW))


async def sent_by(case: Mapping[str, Any]) -> bytes:
    """Return the bytes of a request on a socket to which any host name leads; empty if nothing is sent."""
    base_url = case.get("base", "http://platform.example")
    async with raw_server(saying(reply("{}"))) as server:

        def lead_here(*_: object, **__: object) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]

        proxy = server.url if case.get("proxy") else None
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", lead_here)
            async with client_of(base_url, scheme=case.get("scheme", "access_key"), proxy=proxy) as kit:
                with suppress(PlatformError):
                    await kit.calls.call(request_of(case))
    return b"".join(sent.raw for sent in server.requests)


def test_every_operation_has_its_literal_request() -> None:
    called = [json.loads(case).get("operation") for case in REQUESTS]
    assert [operation.name for operation in OPERATIONS if operation.name not in called] == []


@pytest.mark.parametrize("case", REQUESTS)
async def test_a_request_is_sent_byte_by_byte_as_recorded(case: str) -> None:
    assert await sent_by(json.loads(case)) == REQUESTS[case]


async def test_a_path_without_its_parameter_is_not_sent() -> None:
    async with raw_server(saying(reply("{}"))) as server, client_of(server.url) as kit:
        with pytest.raises(KeyError, match="zoneId"):
            await kit.calls.call(Request(dns.RECORD_SCAN))
    assert server.requests == []


async def test_statistics_take_their_window_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    async with raw_server(saying(reply('{"TotalQueriesServed": 1}'))) as server, client_of(server.url) as kit:
        await dns.statistics(kit.calls, 102)
        await dns.statistics(
            kit.calls, 102, datetime(2026, 1, 8, 1, tzinfo=east), datetime(2026, 2, 8, 12, 30, 5, 999, tzinfo=UTC)
        )
    assert [sent.target for sent in server.requests] == [
        "/dnszone/102/statistics",
        "/dnszone/102/statistics?dateFrom=2026-01-07T23:00:00Z&dateTo=2026-02-08T12:30:05Z",
    ]


async def test_the_endpoint_functions_send_what_their_arguments_say() -> None:
    refused = '{"type": "error", "error": {"message": "no"}}'
    answers = {
        "/mc/registries/tags": reply('[{"name": "1.27"}]'),
        "/search?search=prod&from=0&size=1": reply('{"Total": 3}'),
        "/v2/pipeline": reply(f'{{"results": [{refused}, {refused}]}}'),
    }

    async def answer(request: RawRequest, line: Line) -> None:
        await line.send(answers[request.target])

    async with raw_server(answer) as server, client_of(server.url) as kit:
        caller = kit.calls
        await containers.tags(caller, "dockerhub", "library", "nginx")
        await search.count(caller, "prod")
        await database.execute(caller, ["SELECT 1", "SELECT 'é'"])
    assert [(sent.method, sent.target, sent.body) for sent in server.requests] == [
        (
            "POST",
            "/mc/registries/tags",
            b'{"registryId":"dockerhub","imageName":"nginx","imageNamespace":"library"}',
        ),
        ("GET", "/search?search=prod&from=0&size=1", b""),
        (
            "POST",
            "/v2/pipeline",
            (
                b'{"baton":null,"requests":[{"type":"execute","stmt":{"sql":"SELECT 1"}},'
                b'{"type":"execute","stmt":{"sql":"SELECT \'\\u00e9\'"}},{"type":"close"}]}'
            ),
        ),
    ]


async def test_a_rotated_key_is_used_from_the_next_call_on() -> None:
    keys = ["first", "second"]
    async with raw_server(saying(PLANS)) as server, client_of(server.url, read=lambda: keys[0]) as kit:
        await kit.calls.call(Request(shield.PLAN_SEGMENTATION))
        keys.pop(0)
        await kit.calls.call(Request(shield.PLAN_SEGMENTATION))
    assert [sent.header("AccessKey") for sent in server.requests] == ["first", "second"]


@pytest.mark.parametrize("key", ["", "two\r\nlines", "caf\u00e9", "nul\0", "tab\t"])
async def test_a_key_that_cannot_stand_in_a_header_is_not_sent(key: str) -> None:
    async with raw_server(saying(reply("{}"))) as server, client_of(server.url, read=lambda: key) as kit:
        with pytest.raises(CredentialError) as caught:
            await kit.calls.call(Request(shield.PLAN_SEGMENTATION))
    assert (server.requests, str(caught.value)) == (
        [],
        "the key is empty, or holds characters that are not allowed in a header",
    )


async def test_calls_one_after_another_share_a_connection() -> None:
    async with raw_server(saying(reply('{"Total": 3}'))) as server, client_of(server.url) as kit:
        for _ in range(5):
            await search.count(kit.calls, "prod")
    assert (len(server.requests), server.connections) == (5, 1)
