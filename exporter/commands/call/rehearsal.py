"""Builds the request of a call without sending it."""

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from exporter.platform.http.request import Message, message_of
from exporter.platform.operation import Request

T = TypeVar("T")


class RehearsedError(Exception):
    """Raised instead of sending a request; contains the request."""

    def __init__(self, message: Message, body: Mapping[str, Any] | None) -> None:
        super().__init__()
        self.message = message
        self.body = body


class Rehearsal:
    """A caller that sends nothing: its first call raises the request as `RehearsedError`.

    Args:
        base_url: the address that calls go to.
    """

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url

    async def call(self, request: Request[T]) -> NoReturn:
        """Raise `RehearsedError` with the request in place of sending it."""
        raise RehearsedError(message_of(self._base_url, request), request.body)

    async def find(self, request: Request[T]) -> NoReturn:
        """Raise `RehearsedError` as `call` does."""
        await self.call(request)
