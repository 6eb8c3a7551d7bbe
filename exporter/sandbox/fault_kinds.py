"""The kinds of faults: their validated fields, and what each of them does to an answer."""

import json
import re
import socket
import struct
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from exporter.patterns import Pattern, PatternError
from exporter.sandbox.answers import encode, refused
from exporter.sandbox.exchange import Exchange
from exporter.sandbox.timestamps import http_date

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
        raise ValueError("a header's name is a token")
    if text.lower() in _FRAMING:
        raise ValueError(f"the header {text} is set by the server")
    return text


def _pattern(text: str) -> str:
    try:
        Pattern(text)
    except PatternError as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return text


_HeaderName: TypeAlias = Annotated[str, AfterValidator(_header_name)]
_HeaderValue: TypeAlias = Annotated[str, AfterValidator(_header_value)]
_Seconds: TypeAlias = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
_Part: TypeAlias = Annotated[float, Field(ge=0, lt=1)]


class _Fault(BaseModel):
    """The fields of every fault: which requests it applies to, and how often."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    method: str | None = None
    path: str | None = None
    path_regex: Annotated[str, AfterValidator(_pattern)] | None = None
    times: int | None = Field(default=None, ge=1)
    probability: float = Field(default=1.0, gt=0, le=1)

    @model_validator(mode="after")
    def _one_path(self) -> "_Fault":
        if self.path is not None and self.path_regex is not None:
            raise ValueError("give path or path_regex, not both")
        return self

    def applies_to(self, method: str, path: str) -> bool:
        """Return whether the fault applies to a request."""
        if self.method is not None and self.method.upper() != method:
            return False
        if self.path is not None:
            return self.path == path
        return self.path_regex is None or Pattern(self.path_regex).fullmatch(path)


class _Breakpoint(_Fault):
    """A fault that occurs before the headers, after them, or after a part of the body."""

    point: Literal["start", "headers", "body"]
    part: _Part = 0.5

    def sent(self, body: bytes) -> bytes:
        """Return the part of the body that is sent."""
        return body[: int(len(body) * self.part)] if self.point == "body" else b""


class _Status(_Fault):
    """Answers with any status, body and headers; Retry-After in seconds or as a date of the world's clock."""

    kind: Literal["status"]
    status: int = Field(ge=200, le=599)
    body: str = ""
    content_type: _HeaderValue | None = None
    headers: dict[_HeaderName, _HeaderValue] = Field(default_factory=dict)
    retry_after: int | None = Field(default=None, ge=0)
    retry_after_date: _Seconds | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> "_Status":
        if self.body and self.status in _WITHOUT_BODY:
            raise ValueError(f"a status of {self.status} has no body")
        if self.retry_after is not None and self.retry_after_date is not None:
            raise ValueError("give retry_after or retry_after_date, not both")
        return self

    async def apply(self, exchange: Exchange) -> None:
        headers = [(name.lower().encode(), value.encode()) for name, value in self.headers.items()]
        if self.retry_after is not None:
            headers.append((b"retry-after", str(self.retry_after).encode()))
        if self.retry_after_date is not None:
            headers.append((b"retry-after", http_date(exchange.now() + self.retry_after_date).encode()))
        await exchange.answer(self.status, self.content_type, self.body.encode(), headers)


class _Delay(_Fault):
    """Sends the right answer after a delay."""

    kind: Literal["delay"]
    seconds: _Seconds

    async def apply(self, exchange: Exchange) -> None:
        if await exchange.pause(self.seconds):
            await exchange.pass_on()


class _Stall(_Breakpoint):
    """Sends nothing, the headers, or a part of the body, and then nothing more."""

    kind: Literal["stall"]
    point: Literal["start", "headers", "body"] = "body"

    async def apply(self, exchange: Exchange) -> None:
        if self.point != "start":
            right = await exchange.right_answer()
            await exchange.begin(right.status, right.headers, len(right.body))
            await exchange.write(self.sent(right.body), more=True)
        await exchange.disconnected()


class _Drip(_Fault):
    """Sends the body in small pieces at regular intervals."""

    kind: Literal["drip"]
    seconds: _Seconds
    size: int = Field(default=1, ge=1)

    async def apply(self, exchange: Exchange) -> None:
        right = await exchange.right_answer()
        await exchange.begin(right.status, right.headers, len(right.body))
        for start in range(0, len(right.body), self.size):
            await exchange.write(right.body[start : start + self.size], more=True)
            if not await exchange.pause(self.seconds):
                return
        await exchange.write(b"")


