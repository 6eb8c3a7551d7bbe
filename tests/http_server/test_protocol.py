"""Clients that send a request slowly, on an event loop whose time the test controls."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from exporter.http_server.connections import Connections
from exporter.http_server.protocol import REQUEST_SECONDS, TimeLimitedProtocol
from exporter.http_server.server import KEEPALIVE_SECONDS
from tests.waiting import until

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class LoopTime:
    """The time of the running event loop, which the test can advance."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._ahead = 0.0

    def __call__(self) -> float:
        """Return the loop's time in seconds."""
        return self._clock() + self._ahead

    def advance(self, seconds: float) -> None:
        """Advance the loop's time."""
        self._ahead += seconds


class Counting(TimeLimitedProtocol):
    """Counts how often data has arrived."""

    received = 0

    def data_received(self, data: bytes) -> None:
        """Implements `asyncio.Protocol`."""
        super().data_received(data)
        self.received += 1


class Connection:
    """A connection of a client, with the server's side of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Counting) -> None:
        self.reader = reader
        self._writer = writer
        self._server = server

    async def send(self, data: bytes) -> None:
        """Send data, and wait until the server has read it."""
        seen = self._server.received
        self._writer.write(data)
        await until(lambda: self._server.received > seen)

    async def ask(self) -> bytes:
        """Send a request, and return the answer."""
        await self.send(REQUEST)
        return await self.reader.readuntil(b"well")

    def is_open(self) -> bool:
        """Return whether the server keeps the connection open."""
        return not self._server.transport.is_closing()

    async def until_closed(self) -> None:
        """Wait until the server has closed the connection."""
        await until(lambda: not self.is_open(), "the end of the connection")


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer every request."""
    await PlainTextResponse("well")(scope, receive, send)


def counting(config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any], _loop: object) -> Counting:
    """Make a protocol with its own count of connections."""
    return Counting(config, server_state, app_state, Connections(9))


@pytest.fixture
async def time() -> LoopTime:
    """The time of the test's loop; it is not reset, because timers must not see it go back."""
    turned = LoopTime()
    asyncio.get_running_loop().time = turned  # type: ignore[method-assign]
    return turned


@pytest.fixture
async def connection() -> AsyncIterator[Connection]:
    """An established connection to a server."""
    config = uvicorn.Config(
        app,
        port=0,
        http=counting,  # type: ignore[arg-type]
        timeout_keep_alive=KEEPALIVE_SECONDS,
        log_config=None,
        lifespan="off",
        ws="none",
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1])
    await until(lambda: server.server_state.connections)
    (made,) = server.server_state.connections
    assert isinstance(made, Counting)
    yield Connection(reader, writer, made)
    writer.close()
    server.should_exit = True
    await serving


async def test_a_silent_connection_is_closed(connection: Connection, time: LoopTime) -> None:
    time.advance(REQUEST_SECONDS)
    await connection.until_closed()


async def test_a_head_that_does_not_end_is_closed_however_it_drips(connection: Connection, time: LoopTime) -> None:
    await connection.send(b"GET / HTTP/1.1\r\nX: ")
    for _ in range(3):
        assert connection.is_open()
        time.advance(REQUEST_SECONDS / 4)
        await connection.send(b"a")
    time.advance(REQUEST_SECONDS / 4)
    await connection.until_closed()


async def test_a_client_that_keeps_its_connection_between_scrapes_keeps_it(
    connection: Connection, time: LoopTime
) -> None:
    for _ in range(3):
        assert (await connection.ask()).startswith(b"HTTP/1.1 200")
        time.advance(REQUEST_SECONDS * 2)


async def test_a_second_request_that_does_not_end_is_closed_too(connection: Connection, time: LoopTime) -> None:
    await connection.ask()
    time.advance(REQUEST_SECONDS * 2)
    await connection.send(b"GET / HT")
    assert connection.is_open()
    time.advance(REQUEST_SECONDS)
    await connection.until_closed()
