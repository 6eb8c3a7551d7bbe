"""Makes the HTTP request of an operation, as data: a dry run imports no HTTP client."""

import json
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote, urlencode

from exporter.platform.operation import Request, Scalar

T = TypeVar("T")

# Some paths of deployments refuse a request that accepts JSON alone, though JSON is what they send.
ACCEPT = "application/json, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class Message:
    """An HTTP request.

    Attributes:
        url: with its query.
        headers: without those of the connection; the credential's is added when it is sent.
        content: the JSON body; None where there is none.
    """

    method: str
    url: str
    # Secrets may be in these: they are not for logs.
    headers: dict[str, str] = field(repr=False)
    content: bytes | None = field(default=None, repr=False)


def message_of(base_url: str, request: Request[T]) -> Message:
    """The HTTP request of an operation, without its credential.

    Args:
        base_url: the management API, or a database's endpoint.
        request: what is asked.

    Raises:
        KeyError: a parameter of the path is missing.
    """
    operation, path, query, body = request.operation, request.path, request.query, request.body
    # Whatever is no GET takes a JSON object.
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