class _Reset(_Breakpoint):
    """Resets the connection: before the headers, after them, or within the body."""

    kind: Literal["reset"]
    point: Literal["start", "headers", "body"] = "start"

    async def apply(self, exchange: Exchange) -> None:
        connection = exchange.connection()
        if self.point != "start":
            right = await exchange.right_answer()
            connection.write(exchange.head(right, len(right.body)) + self.sent(right.body))
        # Closing a socket with a linger time of 0 sends a reset.
        connection.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        connection.abort()
        await exchange.disconnected()


class _Truncate(_Fault):
    """Sends a part of the body as if it were the whole, so that the JSON is incomplete."""

    kind: Literal["truncate"]
    part: _Part = 0.5

    async def apply(self, exchange: Exchange) -> None:
        right = await exchange.right_answer()
        await exchange.answer(right.status, None, right.body[: int(len(right.body) * self.part)], right.headers)


class _Short(_Fault):
    """Announces a longer body than it sends, and closes the connection."""

    kind: Literal["short"]
    missing: int = Field(default=100, ge=1)

    async def apply(self, exchange: Exchange) -> None:
        connection = exchange.connection()
        right = await exchange.right_answer()
        connection.write(exchange.head(right, len(right.body) + self.missing) + right.body)
        connection.close()
        await exchange.disconnected()


class _Garbage(_Fault):
    """Sends random bytes as the body, or instead of HTTP."""

    kind: Literal["garbage"]
    place: Literal["body", "wire"] = "body"
    size: int = Field(default=512, ge=1, le=LARGEST_BODY)

    async def apply(self, exchange: Exchange) -> None:
        garbage = exchange.random_bytes(self.size)
        if self.place == "body":
            await exchange.answer(200, _JSON, garbage)
            return
        connection = exchange.connection()
        connection.write(garbage)
        connection.close()
        await exchange.disconnected()


class _Html(_Fault):
    """Answers with a page, as a proxy or a login would."""

    kind: Literal["html"]
    status: int = Field(default=200, ge=200, le=599)

    async def apply(self, exchange: Exchange) -> None:
        await exchange.answer(self.status, "text/html; charset=utf-8", _HTML)


class _WrongTypes(_Fault):
    """Answers with the right JSON, every value of which has the wrong type."""

    kind: Literal["wrong_types"]

    async def apply(self, exchange: Exchange) -> None:
        right = await exchange.right_answer()
        try:
            body = encode(_wrong_types(json.loads(right.body)))
        except ValueError:
            body = right.body
        await exchange.answer(right.status, None, body, right.headers)


class _Envelope(_Fault):
    """Answers with a failure inside an envelope, under a status that looks like success."""

    kind: Literal["envelope"]
    status: Literal[200, 202] = 202
    error_key: str = "internal.failure"
    message: str = "Something went wrong."
    status_code: int | None = None

    async def apply(self, exchange: Exchange) -> None:
        answer = refused(self.error_key, self.message, status_code=self.status_code)
        await exchange.answer(self.status, _JSON, bytes(answer.body))


class _Oversize(_Fault):
    """Answers with a body that is too large, with its length announced or not."""

    kind: Literal["oversize"]
    size: int = Field(default=17 * 1024 * 1024, ge=1, le=LARGEST_BODY)
    announced: bool = True

    async def apply(self, exchange: Exchange) -> None:
        await exchange.begin(200, [(b"content-type", _JSON.encode())], self.size if self.announced else None)
        for start in range(0, self.size, _CHUNK):
            await exchange.write(b" " * min(_CHUNK, self.size - start), more=True)
        await exchange.write(b"")


class _Redirect(_Fault):
    """Redirects the caller."""

    kind: Literal["redirect"]
    status: Literal[301, 302, 303, 307, 308] = 302
    location: _HeaderValue

    async def apply(self, exchange: Exchange) -> None:
        await exchange.answer(self.status, None, b"", [(b"location", self.location.encode())])


FaultKind: TypeAlias = Annotated[
    _Status
    | _Delay
    | _Stall
    | _Drip
    | _Reset
    | _Truncate
    | _Short
    | _Garbage
    | _Html
    | _WrongTypes
    | _Envelope
    | _Oversize
    | _Redirect,
    Field(discriminator="kind"),
]

FAULT: Final[TypeAdapter[FaultKind]] = TypeAdapter(FaultKind)

KINDS: Final[tuple[str, ...]] = tuple(
    word for kind in get_args(get_args(FaultKind)[0]) for word in get_args(kind.model_fields["kind"].annotation)
)


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
