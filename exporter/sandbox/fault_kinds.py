"""The kinds of faults: each is a function that answers a request; its parameters are the fault's own fields."""

import inspect
import json
import re
import socket
import struct
from collections.abc import Callable, Coroutine
from email.utils import formatdate
from itertools import product
from typing import Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from exporter.foreign.patterns import Pattern
from exporter.sandbox.answers import encode, refused
from exporter.sandbox.exchange import Exchange

LARGEST_BODY: Final = 64 * 1024 * 1024
_CHUNK: Final = 64 * 1024
_NO_LINGER: Final = struct.pack("ii", 1, 0)
_JSON: Final = "application/json"
_HTML: Final = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in</h1></body></html>"
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_FRAMING: Final = frozenset({"content-length", "transfer-encoding", "connection"})
_WITHOUT_BODY: Final = frozenset({204, 205, 304})
_UNWRITABLE: Final = frozenset(chr(code) for code in (*range(9), *range(10, 32), 127))


def _header_value(text: str) -> str:
    if text != text.strip() or not text.isascii() or _UNWRITABLE.intersection(text):
        raise ValueError("a header's value is printable ASCII without spaces around it")
    return text


def _header_name(text: str) -> str:
    if _TOKEN.fullmatch(text) is None:
        raise ValueError("a header's name has only letters, digits and !#$%&'*+-.^_`|~")
    if text.lower() in _FRAMING:
        raise ValueError(f"the header {text} is set by the server")
    return text


_HeaderName: TypeAlias = Annotated[str, AfterValidator(_header_name)]
_HeaderValue: TypeAlias = Annotated[str, AfterValidator(_header_value)]
_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
_Part: TypeAlias = Annotated[float, Field(ge=0, lt=1)]
_Point: TypeAlias = Literal["start", "headers", "body"]
_Size: TypeAlias = Annotated[int, Field(ge=1, le=LARGEST_BODY)]
_Status: TypeAlias = Annotated[int, Field(ge=200, le=599)]


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
    def _makes_sense(self) -> Self:
        given = self.model_dump()
        if self.path is not None and self.path_regex is not None:
            raise ValueError("give path or path_regex, not both")
        if given.get("body") and given["status"] in _WITHOUT_BODY:
            raise ValueError(f"a status of {given['status']} has no body")
        if given.get("retry_after") is not None and given["retry_after_date"] is not None:
            raise ValueError("give retry_after or retry_after_date, not both")
        return self

    def applies_to(self, method: str, path: str) -> bool:
        """Return whether the fault applies to a request."""
        if self.method is not None and self.method.upper() != method:
            return False
        if self.path is not None:
            return self.path == path
        return self.path_regex is None or Pattern(self.path_regex).fullmatch(path)

    def can_meet(self, path: str) -> bool:
        """Return whether the fault could apply to a path of the platform, whatever the ids in its braces are."""
        if self.path is not None:
            return re.fullmatch(re.sub("{.*?}", "[^/]+", path), self.path) is not None
        if self.path_regex is None:
            return True
        pattern, words = Pattern(self.path_regex), re.findall(r"\w+", self.path_regex)
        plain = re.sub("{.*?}", "{}", path)
        ids = (*product(words, repeat=plain.count("{")), *((number,) * 2 for number in range(1_200)))
        return any(pattern.fullmatch(plain.format(*given)) for given in ids)

    async def apply(self, exchange: Exchange) -> None:
        """Answer a request."""
        await _BY_NAME[self.kind](exchange, **self.model_dump(exclude={*Fault.model_fields}))


async def status(
    exchange: Exchange,
    *,
    status: _Status,
    body: str = "",
    content_type: _HeaderValue | None = None,
    headers: dict[_HeaderName, _HeaderValue] = Field(default_factory=dict),  # noqa: B008 - read by `_model`
    retry_after: Annotated[int, Field(ge=0)] | None = None,
    retry_after_date: _Seconds | None = None,
) -> None:
    """Answer with any status, body and headers; Retry-After in seconds or as a date of the world's clock."""
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    if retry_after is not None:
        sent.append((b"retry-after", str(retry_after).encode()))
    if retry_after_date is not None:
        sent.append((b"retry-after", formatdate(exchange.now() + retry_after_date, usegmt=True).encode()))
    await exchange.answer(status, content_type, body.encode(), sent)


async def delay(exchange: Exchange, seconds: _Seconds) -> None:
    """Send the right answer after a delay."""
    if await exchange.pause(seconds):
        await exchange.pass_on()


async def stall(exchange: Exchange, point: _Point = "body", part: _Part = 0.5) -> None:
    """Send nothing, the headers, or a part of the body, and then nothing more."""
    await _begin(exchange, point, part)
    await exchange.disconnected()


