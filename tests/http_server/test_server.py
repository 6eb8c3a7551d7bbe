"""The server over real sockets: its end, its limit of connections, and the request targets that it accepts."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.http_server.connections import Connections
from exporter.http_server.server import LoopServer, bind
from tests.waiting import PATIENCE, until

PIECE = bytes(1024 * 1024)
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


class Unread:
    """Answers with more bytes than any socket's buffers can store."""

    def __init__(self) -> None:
        self.begun = 0

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send pieces until the client stops reading, and then the rest."""
        self.begun += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(64):
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class Endless:
    """Never answers, also after the client has disconnected."""

    def __init__(self) -> None:
        self.begun = 0

    async def __call__(self, _scope: Scope, _receive: Receive, _send: Send) -> None:
        """Wait."""
        self.begun += 1
        await asyncio.Event().wait()


async def named(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the path, the query and the host of the request."""
    request = Request(scope)
    text = f"{scope['path']} {request.url.query} {request.headers['host']}"
    await PlainTextResponse(text)(scope, receive, send)


@asynccontextmanager
async def serving(app: ASGIApp, limit: int = 100) -> AsyncIterator[tuple[LoopServer, int]]:
    """Run a server, and yield it with its port."""
    bound = bind("127.0.0.1", 0)
    server = LoopServer(app, Connections(limit))
    port = bound.getsockname()[1]
    await server.start(bound)
    try:
        yield server, port
    finally:
        await server.stop()


async def sent(port: int, request: bytes) -> socket.socket:
    """Return a socket that has sent a request and reads nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(0)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(client, ("127.0.0.1", port))
    await loop.sock_sendall(client, request)
    return client


@pytest.mark.parametrize("app", [Unread(), Endless()], ids=["slow-client", "slow-application"])
async def test_a_stop_while_answers_are_under_way_logs_nothing(
    app: Unread | Endless, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(app) as (server, port):
        clients = [await sent(port, REQUEST) for _ in range(5)]
        await until(lambda: app.begun == len(clients))
        async with asyncio.timeout(PATIENCE):
            await server.stop()
    for client in clients:
        client.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_broken_application_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ValueError("it broke")

    async with serving(broken) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST)
        assert (await reader.readline()).startswith(b"HTTP/1.1 500 ")
        writer.close()
    assert "it broke" in caplog.text


async def test_the_oldest_connection_without_a_request_is_closed_for_a_new_one() -> None:
    async with serving(named, limit=2) as (_, port):
        oldest, *others = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        async with asyncio.timeout(PATIENCE):
            assert await oldest[0].read() == b""
        for reader, writer in others:
            writer.write(REQUEST)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        for _, writer in (oldest, *others):
            writer.close()


@pytest.mark.parametrize(
    ("target", "answered"),
    [
        (b"http://there/metrics?name[]=a", b"/metrics name[]=a there"),
        (b"HTTPS://there:9877/a%20b", b"/a b  there:9877"),
        (b"http://[::1]:80", b"/  [::1]:80"),
        (b"http://there?a=b", b"/ a=b there"),
    ],
)
async def test_a_target_in_absolute_form_names_the_host(target: bytes, answered: bytes) -> None:
    async with serving(named) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET " + target + b" HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    assert (head.split(b"\r\n")[0], body) == (b"HTTP/1.1 200 OK", answered)


@pytest.mark.parametrize("target", [b"ftp://there/", b"http:///metrics", b"http://user@there/", b"http://[::1/", b"a"])
async def test_another_target_is_refused(target: bytes) -> None:
    async with serving(named) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET " + target + b" HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
        writer.close()
