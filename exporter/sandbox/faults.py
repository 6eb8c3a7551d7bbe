"""Scripted faults: what a fault does, such as a slow or broken answer, to which requests, and how often."""

import asyncio
import random
import socket
import struct
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from exporter.foreign.patterns import Pattern
from exporter.sandbox.exchange import Answer, Exchange
from exporter.sandbox.request_errors import RequestError, reasons

_NO_LINGER: Final = struct.pack("ii", 1, 0)


def _free(name: str) -> str:
    if name.lower() in ("content-length", "transfer-encoding", "connection"):
        raise ValueError(f"the header {name} is set by the server")
    return name


_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
_Part: TypeAlias = Annotated[float, Field(ge=0, lt=1)]
_Visible: TypeAlias = Annotated[str, Field(pattern="^[!-~]+( [!-~]+)*$")]
_HeaderName: TypeAlias = Annotated[str, Field(pattern="^[A-Za-z0-9-]+$"), AfterValidator(_free)]


class Fault(BaseModel):
    """The fields of every fault: which requests it applies to, and how often."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    method: str | None = None
    path: str | None = None
    path_regex: Annotated[str, AfterValidator(lambda text: Pattern(text) and text)] | None = None
    times: int | None = Field(default=None, ge=1)
    probability: float = Field(default=1.0, gt=0, le=1)
    kind: str

    @model_validator(mode="after")
    def _has_one_path(self) -> Self:
        if self.path is not None and self.path_regex is not None:
            raise ValueError("give path or path_regex, not both")
        return self

    @abstractmethod
    async def apply(self, exchange: Exchange) -> None:
        """Answer a request."""

    def applies_to(self, method: str, path: str) -> bool:
        """Return whether the fault applies to a request."""
        if self.method is not None and self.method.upper() != method:
            return False
        if self.path is not None:
            return self.path == path
        return self.path_regex is None or Pattern(self.path_regex).fullmatch(path)


class Status(Fault):
    """Answer with any status, body and headers; Retry-After in seconds or as a date of the world's clock."""

    status: Annotated[int, Field(ge=200, le=599)]
    body: str = ""
    content_type: _Visible | None = None
    headers: dict[_HeaderName, _Visible] = {}
    retry_after: Annotated[int, Field(ge=0)] | None = None
    retry_after_date: _Seconds | None = None

    async def apply(self, exchange: Exchange) -> None:
        """Send the answer."""
        headers = dict(self.headers)
        if self.content_type is not None:
            headers["content-type"] = self.content_type
        if self.retry_after is not None:
            headers["retry-after"] = str(self.retry_after)
        if self.retry_after_date is not None:
            headers["retry-after"] = formatdate(exchange.now() + self.retry_after_date, usegmt=True)
        sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await exchange.answer(Answer(self.status, sent, self.body.encode()))


class Delay(Fault):
    """Send the right answer after a delay."""

    seconds: _Seconds

    async def apply(self, exchange: Exchange) -> None:
        """Wait, and let the operation answer."""
        await asyncio.sleep(self.seconds)
        await exchange.app(exchange.scope, exchange.receive, exchange.send)


class _Incomplete(Fault):
    """The fields of a fault that ends an answer before its end."""

    point: Literal["start", "headers", "body"] = "start"
    part: _Part = 0.5

    async def begin(self, exchange: Exchange) -> None:
        """Send nothing, the headers of the right answer, or a part of its body as well."""
        if self.point != "start":
            right = await exchange.right_answer()
            await exchange.answer(right, _part(right.body, self.part) if self.point == "body" else b"")


class Stall(_Incomplete):
    """Send nothing, the headers, or a part of the body, and then nothing more."""

    point: Literal["start", "headers", "body"] = "body"

    async def apply(self, exchange: Exchange) -> None:
        """Begin the answer, and wait until the client has gone."""
        await self.begin(exchange)
        await exchange.disconnected()


class Reset(_Incomplete):
    """Reset the connection: before the headers, after them, or within the body."""

    async def apply(self, exchange: Exchange) -> None:
        """Begin the answer, and reset."""
        connection = exchange.connection()
        await self.begin(exchange)
        # Closing a socket with a linger time of 0 sends a reset.
        connection.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.abort()
        await exchange.disconnected()


class Truncate(Fault):
    """Send a part of the body as if it were the whole, so that the JSON is incomplete."""

    part: _Part = 0.5

    async def apply(self, exchange: Exchange) -> None:
        """Send the part."""
        right = await exchange.right_answer()
        await exchange.answer(right._replace(body=_part(right.body, self.part)))


class Garbage(Fault):
    """Send random bytes as the body, or instead of HTTP."""

    place: Literal["body", "wire"] = "body"
    size: Annotated[int, Field(ge=1, le=64 * 1024 * 1024)] = 512

    async def apply(self, exchange: Exchange) -> None:
        """Send the bytes."""
        sent = exchange.random_bytes(self.size)
        if self.place == "body":
            await exchange.answer(Answer(200, [(b"content-type", b"application/json")], sent))
            return
        connection = exchange.connection()
        connection.write(sent)
        connection.close()
        await exchange.disconnected()


KINDS: Final[dict[str, type[Fault]]] = {
    "status": Status, "delay": Delay, "stall": Stall, "reset": Reset, "truncate": Truncate, "garbage": Garbage,
}  # fmt: skip


def _part(body: bytes, part: float) -> bytes:
    return body[: int(len(body) * part)]


@dataclass(slots=True)
class Scripted:
    """A scripted fault, with the number of its uses."""

    fault_id: int
    fault: Fault
    hits: int = 0

    def summary(self) -> dict[str, Any]:
        """Return the fault as the control endpoint shows it."""
        left = None if self.fault.times is None else self.fault.times - self.hits
        return {"id": self.fault_id, **self.fault.model_dump(mode="json"), "left": left, "hits": self.hits}


class Faults:
    """The scripted faults; of those that apply to a request and are not used up, the oldest is used."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)  # noqa: S311 - repeatable, and no secret
        self._scripted: dict[int, Scripted] = {}
        self._next = 1

    def add(self, given: Mapping[str, Any]) -> Scripted:
        """Script a fault with these fields; raises RequestError if they are not valid."""
        model = KINDS.get(str(given.get("kind")))
        if model is None:
            raise RequestError(f"kind: must be one of {', '.join(KINDS)}")
        try:
            fault = model.model_validate(given)
        except ValidationError as error:
            raise RequestError(*reasons(error)) from error
        added = self._scripted[self._next] = Scripted(self._next, fault)
        self._next += 1
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

    def take_for(self, method: str, path: str) -> Fault | None:
        """Return the fault for a request, and count its use; None if there is none."""
        for scripted in self._scripted.values():
            fault = scripted.fault
            if scripted.hits == fault.times or not fault.applies_to(method, path):
                continue
            if fault.probability == 1 or self.random.random() < fault.probability:
                scripted.hits += 1
                return fault
        return None