async def drip(exchange: Exchange, seconds: _Seconds, size: Annotated[int, Field(ge=1)] = 1) -> None:
    """Send the body in small pieces at regular intervals."""
    right = await exchange.right_answer()
    await exchange.begin(right.status, right.headers, len(right.body))
    for start in range(0, len(right.body), size):
        await exchange.write(right.body[start : start + size], more=True)
        if not await exchange.pause(seconds):
            return
    await exchange.write(b"")


async def reset(exchange: Exchange, point: _Point = "start", part: _Part = 0.5) -> None:
    """Reset the connection: before the headers, after them, or within the body."""
    connection = exchange.connection()
    await _begin(exchange, point, part)
    # Closing a socket with a linger time of 0 sends a reset.
    connection.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    connection.abort()
    await exchange.disconnected()


async def truncate(exchange: Exchange, part: _Part = 0.5) -> None:
    """Send a part of the body as if it were the whole, so that the JSON is incomplete."""
    right = await exchange.right_answer()
    await exchange.answer(right.status, None, _part(right.body, part), right.headers)


async def short(exchange: Exchange, missing: Annotated[int, Field(ge=1)] = 100) -> None:
    """Announce a longer body than is sent, and close the connection."""
    connection = exchange.connection()
    right = await exchange.right_answer()
    await exchange.begin(right.status, right.headers, len(right.body) + missing, right.body)
    connection.close()
    await exchange.disconnected()


async def garbage(exchange: Exchange, place: Literal["body", "wire"] = "body", size: _Size = 512) -> None:
    """Send random bytes as the body, or instead of HTTP."""
    sent = exchange.random_bytes(size)
    if place == "wire":
        connection = exchange.connection()
        connection.write(sent)
        connection.close()
        await exchange.disconnected()
    else:
        await exchange.answer(200, _JSON, sent)


async def html(exchange: Exchange, status: _Status = 200) -> None:
    """Answer with a page, as a proxy or a login would."""
    await exchange.answer(status, "text/html; charset=utf-8", _HTML)


async def wrong_types(exchange: Exchange) -> None:
    """Answer with the right JSON, every value of which has the wrong type."""
    right = await exchange.right_answer()
    try:
        body = encode(_wrong_types(json.loads(right.body)))
    except ValueError:
        body = right.body
    await exchange.answer(right.status, None, body, right.headers)


async def envelope(
    exchange: Exchange,
    status: Literal[200, 202] = 202,
    error_key: str = "internal.failure",
    message: str = "Something went wrong.",
    status_code: int | None = None,
) -> None:
    """Answer with a failure inside an envelope, under a status that looks like success."""
    await exchange.answer(status, _JSON, bytes(refused(error_key, message, status_code=status_code).body))


async def oversize(exchange: Exchange, size: _Size = 17 * 1024 * 1024, announced: bool = True) -> None:  # noqa: FBT001, FBT002 - a field
    """Answer with a body that is too large, with its length announced or not."""
    await exchange.begin(200, [(b"content-type", _JSON.encode())], size if announced else None)
    for start in range(0, size, _CHUNK):
        await exchange.write(b" " * min(_CHUNK, size - start), more=True)
    await exchange.write(b"")


async def redirect(
    exchange: Exchange, status: Literal[301, 302, 303, 307, 308] = 302, *, location: _HeaderValue
) -> None:
    """Redirect the caller."""
    await exchange.answer(status, None, b"", [(b"location", location.encode())])


def _part(body: bytes, part: float) -> bytes:
    return body[: int(len(body) * part)]


async def _begin(exchange: Exchange, point: _Point, part: float) -> None:
    """Send nothing, the headers of the right answer, or a part of its body as well."""
    if point != "start":
        right = await exchange.right_answer()
        sent = _part(right.body, part) if point == "body" else b""
        await exchange.begin(right.status, right.headers, len(right.body), sent)


def _wrong_types(content: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON of the same form, in which every value has another type."""
    match content:
        case dict():
            return {key: _wrong_types(value) for key, value in content.items()} if content else []
        case list():
            return [_wrong_types(value) for value in content] if content else {}
        case str():
            return {"wrong": True}
        case None:
            return None
        case _:
            return "wrong"


def _model(kind: Callable[..., object]) -> type[Fault]:
    """Return the model of a kind's fields."""
    _, *fields = inspect.signature(kind).parameters.values()
    own: dict[str, Any] = {
        one.name: (one.annotation, ... if one.default is one.empty else one.default) for one in fields
    }
    return create_model(kind.__name__, __base__=Fault, __doc__=kind.__doc__, **own)


_APPLIED: Final = (
    *(status, delay, stall, drip, reset, truncate, short, garbage, html, wrong_types, envelope, oversize, redirect),
)
_BY_NAME: Final[dict[str, Callable[..., Coroutine[Any, Any, None]]]] = {kind.__name__: kind for kind in _APPLIED}
KINDS: Final = {kind.__name__: _model(kind) for kind in _APPLIED}
