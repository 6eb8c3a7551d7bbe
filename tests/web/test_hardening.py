"""The endpoints on a real server: the answers to malformed and hostile requests."""

import asyncio

import pytest

from exporter.web.server import WebServer
from tests.waiting import PATIENCE
from tests.web.view_setup import serving, view_setup

HOST = b"Host: localhost\r\n"
GET = b"GET /-/healthy HTTP/1.1\r\n" + HOST


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


CONNECTION = {
    # One may wait for the answer to another.
    "one-after-another": (GET + b"\r\n" + GET + b"Connection: close\r\n\r\n", 2),
    "more-than-are-kept": ((GET + b"\r\n") * 1000, 2),
    "endless-head-of-a-chunk": (GET + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a" * 70_000, 1),
    "upgrade": (GET + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 1),
    "head-of-metrics": (b"HEAD /metrics HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n", 1),
}


@pytest.mark.parametrize(("sent", "answers"), CONNECTION.values(), ids=CONNECTION)
async def test_requests_of_a_connection_are_answered_until_it_is_closed(sent: bytes, answers: int) -> None:
    async with view_setup() as setup, serving(setup.app()) as server:
        answer = await exchange(server, sent, until_closed=True)
    assert (answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer.count(b"HTTP/1.1")) == (True, answers)
    assert answer.count(b"healthy\n") == (0 if sent.startswith(b"HEAD") else answers)
