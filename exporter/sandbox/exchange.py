"""A request that a scripted fault applies to, and the means to answer it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Answer(NamedTuple):
    """An answer; its headers are without the length."""

    status: int
    headers: list[tuple[bytes, bytes]]
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

    async def right_answer(self) -> Answer:
        """Return the answer of the operation without sending it."""
        started: list[Message] = []
        body = bytearray()

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))

        await self.app(self.scope, self.receive, keep)
        headers = [(name, value) for name, value in started[0]["headers"] if name.lower() != b"content-length"]
        return Answer(started[0]["status"], headers, bytes(body))

    async def answer(self, answer: Answer, sent: bytes | None = None) -> None:
        """Send an answer, or its headers and another part `sent` of its body, after which more is expected."""
        length = (b"content-length", b"%d" % len(answer.body))
        headers = [*answer.headers, length]
        await self.send({"type": "http.response.start", "status": answer.status, "headers": headers})
        body = answer.body if sent is None else sent
        await self.send({"type": "http.response.body", "body": body, "more_body": sent is not None})

    async def disconnected(self) -> None:
        """Wait until the client has disconnected."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    def connection(self) -> asyncio.Transport:
        """Return the client's connection to the sandbox's server, for bytes that are not HTTP."""
        connection: asyncio.Transport = self.scope["app"].state.connection(self.scope["client"])
        return connection
