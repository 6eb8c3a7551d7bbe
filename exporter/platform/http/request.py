"""Builds the HTTP request of an operation as data, so that a dry run imports no HTTP client."""

import json
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote, urlencode

from exporter.platform.operation import Request, Scalar

T = TypeVar("T")

# Some paths of deployments send JSON but refuse a request that accepts only JSON.
ACCEPT = "application/json, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class Message:
    """An HTTP request.

    Attributes:
        url: the URL with its query.
        headers: without those of the connection; the credential is added before sending.
        content: the JSON body; None without one.
    """

    method: str
    url: str
    # The body and headers may contain secrets: keep them out of logs.
    headers: dict[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)


def message_of(base_url: str, request: Request[T]) -> Message:
    """Return the HTTP request of an operation, without its credential.

    Args:
        base_url: the management API, or a database's endpoint.
        request: the request.

    Raises:
        KeyError: a parameter of the path is missing.
    """
    operation, path, query, body = request.operation, request.path, request.query, request.body
    # Every operation other than GET takes a JSON object.
    if body is None and operation.method != "GET":
        body = {}
    url = operation.path
    if path or "{" in url:
        url = url.format_map({name: quote(_text(value), safe="") for name, value in (path or {}).items()})
    if query:
        url += "?" + urlencode({name: _text(value) for name, value in query.items()}, safe=":/?")
    return Message(
        operation.method,
        base_url.rstrip("/") + url,
        {"Accept": ACCEPT, "Accept-Encoding": "gzip", "User-Agent": "edge-exporter"}
        | ({"Content-Type": "application/json"} if body is not None else {}),
        json.dumps(body, separators=(",", ":")).encode() if body is not None else None,
    )


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
