"""The endpoints on a real server: the answers to malformed and hostile requests."""

import asyncio

import pytest

from exporter.web.server import WebServer
from tests.waiting import PATIENCE
from tests.web.view_setup import serving, view_setup

HOST = b"Host: localhost\r\n"
INVALID = b"HTTP/1.1 400 "
GET = b"GET /-/healthy HTTP/1.1\r\n" + HOST
POST = b"POST /-/reload HTTP/1.1\r\n" + HOST


async def exchange(server: WebServer, sent: bytes, *, until_closed: bool = False) -> bytes:
    """Send these bytes, and return the answer: to the end of its headers, or until the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        async with asyncio.timeout(PATIENCE):
            writer.write(sent)
            return await (reader.read() if until_closed else reader.readuntil(b"\r\n\r\n"))
    finally:
        writer.close()


NO_REQUESTS = {
    "garbage": b"hello\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "http-0.9": b"GET /-/healthy\r\n\r\n",
    "no-host": b"GET /-/healthy HTTP/1.1\r\n\r\n",
    "two-hosts": b"GET /-/healthy HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "nul-in-path": b"GET /\0 HTTP/1.1\r\n" + HOST + b"\r\n",
    "byte-in-path": b"GET /\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "nul-in-header": b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X-Odd: a\0b\r\n\r\n",
    "space-in-header": b"GET /-/healthy HTTP/1.1\r\n" + HOST + b"X Odd: a\r\n\r\n",
    "negative-length": POST + b"Content-Length: -1\r\n\r\n",
    "two-lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "smuggled": b"POST /-/reload HTTP/1.1\r\n"
    + HOST
    + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("sent", NO_REQUESTS.values(), ids=NO_REQUESTS)
async def test_what_is_no_request_is_refused_and_the_connection_closed(sent: bytes) -> None:
    async with view_setup() as setup, serving(setup.app()) as server:
        answer = await exchange(server, sent, until_closed=True)
    assert answer.startswith(INVALID)
    assert b"connection: close" in answer.lower()
    assert b"uvicorn" not in answer.lower()
    assert setup.reloads == 0


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET /../metrics", 404),
        (b"GET http://evil.example/-/healthy", 200),
        (b"OPTIONS *", 400),
        (b"CONNECT evil.example:443", 400),
        (b"GET /?search=%ff%00%f0", 200),
        (b"BREW /metrics", 400),
    ],
)
async def test_the_answers_to_malformed_requests_reveal_nothing(line: bytes, status: int) -> None:
    async with view_setup() as setup, serving(setup.app()) as server:
        answer = await exchange(server, line + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"evil.example" not in answer
    assert b"\r\nserver:" not in answer.lower()


@pytest.mark.parametrize("host", [b"", b"a" * 5000, b"[::1", b"evil.example:99999", b"a b", b"\xc3\xa9"])
async def test_no_host_matters(host: bytes) -> None:
    async with view_setup() as setup, serving(setup.app("/edge"), "/edge") as server:
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
    async with view_setup() as setup, serving(setup.app()) as server:
        answer = await exchange(server, b"POST /-/reload HTTP/1.1\r\n" + HOST + body)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"connection: close\r\n" in answer.lower()
    assert answer.count(b"HTTP/1.1") == setup.reloads == 1


async def test_no_header_changes_the_address_of_a_client() -> None:
    async with view_setup() as setup, serving(setup.app()) as server:
        answer = await exchange(server, POST + b"X-Forwarded-For: 192.0.2.7\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\ndate: " in answer


CONNECTION = {
    # 16 may wait for the answer to the first.
    "one-after-another": ((GET + b"\r\n") * 16 + GET + b"Connection: close\r\n\r\n", 17),
    "more-than-are-kept": ((GET + b"\r\n") * 1000, 1),
    "endless-head-of-a-chunk": (GET + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a" * 70_000, 1),
    "upgrade": (GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 1),
    "head": (GET.replace(b"GET", b"HEAD") + b"Connection: close\r\n\r\n", 1),
    "head-of-metrics": (b"HEAD /metrics HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n", 1),
}


@pytest.mark.parametrize(("sent", "answers"), CONNECTION.values(), ids=CONNECTION)
async def test_requests_of_a_connection_are_answered_until_it_is_closed(sent: bytes, answers: int) -> None:
    async with view_setup() as setup, serving(setup.app()) as server:
        answer = await exchange(server, sent, until_closed=True)
    assert (answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer.count(b"HTTP/1.1")) == (True, answers)
    assert answer.count(b"healthy\n") == (0 if sent.startswith(b"HEAD") else answers)
