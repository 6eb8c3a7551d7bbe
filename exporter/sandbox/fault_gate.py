"""Applies scripted faults to requests, between the server and the operations."""

import asyncio
import json
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporter.sandbox import fault_kinds as kinds
from exporter.sandbox import index
from exporter.sandbox.answers import encode
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.faults import Faults
from exporter.sandbox.timestamps import http_date

_EXEMPT: Final = ("/sandbox/", "/openapi.json")
_CHUNK: Final = 64 * 1024
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
_JSON: Final = "application/json"
_HTML: Final = "<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>"

Headers: TypeAlias = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request that meets a fault."""

    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send
    heard: list[Message] = field(default_factory=list)

    async def replay(self) -> Message:
        """Receive the messages that arrived during a wait, and then new ones."""
        return self.heard.pop(0) if self.heard else await self.receive()

    async def right_answer(self) -> _Answer:
        """Let the operation answer, and return its answer."""
        started: list[Message] = []
        body = bytearray()

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))

        await self.app(self.scope, self.replay, keep)
        headers = [(name, value) for name, value in started[0]["headers"] if name.lower() != b"content-length"]
        return _Answer(started[0]["status"], headers, bytes(body))

    async def begin(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": list(headers)})

    async def write(self, body: bytes, *, more: bool = False) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(self, status: int, content_type: str | None, body: bytes, headers: Headers | None = None) -> None:
        typed = [] if content_type is None else [(b"content-type", content_type.encode())]
        await self.begin(status, [*typed, *(headers or []), _length(body)])
        await self.write(body)

    async def gone(self) -> None:
        """Wait until the client has disconnected."""
        while (message := await self.receive())["type"] != "http.disconnect":
            self.heard.append(message)


class FaultGate:
    """ASGI middleware that passes requests to the operations, except those that match a scripted fault."""

    def __init__(
        self,
        app: ASGIApp,
        faults: Faults,
        clock: WorldClock,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._app = app
        self._faults = faults
        self._clock = clock
        self._sleep = sleep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or apply a fault to it."""
        fault = None
        if scope["type"] == "http" and not scope["path"].startswith(_EXEMPT) and scope["path"] not in index.PATHS:
            fault = self._faults.strike(scope["method"], scope["path"])
        if fault is None:
            await self._app(scope, receive, send)
            return
        await self._deliver(fault, _Exchange(self._app, scope, receive, send))

    async def _deliver(self, fault: kinds.FaultKind, exchange: _Exchange) -> None:
        match fault:
            case kinds.Status():
                await exchange.answer(fault.status, fault.content_type, fault.body.encode(), self._headers(fault))
            case kinds.Html():
                await exchange.answer(fault.status, "text/html; charset=utf-8", _HTML.encode())
            case kinds.Envelope():
                await exchange.answer(fault.status, _JSON, encode(_failure(fault)))
            case kinds.Redirect():
                await exchange.answer(fault.status, None, b"", [(b"location", fault.location.encode())])
            case kinds.Oversize():
                await _send_oversize(fault, exchange)
            case kinds.Garbage(place="body"):
                await exchange.answer(200, _JSON, self._faults.random_bytes(fault.size))
            case kinds.Reset() | kinds.Short() | kinds.Garbage():
                await self._break(fault, exchange)
            case _:
                await self._spoil(fault, exchange)

    async def _spoil(
        self,
        fault: kinds.Delay | kinds.Stall | kinds.Drip | kinds.Truncate | kinds.WrongTypes,
        exchange: _Exchange,
    ) -> None:
        match fault:
            case kinds.Delay():
                if await self._pause(exchange, fault.seconds):
                    await exchange.app(exchange.scope, exchange.replay, exchange.send)
            case kinds.Stall():
                await _stall(fault, exchange)
            case kinds.Drip():
                await self._drip(fault, exchange)
            case kinds.Truncate() | kinds.WrongTypes():
                await _send_damaged(fault, exchange)

    def _headers(self, fault: kinds.Status) -> Headers:
        headers = [(name.lower().encode(), value.encode()) for name, value in fault.headers.items()]
        if fault.retry_after is not None:
            headers.append((b"retry-after", str(fault.retry_after).encode()))
        if fault.retry_after_date is not None:
            headers.append((b"retry-after", http_date(self._clock.now() + fault.retry_after_date).encode()))
        return headers

    async def _drip(self, fault: kinds.Drip, exchange: _Exchange) -> None:
        right = await exchange.right_answer()
        await exchange.begin(right.status, [*right.headers, _length(right.body)])
        for start in range(0, len(right.body), fault.size):
            await exchange.write(right.body[start : start + fault.size], more=True)
            if not await self._pause(exchange, fault.seconds):
                return
        await exchange.write(b"")

    async def _pause(self, exchange: _Exchange, seconds: float) -> bool:
        """Wait; return whether the client is still connected."""
        going = asyncio.ensure_future(exchange.gone())
        sleeping = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait({going, sleeping}, return_when=asyncio.FIRST_COMPLETED)
            return not going.done()
        finally:
            going.cancel()
            sleeping.cancel()

    async def _break(self, fault: kinds.Reset | kinds.Short | kinds.Garbage, exchange: _Exchange) -> None:
        """Violate HTTP, on the connection itself."""
        find = getattr(exchange.scope["app"].state, "connection", None)
        connection: asyncio.Transport | None = None if find is None else find(exchange.scope["client"])
        if connection is None:
            await exchange.answer(500, _JSON, encode({"detail": f"{fault.kind} needs a connection"}))
            return
        match fault:
            case kinds.Reset():
                if fault.point != "start":
                    right = await exchange.right_answer()
                    part = int(len(right.body) * fault.part) if fault.point == "body" else 0
                    connection.write(self._head(right, len(right.body)) + right.body[:part])
                _reset(connection)
            case kinds.Short():
                right = await exchange.right_answer()
                connection.write(self._head(right, len(right.body) + fault.missing) + right.body)
                connection.close()
            case kinds.Garbage():
                connection.write(self._faults.random_bytes(fault.size))
                connection.close()
        await exchange.gone()

    def _head(self, right: _Answer, length: int) -> bytes:
        headers = [
            *right.headers,
            (b"date", http_date(self._clock.now()).encode()),
            (b"content-length", b"%d" % length),
        ]
        lines = [f"HTTP/1.1 {right.status} Sandbox".encode(), *(name + b": " + value for name, value in headers)]
        return b"\r\n".join(lines) + b"\r\n\r\n"


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", b"%d" % len(body)


