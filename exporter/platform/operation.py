"""Declares operations: their requests, their answers and the meaning of their statuses.

The parts of an HTTP request are built here, for the client and for a dry run, which imports no HTTP library.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter

from exporter.platform.long_json import Items

if TYPE_CHECKING:
    from exporter.clock import Clocks

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Scalar = str | int | bool
# Some paths of deployments send JSON but refuse a request that accepts only JSON.
HEADERS = {"Accept": "application/json, */*;q=0.5", "Accept-Encoding": "gzip", "User-Agent": "edge-exporter"}
# The extension of an `httpx.Request` that has its whole address; `httpx.URL`, which takes long to make, is that of the
# account alone, and changes the case of the host and the percent-encoding.
ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A documented parameter.

    Attributes:
        name: its name in the request.
        place: in the path, the query, or the JSON body.
        type: the type of its value; `date-time` is text in ISO 8601.
        required: whether a request without it is refused.
        secret: whether its value may only come from standard input or a file.
        help: one sentence.
        allowed: the allowed numbers with their names; None if all are allowed.
    """

    name: str
    place: Literal["path", "query", "body"]
    type: Literal["integer", "string", "boolean", "date-time", "json"]
    help: str
    required: bool = True
    secret: bool = False
    allowed: Mapping[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Operation(Generic[T]):
    """An operation of the interface document, or an undocumented one that deployments are known to have.

    Attributes:
        name: the `operation` label, and its name on the command line.
        answer: the type of the payload.
        writes: whether it changes anything on the platform.
        absent: statuses that mean "there is none" and are not failures; the value is None then.
        documented: False for operations that the interface document does not have.
        items: the array of its answer that may be long; a long answer without one is refused beyond 50,000 values.
        is_compared: whether an answer that equals the last one may be skipped; False if endpoints share its answers.
    """

    name: str
    method: Literal["GET", "POST", "PUT", "PATCH"]
    path: str
    help: str
    answer: TypeAdapter[T]
    parameters: tuple[Parameter, ...] = ()
    writes: bool = False
    absent: frozenset[int] = field(default_factory=frozenset)
    documented: bool = True
    items: Items | None = None
    is_compared: bool = True


@dataclass(frozen=True, slots=True)
class Answer(Generic[T_co]):
    """A good answer.

    Attributes:
        value: the payload; None only if the status is one of the operation's `absent` statuses.
        date: the platform's time, from the `Date` header if it is credible; None if it is missing.
        raw: the body as received.
        seconds: from the request to the end of its answer, without retries and the wait for the account's budget; 0 if
            the answer was built from others.
    """

    value: T_co
    date: datetime | None
    # The answer of a script contains its deployment key: keep the body out of logs.
    raw: bytes = field(repr=False)
    seconds: float = 0.0


@dataclass(slots=True)
class CallResult(Generic[T]):
    """What a call gave, and what it took.

    Attributes:
        answer: the answer; without a value if it is unchanged.
        seconds: the duration of the attempts and of the waits between them, without the waits for the account's budget.
        unexpected: the JSON names of fields with an unknown value.
        fingerprint: of the answer, to compare the next one with; empty if nothing is compared.
        is_unchanged: whether the answer equals the last one.
    """

    answer: Answer[T]
    seconds: float = 0.0
    unexpected: frozenset[str] = frozenset()
    fingerprint: bytes = b""
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """What is kept of the answer of a target's last poll. A poll is *unchanged* if its one answer equals that answer.

    An unchanged answer is not parsed, counted or rendered again, which saves half of a poll's processor time.

    Attributes:
        fingerprint: of the last answer; empty if its result is not what is served.
        asked: everything else on which the result of a poll depends.
    """

    fingerprint: bytes
    asked: str
    clocks: "Clocks"

    def fingerprint_of(self, raw: bytes, date: datetime | None) -> bytes:
        """Return what to compare of an answer: a hash of its body, and of what was asked.

        The UTC day is a part of it, by the platform's clock and this machine's, because on a new day the same bytes are
        counted differently.
        """
        days = (self.clocks.utc().toordinal(), date.toordinal() if date is not None else 0)
        digest = blake2b(raw, digest_size=16)
        digest.update(f"{days}{self.asked}".encode())
        return digest.digest()


class UnchangedError(Exception):
    """Raised instead of returning an answer that equals the last one; `date` is the platform's time, as in answers."""

    def __init__(self, date: datetime | None) -> None:
        super().__init__("the answer equals the last one")
        self.date = date


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A request to the platform, with the parameters of its path, its query and its JSON body.

    Without a body, operations other than GET send an empty object.
    """

    operation: Operation[T]
    path: Mapping[str, Scalar] | None = None
    query: Mapping[str, Scalar] | None = None
    # The values may contain a secret: keep them out of logs.
    body: Mapping[str, Any] | None = field(default=None, repr=False)


class Caller(Protocol):
    """Sends requests, usually until a deadline."""

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request.

        Raises:
            PlatformError: there is no usable answer.
            UnchangedError: the answer equals that of the target's last poll.
        """
        ...


def address_of(base_url: str, request: Request[Any]) -> str:
    """Return the URL of a request, with its query; `base_url` is the management API, or a database's endpoint.

    Raises:
        KeyError: a parameter of the path is missing.
    """
    url, path, query = request.operation.path, request.path, request.query
    if path or "{" in url:
        url = url.format_map({name: quote(_text(value), safe="") for name, value in (path or {}).items()})
    if query:
        url += "?" + urlencode({name: _text(value) for name, value in query.items()}, safe=":/?")
    return base_url.rstrip("/") + url


def headers_of(method: str) -> dict[str, str]:
    """Return the headers of a request, without its credential and those of the connection."""
    return HEADERS | ({} if method == "GET" else {"Content-Type": "application/json"})


def content_of(request: Request[Any]) -> bytes | None:
    """Return the body of a request; every operation other than GET takes a JSON object."""
    if request.operation.method == "GET":
        return None
    return json.dumps(request.body or {}, separators=(",", ":")).encode()


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
