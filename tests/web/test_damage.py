"""Any request to the exporter's server is answered or refused, and never ends in an internal error."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.types import ASGIApp, Message

from tests.web.view_setup import SCANS, view_setup, zone

METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "get", "X"])
PATHS = st.sampled_from(
    ["/", "/metrics", "/-/healthy", "/-/ready", "/-/reload", "/api/v1/targets", "/api/v1/status",
     "/explain", "/api/v1/explain", "/runbooks/", "/sd/dns_zone"]
) | st.tuples(st.sampled_from(["/", "/static/", "/runbooks/"]), st.text(max_size=12)).map("".join)  # fmt: skip
NAMES = st.sampled_from(
    ["name[]", "collect[]", "target", "search", "q", "collector", "account", "state", "offset", "family", "shard"]
) | st.text(max_size=4)  # fmt: skip
VALUES = st.sampled_from(
    ["edge_target_up", "dns_zone/102", "dns_statistics", "failing", "0", "-1", "1e9", "99999999999999999999"]
) | st.text(max_size=12)  # fmt: skip
QUERIES = st.lists(st.tuples(NAMES, VALUES), max_size=6).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs).encode("utf-8", "surrogatepass")
) | st.binary(max_size=40)  # fmt: skip
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            [b"accept", b"accept-encoding", b"if-none-match", b"host", b"origin", b"content-length", b"range"]
        ),
        st.sampled_from([b"gzip", b"gzip;q=0", b"*/*", b"application/openmetrics-text;version=1.0.0", b"*;q=x"])
        | st.binary(max_size=30),
    ),
    max_size=4,
)


async def ask(app: ASGIApp, method: str, path: str, query: bytes, headers: list[tuple[bytes, bytes]]) -> list[Message]:
    """Send these bytes as a request, and return the answer."""
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode("utf-8", "surrogatepass"), "root_path": "", "query_string": query,
        "headers": headers, "client": ("127.0.0.1", 9), "server": ("127.0.0.1", 9877), "state": {},
    }  # fmt: skip
    answered: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        answered.append(message)

    await app(scope, receive, send)
    return answered


@pytest.fixture
def served() -> Iterator[tuple[asyncio.Runner, ASGIApp]]:
    """The application with some targets, and its event loop."""

    async def set_up() -> ASGIApp:
        setup = await opened.__aenter__()
        setup.succeed(zone(101, "shop.example"), chart=[1, 2.5])
        setup.fail(zone(102), SCANS)
        return setup.app()

    opened = view_setup()
    with asyncio.Runner() as runner:
        yield runner, runner.run(set_up())
        runner.run(opened.__aexit__(None, None, None))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(method=METHODS, path=PATHS, query=QUERIES, headers=HEADERS)
def test_any_request_is_answered(
    served: tuple[asyncio.Runner, ASGIApp], method: str, path: str, query: bytes, headers: list[tuple[bytes, bytes]]
) -> None:
    runner, app = served
    first, *bodies = runner.run(ask(app, method, path, query, headers))
    body = b"".join(one.get("body", b"") for one in bodies)
    assert first["type"] == "http.response.start"
    # Endpoints whose answer depends on the state of the exporter may be unavailable.
    assert first["status"] < 500 or (first["status"] == 503 and path.startswith(("/-/", "/sd/")))
    assert b"Traceback" not in body
    assert not bodies[-1].get("more_body", False)
    lengths = [int(value) for name, value in first["headers"] if name == b"content-length"]
    assert method == "HEAD" or lengths in ([], [len(body)])