def _reset(connection: asyncio.Transport) -> None:
    # Closing a socket that does not linger sends a reset.
    connection.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    connection.abort()


def _failure(fault: kinds.Envelope) -> dict[str, Any]:
    error: dict[str, Any] = {"success": False, "message": fault.message, "errorKey": fault.error_key}
    if fault.status_code is not None:
        error["statusCode"] = fault.status_code
    return {"data": None, "error": error}


async def _stall(fault: kinds.Stall, exchange: _Exchange) -> None:
    if fault.point != "start":
        right = await exchange.right_answer()
        await exchange.begin(right.status, [*right.headers, _length(right.body)])
        part = int(len(right.body) * fault.part) if fault.point == "body" else 0
        await exchange.write(right.body[:part], more=True)
    await exchange.gone()


async def _send_damaged(fault: kinds.Truncate | kinds.WrongTypes, exchange: _Exchange) -> None:
    right = await exchange.right_answer()
    if isinstance(fault, kinds.Truncate):
        damaged = right.body[: int(len(right.body) * fault.part)]
    else:
        try:
            damaged = encode(wrong_types(json.loads(right.body)))
        except ValueError:
            damaged = right.body
    await exchange.begin(right.status, [*right.headers, _length(damaged)])
    await exchange.write(damaged)


async def _send_oversize(fault: kinds.Oversize, exchange: _Exchange) -> None:
    length = [(b"content-length", b"%d" % fault.size)] if fault.announced else []
    await exchange.begin(200, [(b"content-type", _JSON.encode()), *length])
    for start in range(0, fault.size, _CHUNK):
        await exchange.write(b" " * min(_CHUNK, fault.size - start), more=True)
    await exchange.write(b"")


def wrong_types(content: Any) -> Any:  # noqa: ANN401 - whatever JSON can say
    """Return JSON of the same form, in which every value has another type."""
    match content:
        case dict():
            return {key: wrong_types(value) for key, value in content.items()} if content else []
        case list():
            return [wrong_types(value) for value in content] if content else {}
        case str():
            return {"wrong": True}
        case None:
            return None
        case _:
            return "wrong"
