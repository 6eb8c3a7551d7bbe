"""Reads requests within limits of time and size, and closes the connections that exceed them."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from exporter.http_server.connections import Connections

REQUEST_SECONDS = 10.0
LARGEST_HEAD = 16 * 1024
MOST_PIPELINED = 16
# Larger pieces are not copied to be joined.
LARGEST_JOINED = 64 * 1024


class RequestRefusedError(Exception):
    """Makes the parser treat a request as invalid."""


class TimeLimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose request is not complete in time; uvicorn closes those that are idle between requests.

    Also reports to `connections` whether the connection waits for its client. The parser is written in C: a scrape of
    1,000 series takes 40 % less processor time than with h11.
    """

    seconds: float = REQUEST_SECONDS
    _timer: asyncio.TimerHandle | None = None
    # Whether the last received data ended with the end of a request.
    _is_between_requests: bool
    # The received bytes of the present request, without its body.
    _head = 0
    # The request that is being answered; `cycle` is the last received one.
    _answered: RequestResponseCycle | None = None

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any], connections: Connections
    ) -> None:
        super().__init__(config, server_state, app_state)
        self.url, self.headers = b"", []
        self._connections = connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and start the time of its first request."""
        super().connection_made(transport)
        self._connections.opened(self, transport.abort)
        self._timer = self.loop.call_later(self.seconds, self._abort)

    def data_received(self, data: bytes) -> None:
        """Parse what the client sent; refuse a head that is too large."""
        self._is_between_requests = False
        self._head += len(data)
        super().data_received(data)
        self._report()
        if self.transport.is_closing():
            return
        if self._is_between_requests:
            self._stop_timer()
        elif self._has_large_head():
            self.send_400_response("")
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer that is under way, and forget the connection."""
        self._stop_timer()
        self._connections.closed(self)
        if self._answered is not None:
            self._answered.disconnected = True
            self._answered.message_event.set()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin a request."""
        if len(self.pipeline) >= MOST_PIPELINED:
            raise RequestRefusedError
        self._is_between_requests = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check the head of a request, and start to answer."""
        if self._parsed() > LARGEST_HEAD:
            raise RequestRefusedError
        version, hosts = self.parser.get_http_version(), sum(name == b"host" for name, _ in self.headers)
        if version not in ("1.0", "1.1") or hosts > 1 or (version == "1.1" and not hosts):
            raise RequestRefusedError
        if not self.url.startswith(b"/"):
            self.url, host = _origin_form(self.url)
            self.headers[:] = [(name, host if name == b"host" else value) for name, value in self.headers]
        is_next = self._answered is None or self._answered.response_complete
        super().on_headers_complete()
        # What a chunked body has at its end is no header of the request.
        self.headers = []
        self.cycle.transport = JoinedWriter(self.transport, self.cycle)
        if is_next:
            self._answered = self.cycle
        if self.parser.should_upgrade():
            # The parser would treat the following bytes as another protocol, and only HTTP/1.1 is served here.
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Handle a part of a request's body; it does not count towards the head's size."""
        self._head -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request: no time limit applies until the next one begins."""
        self._is_between_requests = True
        self._head = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request and close the connection, after the answer to the request before it."""
        if self._answered is None or self._answered.response_complete:
            super().send_400_response("The head of the request is too large." if self._has_large_head() else msg)
            return
        self._answered.keep_alive = False
        self.pipeline.clear()
        self.flow.pause_reading()

    def on_response_complete(self) -> None:
        """Report that an answer is complete; the next request of the connection may have begun."""
        if self.pipeline:
            self._answered, _ = self.pipeline[-1]
        super().on_response_complete()
        self._report()

    def pause_writing(self) -> None:
        """Stop writing: the client reads its answer more slowly than it is sent."""
        super().pause_writing()
        self._connections.waits(self)

    def resume_writing(self) -> None:
        """Write again: the client has read."""
        super().resume_writing()
        self._report()

    def _report(self) -> None:
        cycle = self._answered
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            self._connections.works(self)
        else:
            self._connections.waits(self)

    def _parsed(self) -> int:
        # One read may contain several requests: this is the target and the headers of the present one.
        return len(self.url) + sum(len(name) + len(value) + len(": \r\n") for name, value in self.headers)

    def _has_large_head(self) -> bool:
        return max(self._head, self._parsed()) > LARGEST_HEAD

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()


class JoinedWriter(asyncio.Transport):
    """The transport of one answer, which sends the head together with the beginning of the body.

    This saves a system call, and the client wakes once: a scrape of 1,000 series takes 15 % less processor time here,
    and a quarter less time at the client.

    Args:
        transport: the connection.
        cycle: the answer.
    """

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle) -> None:
        super().__init__()
        self._transport = transport
        self._cycle = cycle
        self._head: bytes | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write to the connection, or keep the head; `100 Continue`, which precedes an answer, is sent at once."""
        if self._transport.is_closing():
            # The client has disconnected during the answer; asyncio would log each further write.
            return
        # An answer to HEAD has no body.
        if self._head is None and self._cycle.response_started and self._cycle.scope["method"] != "HEAD":
            self._head = bytes(data)
        elif self._head and len(data) <= LARGEST_JOINED:
            self._transport.write(self._head + data)
            self._head = b""
        else:
            if self._head:
                self._transport.write(self._head)
                self._head = b""
            self._transport.write(data)

    def is_closing(self) -> bool:
        """Return whether the connection is closing or closed."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Close the connection; the head of an answer without a body is sent before."""
        if self._head:
            self._transport.write(self._head)
        self._transport.close()


def _origin_form(target: bytes) -> tuple[bytes, bytes]:
    """Split a request target in absolute form (RFC 9112 section 3.2.2) into its path with the query, and its host."""
    try:
        scheme, host, path, query, _ = urlsplit(target)
    except ValueError:
        raise RequestRefusedError from None
    if scheme not in (b"http", b"https") or not host or b"@" in host:
        raise RequestRefusedError
    return (path or b"/") + (b"?" + query if query else b""), host
