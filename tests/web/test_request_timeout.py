"""Clients that take their time over a request."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from exporter.web.request_timeout import LARGEST_HEAD, ImpatientProtocol

PATIENCE = 0.2
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class Hasty(ImpatientProtocol):
    """Loses patience soon, so that tests need not wait."""

    seconds = PATIENCE


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer everything."""
    await PlainTextResponse("well")(scope, receive, send)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """A server's port."""
    config = uvicorn.Config(
        app, port=0, http=Hasty, h11_max_incomplete_event_size=LARGEST_HEAD, log_config=None, lifespan="off", ws="none"
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0.005)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await serving


async def closed_in_time(reader: asyncio.StreamReader) -> bool:
    """Whether the server closes the connection before long."""
    try:
        async with asyncio.timeout(PATIENCE * 20):
            return await reader.read() == b""
    except ConnectionResetError:
        return True


async def test_a_connection_that_says_nothing_is_closed(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await closed_in_time(reader)
    writer.close()


async def test_a_head_that_does_not_end_is_closed_however_it_drips(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nX: ")
    dripping = asyncio.create_task(drip(writer))
    assert await closed_in_time(reader)
    dripping.cancel()
    writer.close()


async def drip(writer: asyncio.StreamWriter) -> None:
    """Send a byte now and then."""
    while True:
        writer.write(b"a")
        await asyncio.sleep(PATIENCE / 10)


async def test_a_client_that_keeps_its_connection_between_scrapes_keeps_it(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(2):
        writer.write(REQUEST)
        assert (await reader.readuntil(b"well")).startswith(b"HTTP/1.1 200")
        await asyncio.sleep(PATIENCE * 2)
    writer.close()


async def test_a_second_request_that_does_not_end_is_closed_too(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(REQUEST)
    await reader.readuntil(b"well")
    writer.write(b"GET / HT")
    assert await closed_in_time(reader)
    writer.close()


async def test_a_head_that_is_too_large_is_refused(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nX: " + b"a" * (LARGEST_HEAD * 2))
    assert (await reader.readline()).startswith(b"HTTP/1.1 400")
    writer.close()
