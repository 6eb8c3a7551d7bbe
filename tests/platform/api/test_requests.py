"""The request of each operation, byte by byte; to try another request, write its line `### {…}` in `requests.http`."""

import json
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from exporter.collectors.endpoints.path import parse_path
from exporter.platform.api import dns
from exporter.platform.api.document import Document
from exporter.platform.api.operations import OPERATIONS
from exporter.platform.errors import PlatformError
from exporter.platform.operation import Operation, Request
from tests.golden import assert_golden
from tests.platform.clients import NOW, answered, client_of, good
from tests.platform.raw_server import raw_server, reply, saying

GOLDEN = Path(__file__).parent / "requests.http"
_CASES = re.findall(r"^### (.+)\n", GOLDEN.read_text(encoding="utf-8"), re.MULTILINE)
# An operation without a line is requested with ids alone.
_MISSING = [
    json.dumps({"operation": one.name, "path": {part.name: 7 for part in one.parameters if part.place == "path"}})
    for one in OPERATIONS
    if not any(json.loads(case).get("operation") == one.name for case in _CASES)
]


def request_of(case: Mapping[str, Any]) -> Request[Any]:
    """Return the request of an operation, or of the path of a configured endpoint."""
    if "operation" in case:
        operation = next(one for one in OPERATIONS if one.name == case["operation"])
        return Request(operation, case.get("path"), case.get("query"), case.get("body"))
    path = parse_path(case["get"])
    endpoint = Operation("endpoint", path.template, "", TypeAdapter(Document), documented=False)
    return Request(endpoint, path.parameters(case.get("id", ""), NOW))


async def sent_by(case: Mapping[str, Any]) -> bytes:
    """Return the bytes of a request on a socket to which any host name leads; empty if nothing is sent."""
    base_url = case.get("base", "http://platform.example")
    async with raw_server(saying(reply("{}"))) as server:

        def lead_here(*_: object, **__: object) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", lead_here)
            if case.get("proxy"):
                patched.setenv("HTTP_PROXY", server.url)
            async with client_of(base_url, scheme=case.get("scheme", "access_key")) as kit:
                with suppress(PlatformError):
                    await kit.calls.call(request_of(case))
    return b"".join(sent.raw for sent in server.requests)


async def test_each_operation_is_requested_byte_by_byte_as_recorded() -> None:
    sent = [f"### {case}\n{(await sent_by(json.loads(case))).decode()}\n" for case in (*_CASES, *_MISSING)]
    assert_golden("".join(sent), GOLDEN)


async def test_a_rotated_key_is_used_from_the_next_call_on_and_one_that_is_no_header_is_not_sent() -> None:
    keys = ["first", "second", "", "two\r\nlines", "caf\u00e9", "nul\0", "tab\t"]
    said: list[str] = []
    async with answered(good("{}"), read=lambda: keys.pop(0)) as (kit, platform):
        for _ in range(len(keys)):
            with pytest.raises(PlatformError) as caught:
                await kit.calls.call(Request(dns.STATISTICS, {"id": 7}))
            said.append(str(caught.value))
    assert [one.headers["AccessKey"] for one in platform.sent] == ["first", "second"]
    assert said[2:] == ["the key or token is empty, or contains characters that are not allowed in a header"] * 5
