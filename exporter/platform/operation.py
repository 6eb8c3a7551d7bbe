"""Declares operations: their requests and their answers.

The parts of an HTTP request are built here, for the client and for a dry run, which imports no HTTP library.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from pydantic import TypeAdapter

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Scalar = str | int | bool
# Some paths of deployments send JSON but refuse a request that accepts only JSON.
HEADERS = {"Accept": "application/json, */*;q=0.5", "Accept-Encoding": "gzip", "User-Agent": "edge-exporter"}
# The highest number of bytes in an answer: a page of a list or one resource, and a documented answer without pages.
PAGE_LIMIT = 4 * 1024 * 1024
WHOLE_LIMIT = 16 * 1024 * 1024
# The extension of an `httpx.Request` with its whole address as text. The request's own `httpx.URL` is a placeholder: it
# takes long to make, and would change the case of the host and the percent-encoding.
ADDRESS = "address"
DEFAULT_PORTS = {"http": 80, "https": 443}


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
        most_bytes: a longer body is refused.
    """

    name: str
    path: str
    help: str
    answer: TypeAdapter[T]
    method: Literal["GET", "POST", "PUT", "PATCH"] = "GET"
    parameters: tuple[Parameter, ...] = ()
    writes: bool = False
    absent: frozenset[int] = field(default_factory=frozenset)
    documented: bool = True
    most_bytes: int = PAGE_LIMIT


@dataclass(frozen=True, slots=True)
class Answer(Generic[T_co]):
    """A good answer.

    Attributes:
        value: the payload; None only if the status is one of the operation's `absent` statuses.
        date: the platform's time, from the `Date` header if it is credible; None if it is missing.
        raw: the body as received; empty if the answer was built from others.
        seconds: from the request to the end of its answer, without retries and the wait for the account's budget; 0 if
            the answer was built from others.
    """

    value: T_co
    date: datetime | None
    # The answer of a script contains its deployment key: keep the body out of logs.
    raw: bytes = field(default=b"", repr=False)
    seconds: float = 0.0


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
        """
        ...


@cache
def normalized_url(base_url: str) -> str:
    """Return a base address in one spelling: scheme and host in lower case, no default port."""
    parts = urlsplit(base_url)
    host, port = parts.hostname or "", parts.port
    where = host if port in (None, DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"
    return f"{parts.scheme}://{where}{parts.path}"


def address_of(base_url: str, request: Request[Any]) -> str:
    """Return the URL of a request, with its query; `base_url` is the management API, or a database's endpoint.

    Raises:
        KeyError: a parameter of the path is missing.
    """
    url, path, query = request.operation.path, request.path, request.query
    if path or "{" in url:
        url = url.format_map({name: quote(str(value), safe="") for name, value in (path or {}).items()})
    if query:
        url += "?" + urlencode(
            {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()},
            safe=":/?",
        )
    return base_url.rstrip("/") + url


def headers_of(method: str) -> dict[str, str]:
    """Return the headers of a request, without its credential and those of the connection."""
    return HEADERS | ({} if method == "GET" else {"Content-Type": "application/json"})


def content_of(request: Request[Any]) -> bytes | None:
    """Return the body of a request; every operation other than GET takes a JSON object."""
    if request.operation.method == "GET":
        return None
    return json.dumps(request.body or {}, separators=(",", ":")).encode()
