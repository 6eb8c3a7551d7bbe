"""Sends the request of a call, and translates its errors into messages and exit codes."""

import time
from dataclasses import replace
from typing import TypeVar

from exporter.clients import client_of
from exporter.commands.call.choice import Line
from exporter.commands.call.request import Result, Task
from exporter.platform.errors import (
    CredentialError,
    Forbidden,
    NotFound,
    PlatformError,
    RateLimited,
    TransportError,
    Unauthorized,
)
from exporter.platform.http.client import Client
from exporter.platform.http.observer import Deaf
from exporter.platform.operation import Answer, Request

T = TypeVar("T")

UNREACHABLE = 3
UNAUTHORISED = 4
NOT_FOUND = 5
RATE_LIMITED = 6
_NOT_FOUND_STATUS = 404
_NOT_FOUND_KEY = "not_found"
# The time limit of a call, as a number of attempts; a longer wait that the platform asks for is not made.
_MOST_ATTEMPTS = 3


def exit_code(error: PlatformError) -> int:
    """Return the exit code of an error."""
    match error:
        case TransportError():
            return UNREACHABLE
        case Unauthorized() | Forbidden() | CredentialError():
            return UNAUTHORISED
        case RateLimited():
            return RATE_LIMITED
        case _:
            is_absent = isinstance(error, NotFound) or error.status == _NOT_FOUND_STATUS
            return NOT_FOUND if is_absent or error.error_key.startswith(_NOT_FOUND_KEY) else 1


def description(error: PlatformError) -> str:
    """Return the text of an error: the platform's message, its error key and the wrong fields."""
    message = str(error)
    lines = [message]
    if error.error_key and error.error_key not in message:
        lines.append(f"  error key: {error.error_key}")
    lines.extend(f"  {name}: {said}" for name, said in error.fields if f"{name}: {said}" not in message)
    return "\n".join(lines)


class Direct:
    """Sends requests; one that may change something is never retried."""

    def __init__(self, client: Client, timeout: float, *, writes: bool) -> None:
        self._caller = client.until(time.monotonic() + _MOST_ATTEMPTS * timeout)
        self._writes = writes

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request; mark it as a write if it may write, so that it is not retried."""
        return await self._caller.call(self._marked(request))

    async def find(self, request: Request[T]) -> Answer[T | None]:
        """Send a request whose value may be None, marked like that of `call`."""
        return await self._caller.find(self._marked(request))

    def _marked(self, request: Request[T]) -> Request[T]:
        return replace(request, operation=replace(request.operation, writes=True)) if self._writes else request


async def send(task: Task, line: Line) -> Result:
    """Carry out a call on an account or a database; a single call has the whole budget.

    Raises:
        PlatformError: there is no usable answer.
    """
    client = client_of(line.settings, Deaf(), 1)
    try:
        return await task.carry_out(Direct(client, line.settings.timeout, writes=task.writes))
    finally:
        await client.aclose()
