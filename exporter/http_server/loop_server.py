"""Serves an ASGI application in the running event loop, within a limit of connections."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.http_server.connections import Connections
from exporter.http_server.protocol import NOTHING_READY, Ready, TimeLimitedProtocol
from exporter.log import logger

BACKLOG = 1024
KEEPALIVE_SECONDS = 75  # longer than the usual scrape interval, one minute
HANDSHAKE_SECONDS = 10.0
TLS_CLOSING_SECONDS = 2.0
# After this time, a system with TCP_USER_TIMEOUT disconnects a client that does not read its answer.
UNTAKEN_SECONDS = 30.0
# The most connections that are closed when none can be accepted, for example for lack of a file descriptor.
CLOSED_AT_ONCE = 32
RETRY_ACCEPT_SECONDS = 0.5
RETRY_MAKING_ROOM_SECONDS = 0.02
# A fault is logged again only if it has not occurred for this many seconds.
QUIET_SECONDS = 10.0
# How long `stop` waits by default for unfinished answers, and the time between two checks whether they have ended.
ANSWER_SECONDS = 1.0
LOOKS_EVERY_SECONDS = 0.005


class ListenError(Exception):
    """The server cannot listen on an address; the message names the address."""


def bind(host: str, port: int) -> socket.socket:
    """Return a listening TCP socket. An empty host means all IPv4 and, if possible, IPv6 addresses; port 0 a free port.

    Raises:
        ListenError: the address cannot be used.
    """
    is_dual = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if is_dual else socket.AF_INET
    address = (host, port)
    try:
        if host:
            # Also converts the zone of an IPv6 address to a number, which the socket needs.
            family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]  # type: ignore[assignment]
        bound = socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=is_dual)
    except UnicodeError as error:
        raise ListenError(f"cannot listen on {host}:{port}: the host name cannot be encoded") from error
    except OSError as error:
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        # `socket.create_server` adds the address, which this message already has.
        problem = (error.strerror or str(error)).partition(" (while ")[0]
        raise ListenError(f"cannot listen on {shown}: {problem}") from error
    bound.settimeout(0)  # asyncio requires a non-blocking socket
    # Accepted sockets inherit these options. With Nagle's algorithm, the body could wait until the client has
    # acknowledged the head.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Some systems, and Python on them, lack this option; the server works without the option.
    with suppress(OSError, AttributeError):
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNTAKEN_SECONDS * 1000))
    return bound


class LoopServer(uvicorn.Server):
    """A uvicorn server that accepts connections within a limit, and does not handle the process's signals.

    asyncio's own server has no limit, and logs a traceback at each attempt to accept without a free file descriptor.

    Args:
        bound: the socket of `bind`, which `stop` closes.
        tls: returns the TLS context of the next connection, or None for plain HTTP.
        ready: returns the answer to a request without asking the application; None if the application has to answer.
        has_date: whether the server adds a `Date` header.
    """

    def __init__(
        self,
        bound: socket.socket,
        app: ASGIApp,
        connections: Connections,
        tls: Callable[[], ssl.SSLContext | None] = lambda: None,
        ready: Ready = NOTHING_READY,
        *,
        has_date: bool = True,
    ) -> None:
        config = uvicorn.Config(
            self._serve_request,
            interface="asgi3",
            date_header=has_date,
            server_header=False,
            access_log=False,
            proxy_headers=False,
            log_config=None,
            # At `warning`, uvicorn logs a line for each invalid request, so any client could fill a disk.
            log_level="error",
            ws="none",
            timeout_keep_alive=KEEPALIVE_SECONDS,
        )
        super().__init__(config)
        self._bound = bound
        self._app = app
        self._connections = connections
        self._tls = tls
        self._ready = ready
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_time_by_fault: dict[str, float] = {}

    def start(self) -> None:
        """Serve from now on, in the running event loop."""
        self.config.load()
        self._run(self._renew_date())
        self._run(self._accept())

    async def stop(self, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Stop serving; connections that are still open after `answer_seconds` are aborted."""
        await _cancel(self._tasks)
        self._bound.close()
        self.should_exit = True
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + answer_seconds
        while (state.connections or state.tasks) and loop.time() < deadline:  # noqa: ASYNC110 - uvicorn has no event for their end
            await asyncio.sleep(LOOKS_EVERY_SECONDS)
        for connection in list(state.connections):
            connection.transport.abort()
        await _cancel(state.tasks)

    def connection(self, client: tuple[str, int] | None) -> asyncio.Transport | None:
        """Return the open connection of the client with this address; None if there is no such connection."""
        found = (one for one in self.server_state.connections if getattr(one, "client", None) == client)
        return next((one.transport for one in found), None)

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="web")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _renew_date(self) -> None:
        """Renew the `Date` header each second; uvicorn's own loop would wake up ten times a second."""
        while True:
            # uvicorn renews the header when the number of the tick is divisible by 10.
            await self.on_tick(0)
            await asyncio.sleep(1.0)

    async def _accept(self) -> None:
        make_protocol = partial(TimeLimitedProtocol, self.config, self.server_state, self._connections, self._ready)
        while True:
            try:
                accepted, _ = await asyncio.get_running_loop().sock_accept(self._bound)
            except ConnectionAbortedError:
                # The client has disconnected already.
                continue
            except OSError as error:
                self._warn("connections cannot be accepted", error=error.strerror or str(error))
                self._connections.close_waiting(CLOSED_AT_ONCE)
                await asyncio.sleep(RETRY_ACCEPT_SECONDS)
                continue
            await self._make_room(accepted)
            protocol = make_protocol()
            connecting = self._run(self._connect(protocol, accepted))
            # Until `connection_made` replaces both functions, `abort` ends the handshake, which closes the connection.
            self._connections.add(protocol, waits=lambda: True, abort=connecting.cancel)
            # The connection starts, and other tasks run, before the next connection is accepted.
            await asyncio.sleep(0)

    async def _make_room(self, accepted: socket.socket) -> None:
        full = "connection limit reached, the oldest connections that wait for their clients are closed for new ones"
        try:
            while self._connections.excess > 0:
                self._warn(full, limit=self._connections.limit)
                self._connections.close_waiting(self._connections.excess)
                if self._connections.excess > 0:
                    await asyncio.sleep(RETRY_MAKING_ROOM_SECONDS)
        except asyncio.CancelledError:
            accepted.close()
            raise

    async def _connect(self, protocol: asyncio.Protocol, accepted: socket.socket) -> None:
        context = self._tls()
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if context is not None else None,
                ssl_shutdown_timeout=TLS_CLOSING_SECONDS if context is not None else None,
            )
        except OSError:
            # Not a fault of the server: the client disconnected, took too long or does not use TLS, for example.
            self._connections.remove(protocol)

    def _warn(self, fault: str, **facts: object) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._last_time_by_fault.get(fault, float("-inf")) >= QUIET_SECONDS:
            logger().warning(fault, **facts)
        self._last_time_by_fault[fault] = now

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            # If `stop` has cancelled this request, the error ends here: uvicorn would log it with a traceback.
            if not self.should_exit:
                raise


async def _cancel(tasks: set[asyncio.Task[None]]) -> None:
    # A copy, because a task that ends leaves the set.
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
