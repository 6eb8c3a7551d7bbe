"""Serves an ASGI application in the running event loop."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from functools import partial

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.http_server.connections import Acceptor, Connections
from exporter.http_server.protocol import NOTHING_READY, Ready, TimeLimitedProtocol

BACKLOG = 1024
KEEPALIVE_SECONDS = 75
# How long `stop` waits for running answers.
ANSWER_SECONDS = 1.0
STEP = 0.005


class ListenError(Exception):
    """An address cannot be used to listen on; the message names it."""


def bind(host: str, port: int) -> socket.socket:
    """Return a listening TCP socket; the system queues connections until a server accepts them.

    Args:
        host: the address; empty for every address of the machine.
        port: 0 for a free one.

    Raises:
        ListenError: the address cannot be used.
    """
    is_dual = not host and socket.has_dualstack_ipv6()
    family, place = (socket.AF_INET6 if is_dual else socket.AF_INET), (host, port)
    try:
        if host:
            # An IPv6 address may have a zone, which is a number of its own here.
            family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]  # type: ignore[assignment]
        bound = socket.create_server(place, family=family, backlog=BACKLOG, dualstack_ipv6=is_dual)
    except OSError as error:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        # `socket.create_server` repeats the address.
        problem = (error.strerror or str(error)).partition(" (while ")[0]
        raise ListenError(f"cannot listen on {address}: {problem}") from error
    # Accepted sockets inherit it. With Nagle's algorithm the body waits for the acknowledgement of the head, 40 ms.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound


class LoopServer(uvicorn.Server):
    """A uvicorn server that accepts connections within a limit and does not handle the process's signals.

    Args:
        app: the application.
        connections: the open connections and their limit.
        tls: returns the TLS context of the next connection; None for plain HTTP.
        ready: returns the answers that need no application.
        has_date: whether the server adds a `Date` header.
    """

    def __init__(
        self,
        app: ASGIApp,
        connections: Connections,
        tls: Callable[[], ssl.SSLContext] | None = None,
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
            # At `warning`, uvicorn logs a line for each invalid request, so that any client could fill a disk.
            log_level="error",
            ws="none",
            lifespan="off",
            timeout_keep_alive=KEEPALIVE_SECONDS,
        )
        super().__init__(config)
        self._app = app
        self._connections = connections
        self._tls = tls
        self._ready = ready
        self._acceptor: Acceptor | None = None
        self._ticking: asyncio.Task[None] | None = None

    async def start(self, bound: socket.socket) -> None:
        """Serve on the socket of `bind`, which `stop` closes; requests are answered when this returns."""
        self.config.load()
        protocol = partial(TimeLimitedProtocol, self.config, self.server_state, self._connections, self._ready)
        acceptor = Acceptor(bound, protocol, self._connections, self._tls)
        acceptor.start()
        self._acceptor = acceptor
        self._ticking = asyncio.create_task(self._keep_date(), name="web")

    async def _keep_date(self) -> None:
        """Renew the `Date` header each second; uvicorn's own loop wakes up ten times for it."""
        while True:
            await self.on_tick(0)
            await asyncio.sleep(1.0)

    async def stop(self, answer_seconds: float = ANSWER_SECONDS) -> None:
        """Stop serving; answers under way may take `answer_seconds`, and then their connections are closed."""
        if self._acceptor is None or self._ticking is None:
            return
        acceptor, self._acceptor = self._acceptor, None
        await acceptor.close()
        self.should_exit = True
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        loop = asyncio.get_running_loop()
        ends = loop.time() + answer_seconds
        while (state.connections or state.tasks) and loop.time() < ends:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(STEP)
        for connection in list(state.connections):
            connection.transport.abort()
        for task in list(state.tasks):
            task.cancel()
        self._ticking.cancel()
        await asyncio.gather(self._ticking, *state.tasks, return_exceptions=True)

    def connection(self, client: tuple[str, int] | None) -> asyncio.Transport | None:
        """Return the connection of a client's address; None if it has ended."""
        found = (one for one in self.server_state.connections if getattr(one, "client", None) == client)
        return next((one.transport for one in found), None)

    async def _serve_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            # `stop` has disconnected the client. uvicorn would log the cancellation with a traceback.
            if not self.should_exit:
                raise
