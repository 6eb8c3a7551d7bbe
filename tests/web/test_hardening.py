"""The endpoints on a real server: the answers to malformed and hostile requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import pytest

from exporter.web.app import create_app
from exporter.web.server import WebServer
from tests.waiting import PATIENCE
from tests.web.view_setup import SCANS, ViewSetup, view_setup, zone

HOST = b"Host: localhost\r\n"
INVALID = b"HTTP/1.1 400 "


@asynccontextmanager
async def serving(setup: ViewSetup, prefix: str = "/") -> AsyncIterator[WebServer]:
    """Run a server of the endpoints, without access control."""
    server = WebServer("127.0.0.1", 0, None)
    server.bind()
    await server.start(create_app(setup.view(), setup.renderer, setup.reload, route_prefix=prefix), prefix)
    try:
        yield server
    finally:
        await server.stop()


async def exchange(server: WebServer, sent: bytes, *, until_closed: bool = False) -> bytes:
    """Send these bytes, and return the answer: to the end of its headers, or until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        async with asyncio.timeout(PATIENCE):
            writer.write(sent)
            return await (reader.read() if until_closed else reader.readuntil(b"\r\n\r\n"))
    finally:
        writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET /-/healthy\r\n\r\n",
        b"GET /-/healthy HTTP/1.1\r\n\r\n",
        b"GET /-/healthy HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET /\0 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X-Odd: a\0b\r\n\r\n",
        b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X Odd: a\r\n\r\n",
        b"POST /-/reload HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
        b"POST /-/reload HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /-/reload HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /" + b"a" * 70_000,
        b"GET / HTTP/1.1\r\n" + HOST + b"X-Long: " + b"a" * 70_000,
    ],
    ids=[
        "garbage",
        "tls",
        "http-0.9",
        "no-host",
        "two-hosts",
        "nul-in-path",
        "byte-in-path",
        "nul-in-header",
        "space-in-header",
        "negative-length",
        "two-lengths",
        "smuggled",
        "long-line",
        "long-header",
    ],
)
async def test_what_is_no_request_is_refused_and_the_connection_closed(sent: bytes) -> None:
    async with view_setup() as setup, serving(setup) as server:
        answer = await exchange(server, sent, until_closed=True)
    assert answer.startswith(INVALID)
    assert b"connection: close" in answer.lower()
    assert b"uvicorn" not in answer.lower()
    assert setup.reloads == 0


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET //metrics", 404),
        (b"GET /metrics/", 404),
        (b"GET /../metrics", 404),
        (b"GET /%2e%2e/metrics", 404),
        (b"GET /static/../../app.py", 404),
        (b"GET /static/%2e%2e%2f%2e%2e%2fapp.py", 404),
        (b"GET /metrics%00", 404),
        (b"GET /%ff%fe", 404),
        (b"GET http://evil.example/-/healthy", 200),
        (b"GET http://user@evil.example/-/healthy", 400),
        (b"GET /metrics;a=b", 404),
        (b"OPTIONS *", 400),
        (b"CONNECT evil.example:443", 400),
        (b"GET /?search=%ff%00%f0", 200),
        (b"GET /-/healthy?" + b"a=b&" * 4000, 200),
        # A head has 16 KiB at most.
        (b"GET /-/healthy?" + b"a=b&" * 5000, 400),
        (b"BREW /metrics", 400),
        (b"TRACE /", 405),
        (b"G@T /", 400),
    ],
)
async def test_the_answers_to_malformed_requests_reveal_nothing(line: bytes, status: int) -> None:
    async with view_setup() as setup, serving(setup) as server:
        answer = await exchange(server, line + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"evil.example" not in answer
    assert b"\r\nserver:" not in answer.lower()


@pytest.mark.parametrize("host", [b"", b"a" * 5000, b"[::1", b"evil.example:99999", b"a b", b"\xc3\xa9"])
async def test_no_host_matters(host: bytes) -> None:
    async with view_setup() as setup, serving(setup, "/edge") as server:
        answer = await exchange(server, b"GET /edge HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 307 ", INVALID))
    assert b"location: edge/\r\n" in answer or answer.startswith(INVALID)


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 10000000000\r\n\r\n" + b"x" * 100_000,
        b"Transfer-Encoding: chunked\r\n\r\nffffff\r\n" + b"x" * 100_000,
        b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n",
    ],
    ids=["long", "endless", "expected"],
)
async def test_a_reload_does_not_wait_for_a_body(body: bytes) -> None:
    async with view_setup() as setup, serving(setup) as server:
        answer = await exchange(server, b"POST /-/reload HTTP/1.1\r\n" + HOST + body)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"connection: close\r\n" in answer.lower()
    assert answer.count(b"HTTP/1.1") == setup.reloads == 1


