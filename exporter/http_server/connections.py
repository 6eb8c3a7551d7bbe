"""Keeps open connections within a limit: the oldest without a complete request is closed for a new one."""

import asyncio
import errno
import resource
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from exporter.log import logger

BACKLOG = 1024
# Connections that are accepted in one turn of the loop, or one at the limit; others wait in the system's queue.
BATCH = 128
# The number of connections that are closed when the system has no file descriptor left.
CLOSED_AT_ONCE = 32
HANDSHAKE_SECONDS = 10.0
TLS_CLOSING_SECONDS = 2.0
# After this time the system disconnects a client that does not read its answer.
UNTAKEN_SECONDS = 30.0
RETRY_SECONDS = 0.5
BUSY_SECONDS = 0.02
# A fault has ended when it has not occurred for this time.
QUIET_SECONDS = 10.0
_GONE = (errno.EAGAIN, errno.EINTR, errno.ECONNABORTED, errno.EPROTO)


class ListenError(Exception):
    """An address cannot be used to listen on; the message names it."""


@contextmanager
def listening_on(host: str, port: int) -> Iterator[None]:
    """Raise ListenError for an OSError of the block."""
    try:
        yield
    except OSError as error:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise ListenError(f"cannot listen on {address}: {error.strerror or error}") from error


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
    """The open connections, and which of them wait for their clients.

    A connection waits for its client while it has no complete request, or while the client does not take the answer.

    Args:
        limit: how many may be open.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: dict[object, Callable[[], None]] = {}
        # Oldest first.
        self._waiting: dict[object, None] = {}

    def opened(self, connection: object, abort: Callable[[], None]) -> None:
        """Count a new connection, or change how a counted one is closed."""
        self._open[connection] = abort
        self.waits(connection)

    def waits(self, connection: object) -> None:
        """Note that a connection waits for its client; one that is already waiting keeps its place."""
        if connection in self._open:
            self._waiting.setdefault(connection)

    def works(self, connection: object) -> None:
        """Note that a connection has a complete request, which is being answered."""
        self._waiting.pop(connection, None)

    def closed(self, connection: object) -> None:
        """Forget a connection that has ended."""
        self._open.pop(connection, None)
        self._waiting.pop(connection, None)

    def has_room(self) -> bool:
        """Return whether another connection may be opened."""
        return len(self._open) < self.limit

    def close_oldest(self) -> bool:
        """Close the connection that has waited longest for its client; return False if none waits."""
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        abort = self._open[oldest]
        self.closed(oldest)
        abort()
        return True


@dataclass(eq=False)
class Acceptor:
    """Accepts connections on a bound socket, within a limit.

    asyncio's own server accepts without a limit. When no file descriptor is left, it logs a traceback for each attempt.

    Attributes:
        bound: the socket; it is closed by its owner.
        make_protocol: makes the protocol of a connection.
        connections: the open connections.
        tls: returns the TLS context of the next connection; None for plain HTTP.
    """

    bound: socket.socket
    make_protocol: Callable[[], asyncio.Protocol]
    connections: Connections
    tls: Callable[[], Awaitable[ssl.SSLContext]] | None = None
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _handshakes: set[asyncio.Task[None]] = field(default_factory=set)
    _resumption: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self._crowding = _Episode("connection limit reached, the oldest without a request are closed for new ones")
        self._failing = _Episode("connections cannot be accepted")

    def start(self) -> None:
        """Listen, and accept connections from now on; raises ListenError if another process listens there."""
        self.bound.settimeout(0)
        with suppress(OSError):
            self.bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(UNTAKEN_SECONDS * 1000))
        with listening_on(*self.bound.getsockname()[:2]):
            self.bound.listen(BACKLOG)
        self._resume()

    def close(self) -> None:
        """Accept no more connections, and drop those whose handshake has not ended."""
        self._loop.remove_reader(self.bound)
        if self._resumption is not None:
            self._resumption.cancel()
        for handshake in self._handshakes:
            handshake.cancel()

    def _resume(self) -> None:
        self._loop.add_reader(self.bound, self._accept)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self.bound)
        self._resumption = self._loop.call_later(seconds, self._resume)

    def _accept(self) -> None:
        for accepted_before in range(BATCH):
            if not self.connections.has_room():
                if accepted_before:
                    # Another waiting client is seen in the next turn of the loop; only then is a connection closed for
                    # it.
                    return
                self._crowding.goes_on(limit=self.connections.limit)
                if not self.connections.close_oldest():
                    # All connections have complete requests, which end soon; new ones wait in the system's queue until
                    # then.
                    self._pause(BUSY_SECONDS)
                    return
            try:
                accepted, _ = self.bound.accept()
            except OSError as error:
                if error.errno not in _GONE:
                    self._make_room(error)
                return
            protocol = self.make_protocol()
            self.connections.opened(protocol, partial(_hang_up, accepted))
            handshake = self._loop.create_task(self._connect(protocol, accepted))
            self._handshakes.add(handshake)
            handshake.add_done_callback(self._handshakes.discard)

    def _make_room(self, error: OSError) -> None:
        """Close some connections because the system refuses a further one, and accept again soon."""
        self._failing.goes_on(error=error.strerror or str(error))
        for _ in range(CLOSED_AT_ONCE):
            self.connections.close_oldest()
        self._pause(RETRY_SECONDS)

    async def _connect(self, protocol: asyncio.Protocol, accepted: socket.socket) -> None:
        try:
            context = await self.tls() if self.tls is not None else None
        except asyncio.CancelledError:
            accepted.close()
            raise
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


def _hang_up(accepted: socket.socket) -> None:
    """End a connection that has no protocol yet; asyncio reads its end and closes the socket."""
    with suppress(OSError):
        accepted.shutdown(socket.SHUT_RDWR)


class _Episode:
    """Logs a fault once when it begins and once when it has ended, however often it occurs in between."""

    def __init__(self, fault: str) -> None:
        self._fault = fault
        self._end: asyncio.TimerHandle | None = None

    def goes_on(self, **facts: object) -> None:
        """Note that the fault occurs."""
        if self._end is None:
            logger().warning(self._fault, **facts)
        else:
            self._end.cancel()
        self._end = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._ended)

    def _ended(self) -> None:
        self._end = None
        logger().info("the fault has ended", fault=self._fault)
