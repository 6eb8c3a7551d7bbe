"""The kinds of faults: their fields, and the validation of these."""

import re
from typing import Annotated, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from exporter.patterns import Pattern, PatternError

LARGEST_BODY: Final = 64 * 1024 * 1024
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

    def meets(self, method: str, path: str) -> bool:
        """Return whether the fault applies to a request."""
        if self.method is not None and self.method.upper() != method:
            return False
        if self.path is not None:
            return self.path == path
        return self.path_regex is None or Pattern(self.path_regex).fullmatch(path)


class Status(_Fault):
    """Answers with any status, body and headers; Retry-After in seconds or as a date of the world's clock."""

    kind: Literal["status"]
    status: int = Field(ge=200, le=599)
    body: str = ""
    content_type: _HeaderValue | None = None
    headers: dict[_HeaderName, _HeaderValue] = Field(default_factory=dict)
    retry_after: int | None = Field(default=None, ge=0)
    retry_after_date: _Seconds | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> "Status":
        if self.body and self.status in _WITHOUT_BODY:
            raise ValueError(f"a status of {self.status} has no body")
        if self.retry_after is not None and self.retry_after_date is not None:
            raise ValueError("give retry_after or retry_after_date, not both")
        return self


class Delay(_Fault):
    """Answers rightly, but late."""

    kind: Literal["delay"]
    seconds: _Seconds


class Stall(_Fault):
    """Sends nothing, the headers, or a part of the body, and then nothing more."""

    kind: Literal["stall"]
    point: Literal["start", "headers", "body"] = "body"
    part: _Part = 0.5


class Drip(_Fault):
    """Sends the body in small pieces, one every so many seconds."""

    kind: Literal["drip"]
    seconds: _Seconds
    size: int = Field(default=1, ge=1)


class Reset(_Fault):
    """Resets the connection: before the headers, after them, or within the body."""

    kind: Literal["reset"]
    point: Literal["start", "headers", "body"] = "start"
    part: _Part = 0.5


class Truncate(_Fault):
    """Sends a part of the body as if it were the whole: JSON that breaks off."""

    kind: Literal["truncate"]
    part: _Part = 0.5


class Short(_Fault):
    """Announces a longer body than it sends, and closes the connection."""

    kind: Literal["short"]
    missing: int = Field(default=100, ge=1)


class Garbage(_Fault):
    """Sends random bytes: as the body, or in the place of HTTP."""

    kind: Literal["garbage"]
    place: Literal["body", "wire"] = "body"
    size: int = Field(default=512, ge=1, le=LARGEST_BODY)


class Html(_Fault):
    """Answers with a page, as a proxy or a login would."""

    kind: Literal["html"]
    status: int = Field(default=200, ge=200, le=599)


class WrongTypes(_Fault):
    """Answers with the right JSON, every value of which has the wrong type."""

    kind: Literal["wrong_types"]


class Envelope(_Fault):
    """Answers with a failure inside an envelope, under a status that looks like success."""

    kind: Literal["envelope"]
    status: Literal[200, 202] = 202
    error_key: str = "internal.failure"
    message: str = "Something went wrong."
    status_code: int | None = None


class Oversize(_Fault):
    """Answers with a body that is too large, with its length announced or not."""

    kind: Literal["oversize"]
    size: int = Field(default=17 * 1024 * 1024, ge=1, le=LARGEST_BODY)
    announced: bool = True


class Redirect(_Fault):
    """Sends the caller elsewhere."""

    kind: Literal["redirect"]
    status: Literal[301, 302, 303, 307, 308] = 302
    location: _HeaderValue


FaultKind: TypeAlias = Annotated[
    Status
    | Delay
    | Stall
    | Drip
    | Reset
    | Truncate
    | Short
    | Garbage
    | Html
    | WrongTypes
    | Envelope
    | Oversize
    | Redirect,
    Field(discriminator="kind"),
]

FAULT: Final[TypeAdapter[FaultKind]] = TypeAdapter(FaultKind)

KINDS: Final[tuple[str, ...]] = tuple(
    word for kind in get_args(get_args(FaultKind)[0]) for word in get_args(kind.model_fields["kind"].annotation)
)
