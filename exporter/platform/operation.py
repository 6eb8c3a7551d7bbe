"""The operations of the platform: how they are declared, requested and answered.

The parts of an HTTP request are built here, without an HTTP library, because the command `call` can also print a
request instead of sending it.
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
# `*/*` because some deployments refuse a request that accepts only JSON, although their answers are JSON.
HEADERS = {"Accept": "application/json, */*;q=0.5", "Accept-Encoding": "gzip", "User-Agent": "edge-exporter"}
# The highest number of bytes in the body of an answer: for most operations, and for operations with long answers.
PAGE_LIMIT = 4 * 1024 * 1024
WHOLE_LIMIT = 16 * 1024 * 1024
# The key of the extension of `httpx.Request` that holds the address as text. The request's `url` is a placeholder,
# because an `httpx.URL` takes long to create, and changes the case of the host and the percent-encoding.
ADDRESS = "address"
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation.

    Attributes:
        type: the type of the value; `date-time` is text in ISO 8601, `json` any JSON.
        secret: whether the value is masked; the command `call` reads such a value from a file or standard input.
        allowed: the allowed numbers with their names; None: any value of the type.
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
    """An operation of the interface document, an operation that some deployments have, or a configured endpoint.

    Attributes:
        name: the value of the label `operation`.
        path: the path below the base address, with placeholders such as `{id}` for its parameters. The path of a
            configured endpoint may end with a query.
        answer: validates the body, which is the payload or an `Envelope` around it; `T` is the type of the payload.
        writes: whether the operation may change something on the platform. If so, it is not repeated after a failure.
        absent: statuses that are no failures: the answer's value is None. If the body has an error key that means
            `NotAvailable`, that error is raised instead.
        documented: whether the interface document has the operation.
        most_bytes: the highest number of bytes in the body of a success.
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
        value: the payload (None for a status of `Operation.absent`), or a value derived from the payload.
        date: the platform's time at the answer, as `PlatformTime` computes it; None if this time is not known.
        raw: the body, masked by `body_without_secrets`; empty in an answer with a derived value.
        seconds: how long the last attempt took, to the end of the body; 0 if that is not known.
        secrets: the texts to mask in a message that is taken from the answer; empty in an answer with a derived value.
    """

    value: T_co
    date: datetime | None
    # The answer of a script contains its deployment key: keep the body out of logs.
    raw: bytes = field(default=b"", repr=False)
    seconds: float = 0.0
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """A request to the platform: an operation, with the parameters of its path, query and JSON body."""

    operation: Operation[T]
    path: Mapping[str, Scalar] | None = None
    query: Mapping[str, Scalar] | None = None
    # The values may contain a secret: keep them out of logs.
    body: Mapping[str, Any] | None = field(default=None, repr=False)


class Caller(Protocol):
    """Sends requests, as `exporter.platform.http.client.PollCalls` does."""

    async def call(self, request: Request[T]) -> Answer[T]:
        """Send a request.

        Raises:
            PlatformError: there is no usable answer.
        """
        ...


@cache
def normalized_url(base_url: str) -> str:
    """Return a form of an address for comparisons, without a default port, and with scheme and host in lower case."""
    parts = urlsplit(base_url)
    host, port = parts.hostname or "", parts.port
    host_and_port = host if port in (None, DEFAULT_PORTS.get(parts.scheme)) else f"{host}:{port}"
    return f"{parts.scheme}://{host_and_port}{parts.path}"


def address_of(base_url: str, request: Request[Any]) -> str:
    """Return the URL of a request, with its query; `base_url` may end with `/`.

    Raises:
        KeyError: a parameter of the path is missing.
        UnicodeEncodeError: a parameter contains half of a surrogate pair.
    """
    in_path = {name: quote(str(value), safe="") for name, value in (request.path or {}).items()}
    url = base_url.rstrip("/") + request.operation.path.format_map(in_path)
    if not request.query:
        return url
    in_query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in request.query.items()}
    # RFC 3986 permits these characters in a query. If they are not encoded, times stay readable.
    return f"{url}?{urlencode(in_query, safe=':/?')}"


def headers_of(method: str) -> dict[str, str]:
    """Return the headers of a request. The caller adds the key or token, and the transport adds further headers."""
    return HEADERS | ({} if method == "GET" else {"Content-Type": "application/json"})


def content_of(request: Request[Any]) -> bytes | None:
    """Return the body of a request, a JSON object that may be empty; None for GET."""
    if request.operation.method == "GET":
        return None
    return json.dumps(request.body or {}, separators=(",", ":")).encode()
