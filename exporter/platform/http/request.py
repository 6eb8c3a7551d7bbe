"""Makes the HTTP request of an operation."""

import json
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote

import httpx

from exporter.platform.operation import Request, Scalar

T = TypeVar("T")

# Some paths of deployments refuse a request that accepts JSON alone, though JSON is what they send.
ACCEPT = "application/json, */*;q=0.5"


def http_request(
    base_url: str, request: Request[T], timeouts: Mapping[str, float | None] | None = None
) -> httpx.Request:
    """The HTTP request of an operation, without its credential.

    Args:
        base_url: the management API, or a database's endpoint.
        request: what is asked.
        timeouts: the transport's time-outs in seconds.

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
    return httpx.Request(
        operation.method,
        base_url.rstrip("/") + filled,
        params={name: _text(value) for name, value in query.items()} if query else None,
        headers={"Accept": ACCEPT, "Accept-Encoding": "gzip", "User-Agent": "edge-exporter"}
        | ({"Content-Type": "application/json"} if body is not None else {}),
        content=json.dumps(body, separators=(",", ":")).encode() if body is not None else None,
        extensions={"timeout": timeouts} if timeouts is not None else {},
    )


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
