"""Scripted faults, which make the answers to some requests slow or wrong."""

import asyncio
import re
import socket
import struct
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporter.sandbox.request_errors import RequestError, reasons
from exporter.sandbox.world_clock import WorldClock
from exporter.untrusted.patterns import Pattern

_NO_LINGER: Final = struct.pack("ii", 1, 0)
_GARBAGE: Final = bytes(range(128, 256))
# The paths to which no fault applies: the pages and control endpoints of the sandbox itself.
_EXEMPT: Final = re.compile(r"/|/openapi\.json|/sandbox(/.*)?", re.DOTALL)


class HttpAnswer(NamedTuple):
    """An answer; `headers` do not contain the length of the body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request to which a fault applies, and the application that would answer without the fault."""

    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send
    clock: WorldClock

    async def right_answer(self) -> HttpAnswer:
        """Return the answer of the application, without sending it."""
        head: dict[str, Any] = {}
        body = bytearray()

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                head.update(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))

        await self.app(self.scope, self.receive, keep)
        headers = [(name, value) for name, value in head["headers"] if name.lower() != b"content-length"]
        return HttpAnswer(head["status"], headers, bytes(body))

    async def answer(self, answer: HttpAnswer, part: bytes | None = None) -> None:
        """Send an answer. If `part` is given, send it instead of the whole body, and leave the answer unfinished."""
        headers = [*answer.headers, (b"content-length", b"%d" % len(answer.body))]
        await self.send({"type": "http.response.start", "status": answer.status, "headers": headers})
        body = answer.body if part is None else part
        await self.send({"type": "http.response.body", "body": body, "more_body": part is not None})

    async def wait_for_disconnect(self) -> None:
        """Wait until the client has disconnected; if a fault returned earlier, the server would end the exchange."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    def connection(self) -> asyncio.Transport:
        """Return the client's connection, which must still be open."""
        connection: asyncio.Transport = self.scope["app"].state.connection(self.scope["client"])
        return connection


def _refuse_headers_of_server(name: str) -> str:
    if name.lower() in ("content-length", "transfer-encoding", "connection"):
        raise ValueError(f"the header {name} is set by the server")
    return name


_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
_HeaderValue: TypeAlias = Annotated[str, Field(pattern="^[!-~]+( [!-~]+)*$")]
# `Pattern` raises ValueError if the text is not a valid pattern.
_PathPattern: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(lambda text: Pattern(text).pattern)]
_HeaderName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9-]+$"), AfterValidator(_refuse_headers_of_server)]


