"""A transport that calls an application in the same process, without a socket."""

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
        """Implement `Reply.status`."""
        return self.response.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """Implement `Reply.headers`."""
        return self.response.headers

    def pieces(self) -> AsyncIterator[bytes]:
        """Implement `Reply.pieces`."""
        return self.response.aiter_raw()

    async def close(self) -> None:
        """Implement `Reply.close`."""
        await self.response.aclose()


class AsgiTransport:
    """Implements `exporter.platform.http.transport.Transport`.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._transport = httpx.ASGITransport(app)

    async def open(self) -> None:
        """Do nothing."""

    async def send(self, message: Message, connect_seconds: float) -> AsgiReply:
        """Call the application; there is no connection to wait for."""
        del connect_seconds
        request = httpx.Request(message.method, message.url, headers=message.headers, content=message.content)
        return AsgiReply(await self._transport.handle_async_request(request))

    async def close(self) -> None:
        """Do nothing."""
        await self._transport.aclose()
