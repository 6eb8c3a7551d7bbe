"""The server over real sockets: its end, its limits of connections and of time, and the targets that it accepts."""

import asyncio
import errno
import logging
import re
import resource
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from unittest.mock import Mock, patch

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.testing import capture_logs

from exporter.http_server.connections import Connections, raise_file_limit
from exporter.http_server.loop_server import LOOKS_EVERY_SECONDS, LoopServer, bind
from exporter.http_server.protocol import LARGEST_HEAD, REQUEST_SECONDS, ReadyAnswer, TimeLimitedProtocol
from tests.waiting import PATIENCE, until

PIECE = bytes(1024 * 1024)
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
READY = REQUEST.replace(b"/", b"/ready", 1)
STUCK = REQUEST.replace(b"/", b"/stuck", 1)
WITHOUT_BODY = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\n"


async def unread(send: Send) -> None:
    """Answer with more bytes than any socket's buffers can store: until the client stops reading, and then the rest."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(64):
        await send({"type": "http.response.body", "body": PIECE, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def endless(_send: Send) -> None:
    """Never answer, also after the client has disconnected."""
    await asyncio.Event().wait()


async def named(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the path, the query, the host and the body of the request; /unread has no body."""
    request = Request(scope, receive)
    if scope["path"] == "/unread":
        await PlainTextResponse("unread")(scope, receive, send)
        return
    text = f"{scope['path']} {request.url.query} {request.headers['host']}{(await request.body()).decode()}"
    await PlainTextResponse(text)(scope, receive, send)


def ready(scope: Scope) -> ReadyAnswer | None:
    """Answer /ready and /large at once, and nothing else."""
    body = {"/ready": b"ready", "/large": PIECE}.get(scope["path"])
    return ([(b"content-length", b"%d" % len(body))], body) if body is not None else None


@asynccontextmanager
async def serving(app: ASGIApp, limit: int = 100) -> AsyncIterator[tuple[LoopServer, int]]:
    """Run a server, and yield it with its port."""
    bound = bind("127.0.0.1", 0)
    server = LoopServer(bound, app, Connections(limit), ready=ready)
    port = bound.getsockname()[1]
    server.start()
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


