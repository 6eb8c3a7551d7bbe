"""Makes the HTTP request of an operation."""

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
        path: the path of the URL below the base address.
        body: what is sent; None for a request without one.
    """

    method: str
    url: str
    path: str
    headers: dict[str, str] = field(repr=False)
    body: bytes | None = field(default=None, repr=False)


def http_request(base_url: str, request: Request[T]) -> Message:
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
    filled = operation.path
    if path or "{" in filled:
        filled = filled.format_map({name: quote(_text(value), safe="") for name, value in (path or {}).items()})
    url = base_url.rstrip("/") + filled
    if query:
        url += "?" + urlencode({name: _text(value) for name, value in query.items()}, safe=":/?")
    headers = {"Accept": ACCEPT, "Accept-Encoding": "gzip", "User-Agent": "edge-exporter"}
    if body is None:
        return Message(operation.method, url, filled, headers)
    headers["Content-Type"] = "application/json"
    return Message(operation.method, url, filled, headers, json.dumps(body, separators=(",", ":")).encode())


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