async def test_a_reload_from_another_site_s_page_is_refused() -> None:
    async with (
        view_setup() as setup,
        serving(setup) as server,
        httpx.AsyncClient(base_url=server.url, trust_env=False) as client,
    ):
        refused = await client.post("/-/reload", headers={"Origin": "http://evil.example"})
        taken = await client.post("/-/reload", headers={"Origin": server.url})
    assert (refused.status_code, taken.status_code, setup.reloads) == (403, 200, 1)


async def test_a_connection_serves_one_request_after_another() -> None:
    async with view_setup() as setup, serving(setup) as server:
        request = b"GET /-/healthy HTTP/1.1\r\n" + HOST
        answer = await exchange(
            server, (request + b"\r\n") * 2 + request + b"Connection: close\r\n\r\n", until_closed=True
        )
    assert answer.count(b"HTTP/1.1 200 OK") == answer.count(b"healthy\n") == 3


@pytest.mark.parametrize("path", [b"/metrics", b"/-/healthy"])
async def test_a_head_request_is_answered_over_a_socket(path: bytes) -> None:
    async with view_setup() as setup, serving(setup) as server:
        answer = await exchange(server, b"HEAD " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_requests_without_end_are_not_kept_until_they_are_answered() -> None:
    async with view_setup() as setup, serving(setup) as server:
        answer = await exchange(server, (b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"\r\n") * 1000, until_closed=True)
    assert answer.count(b"HTTP/1.1") == 1


async def test_a_chunk_whose_head_does_not_end_closes_the_connection() -> None:
    chunked = HOST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a" * 70_000
    async with view_setup() as setup, serving(setup) as server:
        answer = await exchange(server, b"GET /-/healthy HTTP/1.1\r\n" + chunked, until_closed=True)
    assert answer.count(b"HTTP/1.1") == 1


async def test_an_upgrade_is_answered_as_if_it_had_not_been_asked_for() -> None:
    wanted = HOST + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    async with view_setup() as setup, serving(setup) as server:
        answer = await exchange(server, b"GET /-/healthy HTTP/1.1\r\n" + wanted, until_closed=True)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_nothing_waits_for_ten_thousand_rows() -> None:
    """While a page with 10,000 of 20,000 rows is rendered, other requests are answered."""
    async with view_setup() as setup:
        for number in range(10_000):
            setup.succeed(zone(number, f"zone-{number:05}.example"), chart=range(31))
            setup.succeed(zone(number, f"zone-{number:05}.example"), SCANS)
        loop = asyncio.get_running_loop()
        view = setup.view()
        view.clocks = replace(view.clocks, monotonic=loop.time)
        setup.schedule.last_tick = loop.time()
        server = WebServer("127.0.0.1", 0, None)
        server.bind()
        await server.start(create_app(view, setup.renderer, setup.reload))
        try:
            async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=PATIENCE) as client:
                page = asyncio.create_task(client.get("/", params={"limit": "10000"}))
                answered = 0
                while not page.done():
                    assert (await client.get("/-/healthy")).status_code == 200
                    answered += 1
                response = await page
        finally:
            await server.stop()
    assert response.text.count("<tr>") == 10_000 + 3 + 1 + len(setup.schedule.plans)
    assert len(response.content) < 10_000_000
    # Where the page kept the loop to itself, only what came before it and after it would be answered.
    assert answered > 3