async def turns() -> None:
    """Let the loop do all that it can do at once."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_an_idle_server_wakes_once_a_second() -> None:
    loop = asyncio.get_running_loop()
    with patch.object(loop, "call_later", wraps=loop.call_later) as timers:
        async with serving(named):
            await turns()
    assert [call.args[0] for call in timers.call_args_list] == [1.0]


@pytest.mark.parametrize(("files", "limit"), [(-9, 16), (16, 16), (100, 100), (10_000, 512)])
def test_as_many_connections_are_open_as_there_are_files_within_bounds(files: int, limit: int) -> None:
    connections = Connections()
    connections.set_limit(files)
    assert connections.limit == limit


def test_a_system_may_refuse_a_higher_limit_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = Mock(side_effect=[OSError(errno.EPERM, "not permitted"), ValueError("not allowed to raise maximum limit")])
    monkeypatch.setattr(resource, "setrlimit", refuse)
    for _ in range(2):
        raise_file_limit()
    assert refuse.call_count == 2


@pytest.mark.parametrize("answer", [unread, endless])
async def test_a_stop_ends_answers_that_are_under_way_and_logs_nothing(
    answer: Callable[[Send], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    begun, left = list[Scope](), list[Scope]()

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        begun.append(scope)
        try:
            await answer(send)
        finally:
            await asyncio.sleep(20 * LOOKS_EVERY_SECONDS)
            left.append(scope)

    async with serving(app) as (server, port):
        clients = [await sent(port, REQUEST) for _ in range(5)]
        await until(lambda: len(begun) == len(clients))
        async with asyncio.timeout(PATIENCE):
            await server.stop(0.0)
        assert len(left) == len(clients)
    for client in clients:
        client.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(("seconds", "is_whole"), [(PATIENCE, True), (0.0, False)])
async def test_a_stop_waits_for_a_client_that_reads_late_though_the_application_has_ended(
    seconds: float, *, is_whole: bool
) -> None:
    ended = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await Response(PIECE * 16)(scope, receive, send)
        ended.set()

    async with serving(app) as (server, port):
        client = await sent(port, REQUEST)
        await ended.wait()
        connection = server.connection(client.getsockname())
        stop = asyncio.create_task(server.stop(seconds))
        await until(connection.is_closing if connection is not None else list)
        reader, writer = await asyncio.open_connection(sock=client)
        _, body = (await reader.readuntil(b"\r\n\r\n")), await reader.read()
        writer.close()
        await stop
    assert (len(body) == len(PIECE) * 16) == is_whole


@pytest.mark.parametrize(
    "idle", [REQUEST, WITHOUT_BODY, STUCK], ids=["answered", "without its body", "takes no answer"]
)
async def test_an_idle_connection_is_closed_for_a_new_one_and_not_one_that_is_being_answered(
    idle: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("loop_server.KEEPALIVE_SECONDS", "loop_server.UNTAKEN_SECONDS", "protocol.REQUEST_SECONDS"):
        monkeypatch.setattr(f"exporter.http_server.{name}", 2 * PATIENCE)
    begun, release = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        if scope["path"] == "/stuck":
            await unread(send)
        if scope["path"] == "/slow":
            await release.wait()
        await named(scope, receive, send)

    async with serving(app, limit=2) as (server, port):
        clients = [await asyncio.open_connection("127.0.0.1", port)]
        # It was idle, and has a second request.
        clients[0][1].write(REQUEST)
        await clients[0][0].readuntil(b"/  here")
        begun.clear()
        clients[0][1].write(asking(b"/slow"))
        await begun.wait()
        for request in (idle, REQUEST):
            begun.clear()
            clients.append(await asyncio.open_connection("127.0.0.1", port))
            clients[-1][1].write(request)
            async with asyncio.timeout(PATIENCE):
                await begun.wait()
        assert (await clients[-1][0].readline()).startswith(b"HTTP/1.1 200 ")
        open_ = [server.connection(writer.get_extra_info("sockname")) is not None for _, writer in clients]
        assert open_ == [True, False, True]
        release.set()
        assert (await clients[0][0].readline()).startswith(b"HTTP/1.1 200 ")
        for _, writer in clients:
            writer.close()


async def test_connections_that_have_ended_do_not_count() -> None:
    with capture_logs() as logs:
        async with serving(named, limit=2) as (_, port):
            for _ in range(6):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
                writer.close()
                await turns()
    assert logs == []


async def test_no_connection_beyond_the_limit_is_accepted_while_all_are_being_answered() -> None:
    begun, release = list[Scope](), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope)
        await release.wait()
        await named(scope, receive, send)

    with capture_logs() as logs:
        async with serving(app, limit=1) as (_, port):
            clients = [await sent(port, REQUEST)]
            await until(lambda: begun)
            clients.append(await sent(port, REQUEST))
            await until(lambda: logs)
            await turns()
            assert len(begun) == 1
            release.set()
            for client in clients:
                assert (await asyncio.get_running_loop().sock_recv(client, 100)).startswith(b"HTTP/1.1 200 ")
                client.close()
    assert [log["event"] for log in logs] == [
        "connection limit reached, the oldest connections that wait for their clients are closed for new ones"
    ]


async def test_idle_connections_are_closed_when_the_system_refuses_a_further_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusals, accept = [OSError(errno.EMFILE, "Too many open files")], socket.socket.accept

    def refused_once(bound: socket.socket) -> tuple[socket.socket, object]:
        if refusals:
            raise refusals.pop()
        return accept(bound)

    with capture_logs() as logs:
        async with serving(named) as (server, port):
            idle = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(2)]
            await until(lambda: len(server.server_state.connections) == len(idle))
            monkeypatch.setattr(socket.socket, "accept", refused_once)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(REQUEST)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
            assert [server.connection(one.get_extra_info("sockname")) for one in idle] == [None] * 2
            for one in (*idle, writer):
                one.close()
    assert [(log["event"], log["error"]) for log in logs] == [("connections cannot be accepted", "Too many open files")]


def asking(target: bytes = b"/", more: bytes = b"Connection: close\r\n") -> bytes:
    return b"GET " + target + b" HTTP/1.1\r\nHost: here\r\n" + more + b"\r\n"


LONG = b"a" * 17_000
OK, BAD = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 400 Bad Request\r\n"
NO_REQUEST = {
    "garbage": b"hello\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "an unknown method": b"BREW" + asking()[3:],
    "a tunnel": b"CONNECT there:443" + asking()[5:],
    "nul in the path": asking(b"/\0"),
    "a byte in the path": asking(b"/\xff"),
    "nul in a header": asking(more=b"X-Odd: a\0b\r\n"),
    "a space in a header": asking(more=b"X Odd: a\r\n"),
    "a negative length": asking(more=b"Content-Length: -1\r\n"),
    "two lengths": asking(more=b"Content-Length: 1\r\nContent-Length: 2\r\n"),
    "smuggled": asking(more=b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") + b"0\r\n\r\n",
    **{
        f"no target: {path.decode()}": asking(path)
        for path in (b"http:///metrics", b"http://[::1/", b"http://there", b"a")
    },
}
LONG_HEAD = b"GET / HTTP/1.1\r\nX: " + b"a" * (LARGEST_HEAD * 2)
ALLOWED_HEAD = asking(more=b"X: %s\r\nConnection: close\r\n" % LONG[:16_000])
READY_1_0 = asking(b"/ready", b"Connection: keep-alive\r\n").replace(b"1.1", b"1.0")
POST = b"POST /unread HTTP/1.1\r\nHost: here\r\n"
# What a connection sends; the beginnings of all answers until it is closed; and the end of the last one.
EXCHANGES = {
    "absolute form": (asking(b"http://here/metrics?name[]=a"), [OK], b"/metrics name[]=a here"),
    "absolute form, a port": (asking(b"HTTPS://here:9877/a%20b"), [OK], b"/a b  here"),
    **{name: (sent, [BAD], b"Invalid HTTP request received.") for name, sent in NO_REQUEST.items()},
    "a head without an end": (LONG_HEAD, [BAD], b"The head of the request is too large."),
    "ready, for a client of HTTP/1.0": (READY_1_0, [OK], b"/ready  here"),
    "a large head that is not too large": (ALLOWED_HEAD, [OK], b"/  here"),
    "one after another": (REQUEST + asking(), [OK, OK], b"/  here"),
    "ready ones first": (READY + READY[:-2] + b"Content-Length: 3\r\n\r\nabc" + asking(), [OK] * 3, b"/  here"),
    "an upgrade": (asking(more=b"Connection: Upgrade, close\r\nUpgrade: h2c\r\n"), [OK], b"/  here"),
    "a long body": (POST + b"Content-Length: 10000000000\r\n\r\n" + b"x" * 100_000, [OK], b"unread"),
    "an endless body": (POST + b"Transfer-Encoding: chunked\r\n\r\nffffff\r\n" + b"x" * 100_000, [OK], b"unread"),
    "a body that waits": (POST + b"Content-Length: 100\r\nExpect: 100-continue\r\n\r\n", [OK], b"unread"),
}


@pytest.mark.parametrize(("sent", "begun", "end"), EXCHANGES.values(), ids=EXCHANGES)
async def test_requests_of_a_connection_are_answered_or_refused_until_it_is_closed(
    sent: bytes, begun: list[bytes], end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Unless the end of a body is missing, it is closed for what was sent, and not because of the time.
    if not sent.startswith(POST):
        monkeypatch.setattr("exporter.http_server.protocol.REQUEST_SECONDS", 2 * PATIENCE)
    async with serving(named) as (_, port), asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()
    assert (re.findall(rb"HTTP/1\.1[^\r]*\r\n", answer), answer.startswith(begun[0])) == (begun, True)
    assert answer.endswith(b"\r\n\r\n" + end)
    assert b"uvicorn" not in answer.lower()


async def test_a_ready_answer_waits_for_the_one_before() -> None:
    async with serving(named) as (_, port), asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(REQUEST + READY)
        assert b"/  here" in await reader.readuntil(b"\r\n\r\nready")
        writer.close()


async def test_ready_answers_are_not_kept_for_a_client_that_takes_none() -> None:
    async with serving(named) as (server, port):
        client = await sent(port, REQUEST.replace(b"/", b"/large", 1) * 100)
        await until(lambda: server.server_state.total_requests)
        await turns()
        assert server.server_state.total_requests < 20
        client.close()


@dataclass
class LoopTime:
    """The time of the running event loop, which the test can advance; timers must not see it go back."""

    ahead: float = 0.0

    def __post_init__(self) -> None:
        loop = asyncio.get_running_loop()
        clock = loop.time
        loop.time = lambda: clock() + self.ahead  # type: ignore[method-assign]


@dataclass(frozen=True)
class Connection:
    """A connection of a client, with the server's side of it, and what arrived there."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    transport: asyncio.Transport
    received: list[bytes]

    async def send(self, data: bytes) -> None:
        """Send data, and wait until the server has read it."""
        seen = len(self.received)
        self.writer.write(data)
        await until(lambda: len(self.received) > seen)

    async def ask(self) -> bytes:
        """Send a request with a header of some length, and return the answer."""
        await self.send(asking(more=b"X: %s\r\n" % LONG[:9_000]))
        return await self.reader.readuntil(b"/  here")

    async def until_closed(self) -> None:
        """Wait until the server has closed the connection."""
        await until(self.transport.is_closing, "the end of the connection")


