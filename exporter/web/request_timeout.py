"""How long a client may take over its request: connections that say nothing, or say it drop by drop, are closed."""

import asyncio
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from exporter.web.connections import Connections

REQUEST_SECONDS = 10.0
LARGEST_HEAD = 16 * 1024


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose request is not whole in time; one that waits between requests is uvicorn's to close.

    It also reports to `connections` whether it waits for its client.
    """

    seconds: float = REQUEST_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._connections = connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._connections.opened(self, transport.abort)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        super().data_received(data)
        self._report()
        is_between_requests = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        if is_between_requests or self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_timer()
        elif self._timer is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._stop_timer()
        self._connections.closed(self)
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Report that an answer is complete; the next request of the connection may have begun."""
        super().on_response_complete()
        self._report()

    def pause_writing(self) -> None:
        """See `asyncio.Protocol`: the client takes its answer more slowly than it is made."""
        super().pause_writing()
        self._connections.waits(self)

    def resume_writing(self) -> None:
        """See `asyncio.Protocol`."""
        super().resume_writing()
        self._report()

    def _report(self) -> None:
        # uvicorn declares it without None, which it is before the first request.
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            self._connections.works(self)
        else:
            self._connections.waits(self)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self._lose_patience)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _lose_patience(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.abort()
