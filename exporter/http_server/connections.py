"""Keeps open connections within a limit: the oldest that waits for its client is closed for a new one."""

import asyncio
import errno
import resource
import socket
import ssl
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from exporter.log import logger

# The bounds of how many connections may be open, however many files the process may have.
LEAST_CONNECTIONS, MOST_CONNECTIONS = 16, 512
# The number of connections that are closed when the system has no file descriptor left.
CLOSED_AT_ONCE = 32
HANDSHAKE_SECONDS = 10.0
TLS_CLOSING_SECONDS = 2.0
# After this time the system disconnects a client that does not read its answer.
UNTAKEN_SECONDS = 30.0
RETRY_SECONDS = 0.5
BUSY_SECONDS = 0.02
# A fault is logged again when it has not occurred for this time.
QUIET_SECONDS = 10.0
_GONE = (errno.EAGAIN, errno.EINTR, errno.ECONNABORTED, errno.EPROTO)


def raise_file_limit() -> None:
    """Raise the soft limit of open files to the hard limit, where the system allows it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def file_limit() -> int:
    """Return how many files and sockets this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


class Connections:
    """The open connections, oldest first.

    Args:
        limit: how many may be open.
    """

    def __init__(self, limit: int = LEAST_CONNECTIONS) -> None:
        self.limit = limit
        self._open: dict[object, tuple[Callable[[], bool], Callable[[], object]]] = {}

    def allow(self, files: int) -> None:
        """Limit the connections to so many files, within the bounds of any server."""
        self.limit = max(LEAST_CONNECTIONS, min(MOST_CONNECTIONS, files))

    def opened(self, connection: object, waits: Callable[[], bool], abort: Callable[[], object]) -> None:
        """Add an open connection, or replace its functions.

        Args:
            connection: identifies it.
            waits: returns whether it waits for its client.
            abort: closes it at once.
        """
        self._open[connection] = waits, abort

    def closed(self, connection: object) -> None:
        """Forget a connection that has ended."""
        self._open.pop(connection, None)

    def has_room(self) -> bool:
        """Return whether another connection may be opened."""
        return len(self._open) < self.limit

    def close_oldest(self) -> bool:
        """Close the oldest connection that waits for its client; return False if none waits."""
        for connection, (waits, abort) in self._open.items():
            if waits():
                self.closed(connection)
                abort()
                return True
        return False


@dataclass(eq=False)
class Acceptor:
    """Accepts connections on a bound socket, within a limit.

    asyncio's own server accepts without a limit. When no file descriptor is left, it logs a traceback for each attempt.

    Attributes:
        bound: the socket, which `close` closes.
        make_protocol: makes the protocol of a connection.
        connections: the open connections.
        tls: returns the TLS context of the next connection; None for plain HTTP.
    """

    bound: socket.socket
    make_protocol: Callable[[], asyncio.Protocol]
    connections: Connections
    tls: Callable[[], ssl.SSLContext] | None = None
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _warned: dict[str, float] = field(default_factory=dict)

    def start(self) -> None:
        """Accept connections from now on."""
        self.bound.settimeout(0)
        # Accepted connections inherit the timeout, where the system has it; without it the server works as well.
        with suppress(OSError):
            self.bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNTAKEN_SECONDS * 1000))
        self._run(self._accept())

    async def close(self) -> None:
        """Close the socket, and drop the connections whose handshake has not ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.bound.close()

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work, name="web")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self) -> None:
        while True:
            try:
                accepted, _ = await self._loop.sock_accept(self.bound)
            except OSError as error:
                if error.errno not in _GONE:
                    self._warn("connections cannot be accepted", error=error.strerror or str(error))
                    for _ in range(CLOSED_AT_ONCE):
                        self.connections.close_oldest()
                    await asyncio.sleep(RETRY_SECONDS)
                continue
            await self._make_room(accepted)
            protocol = self.make_protocol()
            connecting = self._run(self._connect(protocol, accepted))
            self.connections.opened(protocol, lambda: True, connecting.cancel)
            # The connection starts, and other tasks run, before the next one is accepted.
            await asyncio.sleep(0)

    async def _make_room(self, accepted: socket.socket) -> None:
        """Close the oldest connection without a request to make room for a new one; wait if all have one."""
        full = "connection limit reached, the oldest without a request are closed for new ones"
        try:
            while not self.connections.has_room():
                self._warn(full, limit=self.connections.limit)
                if not self.connections.close_oldest():
                    await asyncio.sleep(BUSY_SECONDS)
        except asyncio.CancelledError:
            accepted.close()
            raise

    async def _connect(self, protocol: asyncio.Protocol, accepted: socket.socket) -> None:
        context = self.tls() if self.tls is not None else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS if context is not None else None,
                ssl_shutdown_timeout=TLS_CLOSING_SECONDS if context is not None else None,
            )
        except OSError:
            # The client disconnected, took too long or does not use TLS, which is not a fault of the server.
            self.connections.closed(protocol)

    def _warn(self, fault: str, **facts: object) -> None:
        """Log a fault, unless it has occurred shortly before."""
        now = self._loop.time()
        if now - self._warned.get(fault, -QUIET_SECONDS) >= QUIET_SECONDS:
            logger().warning(fault, **facts)
        self._warned[fault] = now