class Fault(BaseModel):
    """A fault for requests to `path`, or to the paths that `path_regex` matches as a whole.

    If both are None, the fault applies to all paths except those of the sandbox's own pages and control endpoints.
    `times` is the number of requests to which the fault applies; None means no limit.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    path: str | None = None
    path_regex: _PathPattern | None = None
    times: int | None = Field(default=None, ge=1)
    kind: str

    @model_validator(mode="after")
    def _has_at_most_one_path(self) -> Self:
        if self.path is not None and self.path_regex is not None:
            raise ValueError("give path or path_regex, not both")
        return self

    @abstractmethod
    async def apply(self, exchange: Exchange) -> None:
        """Answer the request of an exchange, slowly or wrongly; a subclass says how."""

    def applies_to(self, path: str) -> bool:
        """Return whether the fault applies to requests of a path."""
        if self.path is not None:
            return self.path == path
        return self.path_regex is None or Pattern(self.path_regex).fullmatch(path)


class StatusFault(Fault):
    """Answer with a given status, body and headers, and with Retry-After in seconds or as a date."""

    status: Annotated[int, Field(ge=200, le=599)]
    body: str = ""
    content_type: _HeaderValue | None = None
    headers: dict[_HeaderName, _HeaderValue] = {}
    retry_after: Annotated[int, Field(ge=0)] | None = None
    retry_after_date: _Seconds | None = None  # the date is this many seconds after the world's time

    async def apply(self, exchange: Exchange) -> None:
        """Send the answer."""
        headers = dict(self.headers)
        if self.content_type is not None:
            headers["content-type"] = self.content_type
        if self.retry_after is not None:
            headers["retry-after"] = str(self.retry_after)
        if self.retry_after_date is not None:
            headers["retry-after"] = formatdate(exchange.clock.now() + self.retry_after_date, usegmt=True)
        sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await exchange.answer(HttpAnswer(self.status, sent, self.body.encode()))


class DelayFault(Fault):
    """Send the right answer after a number of seconds."""

    seconds: _Seconds

    async def apply(self, exchange: Exchange) -> None:
        """Wait, and let the operation answer."""
        await asyncio.sleep(self.seconds)
        await exchange.app(exchange.scope, exchange.receive, exchange.send)


class _IncompleteFault(Fault):
    point: Literal["start", "headers", "body"] = "start"

    async def begin(self, exchange: Exchange) -> None:
        """Send the right answer up to `point`: nothing, the headers, or the headers and half of the body."""
        if self.point != "start":
            right = await exchange.right_answer()
            await exchange.answer(right, _half(right.body) if self.point == "body" else b"")


class StallFault(_IncompleteFault):
    """Send nothing, the headers, or the headers and half of the body; then wait for the client to disconnect."""

    point: Literal["start", "headers", "body"] = "body"

    async def apply(self, exchange: Exchange) -> None:
        """Send the answer up to `point`, and wait until the client has disconnected."""
        await self.begin(exchange)
        await exchange.wait_for_disconnect()


class ResetFault(_IncompleteFault):
    """Reset the connection before the headers, after them, or after half of the body."""

    async def apply(self, exchange: Exchange) -> None:
        """Send the answer up to `point`, and reset the connection."""
        connection = exchange.connection()
        await self.begin(exchange)
        # Closing a socket with a linger time of 0 sends a reset.
        connection.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.abort()
        await exchange.wait_for_disconnect()


class TruncateFault(Fault):
    """Send half of the body as a complete answer."""

    async def apply(self, exchange: Exchange) -> None:
        """Send half of the body."""
        right = await exchange.right_answer()
        await exchange.answer(right._replace(body=_half(right.body)))


class GarbageFault(Fault):
    """Send bytes that are not text, as the body or instead of HTTP."""

    place: Literal["body", "wire"] = "body"

    async def apply(self, exchange: Exchange) -> None:
        """Send the bytes."""
        if self.place == "body":
            await exchange.answer(HttpAnswer(200, [(b"content-type", b"application/json")], _GARBAGE))
            return
        connection = exchange.connection()
        connection.write(_GARBAGE)
        connection.close()
        await exchange.wait_for_disconnect()


KINDS: Final[dict[str, type[Fault]]] = {
    "status": StatusFault, "delay": DelayFault, "stall": StallFault,
    "reset": ResetFault, "truncate": TruncateFault, "garbage": GarbageFault,
}  # fmt: skip


def _half(body: bytes) -> bytes:
    return body[: len(body) // 2]


@dataclass(slots=True)
class Scripted:
    """A scripted fault, with the number of its uses so far."""

    fault_id: int
    fault: Fault
    hits: int = 0

    def summary(self) -> dict[str, Any]:
        """Return the fault as the control endpoint shows it."""
        left = None if self.fault.times is None else self.fault.times - self.hits
        return {"id": self.fault_id, **self.fault.model_dump(mode="json"), "left": left, "hits": self.hits}


class Faults:
    """The scripted faults. If several apply to a request, the oldest one that is not used up is used."""

    def __init__(self) -> None:
        self._scripted: dict[int, Scripted] = {}
        self._next_id = 1

    def add(self, given: Mapping[str, Any]) -> Scripted:
        """Add a fault from its fields, and return it; raises RequestError if the fields are not valid."""
        model = KINDS.get(str(given.get("kind")))
        if model is None:
            raise RequestError(f"kind: must be one of {', '.join(KINDS)}")
        try:
            fault = model.model_validate(given)
        except ValidationError as error:
            raise RequestError(*reasons(error)) from error
        added = Scripted(self._next_id, fault)
        self._scripted[added.fault_id] = added
        self._next_id += 1
        return added

    def all(self) -> list[Scripted]:
        """Return every fault, including those that are used up."""
        return list(self._scripted.values())

    def remove(self, fault_id: int) -> bool:
        """Remove a fault; return whether it existed."""
        return self._scripted.pop(fault_id, None) is not None

    def clear(self) -> None:
        """Remove all faults."""
        self._scripted.clear()

    def take_for(self, path: str) -> Fault | None:
        """Return the fault for a request to a path, and count the use of the fault; None if no fault applies."""
        for scripted in self._scripted.values():
            is_used_up = scripted.hits == scripted.fault.times
            if not is_used_up and scripted.fault.applies_to(path):
                scripted.hits += 1
                return scripted.fault
        return None


class FaultGate:
    """ASGI middleware that applies scripted faults, and adds the world's time as `Date` to answers without one."""

    def __init__(self, app: ASGIApp, faults: Faults, clock: WorldClock) -> None:
        self._app = app
        self._faults = faults
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or apply a fault to it."""

        async def send_dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("date", formatdate(self._clock.now(), usegmt=True))
            await send(message)

        fault = None if _EXEMPT.fullmatch(scope["path"]) else self._faults.take_for(scope["path"])
        if scope["method"] == "HEAD":
            # The routes of operations refuse HEAD, so it becomes a GET. The server leaves out the body of the answer.
            scope = {**scope, "method": "GET"}
        if fault is None:
            await self._app(scope, receive, send_dated)
        else:
            await fault.apply(Exchange(self._app, scope, receive, send_dated, self._clock))
