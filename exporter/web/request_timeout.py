"""How long a client may take over its request: connections that say nothing, or say it drop by drop, are closed."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
LARGEST_HEAD = 16 * 1024


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose request is not whole in time; one that waits between requests is uvicorn's to close.

    Without it, a few hundred silent connections would use up the limit and keep Prometheus out.
    """

    seconds: float = REQUEST_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        super().data_received(data)
        is_between_requests = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        if is_between_requests or self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_timer()
        elif self._timer is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._stop_timer()
        super().connection_lost(exc)

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
