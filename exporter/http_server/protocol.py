"""Reads requests, and closes a connection whose unfinished request takes too long or has too large a head."""

import asyncio
from collections.abc import Callable, Sequence
from typing import cast

import uvicorn
from starlette.types import Scope
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from exporter.http_server.connections import Connections

# The headers, with `content-length`, and the body of an answer with the status 200 that can be sent at once.
ReadyAnswer = tuple[Sequence[tuple[bytes, bytes]], bytes]
# The ASGI scope of a GET request → the answer, or None if the application has to answer.
Ready = Callable[[Scope], ReadyAnswer | None]
NOTHING_READY: Ready = lambda _scope: None  # noqa: E731 - a default

REQUEST_SECONDS = 10.0
LARGEST_HEAD = 16 * 1024


class TimeLimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose request is not complete in time; between requests, uvicorn closes idle connections.

    The base class parses in C. With uvicorn's other parser, h11, a scrape would take more processor time.
    """

    _timer: asyncio.TimerHandle | None = None
    # The number of bytes received since the last complete request, without the content of a body.
    _unfinished_bytes = 0

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, connections: Connections, ready: Ready
    ) -> None:
        super().__init__(config, server_state, {})
        self._connections = connections
        self._ready = ready

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, and limit the time of its first request."""
        super().connection_made(transport)
        self._connections.add(self, waits=self._waits, abort=transport.abort)
        # Each request gets a copy of `app_state`. The certificate is present only if the handshake has verified it.
        self.app_state["has_certificate"] = bool(transport.get_extra_info("peercert"))
        self._timer = self.loop.call_later(REQUEST_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Parse bytes from the client; limit the time of an unfinished request, and the size of its head."""
        self._unfinished_bytes += len(data)
        super().data_received(data)
        if self._unfinished_bytes > LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")
        elif self._unfinished_bytes > 0 and self._timer is None:
            self._timer = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the open connections."""
        self._stop_timer()
        self._connections.remove(self)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin a request; end the connection if two former requests have no answer yet."""
        if self.pipeline:
            # Otherwise a client could queue thousands of requests whose answers it never takes.
            self.transport.abort()
        # Bytes of this request that came with the end of the former request are not counted; 1 starts the timer.
        self._unfinished_bytes = max(1, self._unfinished_bytes)
        super().on_message_begin()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Send the answer at once if it is ready: a task for the application would take more processor time."""
        # `writelines` of some releases of Python 3.12 and 3.13 writes to a closing connection, and writes without a
        # limit (CVE-2024-12254).
        can_write = not self.transport.is_closing() and self.transport.get_write_buffer_size() == 0
        # The head below has no `Connection: close`: requests that end the connection are left to the application.
        may_be_ready = can_write and cycle.keep_alive and cycle.scope["method"] == "GET"
        answer = self._ready(cast("Scope", cycle.scope)) if may_be_ready else None
        if answer is None:
            super()._start_asgi_task(cycle, app)
            return
        headers, body = answer
        lines = (b"%s: %s\r\n" % line for line in (*self.server_state.default_headers, *headers))
        self.transport.writelines((b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n", body))
        cycle.response_complete = True
        self.on_response_complete()

    def on_body(self, body: bytes) -> None:
        """Handle a part of a request's body, which does not count towards the size of the head."""
        self._unfinished_bytes -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request; the time of the next request is counted from that request's first byte."""
        self._unfinished_bytes = 0
        self._stop_timer()
        super().on_message_complete()

    def _waits(self) -> bool:
        """Return whether the client has to act: to send a request or the rest of one, or to read an answer."""
        cycle: RequestResponseCycle | None = self.cycle
        has_request = cycle is not None and not cycle.more_body and not cycle.response_complete
        return self.flow.write_paused or not has_request

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