@pytest.fixture
async def connection(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Connection]:
    """An established connection to a server."""
    received, take = list[bytes](), TimeLimitedProtocol.data_received

    def noting(protocol: TimeLimitedProtocol, data: bytes) -> None:
        take(protocol, data)
        received.append(data)

    monkeypatch.setattr(TimeLimitedProtocol, "data_received", noting)
    async with serving(named) as (server, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await until(lambda: server.server_state.connections)
        (protocol,) = server.server_state.connections
        yield Connection(reader, writer, protocol.transport, received)
        writer.close()


async def test_a_silent_connection_is_closed(connection: Connection) -> None:
    LoopTime(REQUEST_SECONDS)
    await connection.until_closed()


async def test_a_head_that_does_not_end_is_closed_however_it_drips(connection: Connection) -> None:
    time = LoopTime()
    await connection.send(b"GET / HTTP/1.1\r\nX: ")
    for _ in range(3):
        assert not connection.transport.is_closing()
        time.ahead += REQUEST_SECONDS / 4
        await connection.send(b"a")
    time.ahead += REQUEST_SECONDS / 4
    await connection.until_closed()


async def test_a_body_is_no_part_of_the_head_and_comes_in_pieces(connection: Connection) -> None:
    await connection.send(asking(more=b"Content-Length: 17001\r\n").replace(b"GET", b"POST") + LONG)
    await connection.send(b"b")
    assert (await connection.reader.readuntil(b"/  here" + LONG + b"b")).startswith(b"HTTP/1.1 200")
    assert not connection.transport.is_closing()


@pytest.mark.parametrize("begun", [b"GET / HT", b"\r\n", REQUEST + b"GET"])
async def test_a_connection_is_kept_between_scrapes_until_a_request_does_not_end(
    connection: Connection, begun: bytes
) -> None:
    time = LoopTime()
    for _ in range(3):
        assert (await connection.ask()).startswith(b"HTTP/1.1 200")
        time.ahead += REQUEST_SECONDS * 2
    await connection.send(begun)
    assert not connection.transport.is_closing()
    time.ahead += REQUEST_SECONDS
    await connection.until_closed()
