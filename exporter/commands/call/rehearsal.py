"""Builds the request of a call without sending it."""

from typing import Any, NoReturn, TypeVar

from exporter.platform.operation import Request

T = TypeVar("T")


class RehearsedError(Exception):
    """Raised instead of sending a request; contains the request."""

    def __init__(self, request: Request[Any]) -> None:
        super().__init__()
        self.request = request


class Rehearsal:
    """A caller that sends nothing: its first call raises the request as `RehearsedError`."""

    async def call(self, request: Request[T]) -> NoReturn:
        """Raise `RehearsedError` with the request in place of sending it."""
        raise RehearsedError(request)

    async def find(self, request: Request[T]) -> NoReturn:
        """Raise `RehearsedError` as `call` does."""
        await self.call(request)
