"""A transport that asks an application within the process, by no socket."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import httpx
from starlette.types import ASGIApp

from exporter.platform.http.request import Message


@dataclass(frozen=True)
class AsgiReply:
    """An answer of the application; its headers can be changed."""

    response: httpx.Response

    @property
    def status(self) -> int:
        """See `Reply.status`."""
        return self.response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """See `Reply.headers`."""
        return self.response.headers

    def pieces(self) -> AsyncIterator[bytes]:
        """See `Reply.pieces`."""
        return self.response.aiter_raw()

    async def close(self) -> None:
        """See `Reply.close`."""
        await self.response.aclose()


class AsgiTransport:
    """See `exporter.platform.http.transport.Transport`.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._transport = httpx.ASGITransport(app)

    async def open(self) -> None:
        """Do nothing."""

    async def send(self, message: Message, connect_seconds: float) -> AsgiReply:
        """Ask the application, with no connection to wait for."""
        del connect_seconds
        request = httpx.Request(message.method, message.url, headers=message.headers, content=message.content)
        return AsgiReply(await self._transport.handle_async_request(request))

    async def close(self) -> None:
        """Close it."""
        await self._transport.aclose()
