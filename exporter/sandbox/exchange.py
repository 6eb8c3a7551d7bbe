"""A request that a scripted fault applies to, and the means to answer it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Headers: TypeAlias = list[tuple[bytes, bytes]]


class NoConnectionError(Exception):
    """The request did not come over a connection of the sandbox's own server."""


class Answer(NamedTuple):
    """The answer of an operation; its headers are without the length."""

    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, the application that would answer it, and what a fault needs: time and random bytes."""

    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send
    now: Callable[[], float]
    random_bytes: Callable[[int], bytes]
    _received: list[Message] = field(default_factory=list)

    async def pass_on(self, send: Send | None = None) -> None:
        """Let the operation answer the request."""
        await self.app(self.scope, self._replay, send or self.send)

    async def right_answer(self) -> Answer:
        """Return the answer of the operation without sending it."""
        started: list[Message] = []
        body = bytearray()

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))

        await self.pass_on(keep)
        headers = [(name, value) for name, value in started[0]["headers"] if name.lower() != b"content-length"]
        return Answer(started[0]["status"], headers, bytes(body))

    async def begin(self, status: int, headers: Headers, length: int | None, body: bytes | None = None) -> None:
        """Send a status, headers, and perhaps a part of the body; with None, its length is not announced."""
        announced = [] if length is None else [(b"content-length", b"%d" % length)]
        await self.send({"type": "http.response.start", "status": status, "headers": [*headers, *announced]})
        if body is not None:
            await self.write(body, more=True)

    async def write(self, body: bytes, *, more: bool = False) -> None:
        """Send a part of the body."""
        await self.send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(self, status: int, content_type: str | None, body: bytes, headers: Headers | None = None) -> None:
        """Send a whole answer."""
        typed = [] if content_type is None else [(b"content-type", content_type.encode())]
        await self.begin(status, [*typed, *(headers or [])], len(body))
        await self.write(body)

    async def disconnected(self) -> None:
        """Wait until the client has disconnected."""
        while (message := await self.receive())["type"] != "http.disconnect":
            self._received.append(message)

    async def pause(self, seconds: float) -> bool:
        """Wait, and return whether the client is still connected."""
        try:
            await asyncio.wait_for(self.disconnected(), seconds)
        except TimeoutError:
            return True
        return False

    def connection(self) -> asyncio.Transport:
        """Return the client's connection, for bytes that are not HTTP.

        Raises:
            NoConnectionError: there is none.
        """
        find = getattr(self.scope["app"].state, "connection", None)
        connection: asyncio.Transport | None = None if find is None else find(self.scope["client"])
        if connection is None:
            raise NoConnectionError
        return connection

    async def _replay(self) -> Message:
        """Receive the messages that arrived during a wait, and then new ones."""
        return self._received.pop(0) if self._received else await self.receive()
