"""Builds the parts of an operation's HTTP request, for the client and for a dry run, which imports no HTTP library."""

import json
from typing import Any
from urllib.parse import quote, urlencode

from exporter.platform.operation import Request, Scalar

# Some paths of deployments send JSON but refuse a request that accepts only JSON.
HEADERS = {"Accept": "application/json, */*;q=0.5", "Accept-Encoding": "gzip", "User-Agent": "edge-exporter"}
# The extension of an `httpx.Request` that has its address as it was configured: `httpx.URL` changes the case of the
# host and the percent-encoding.
ADDRESS = "address"


def address_of(base_url: str, request: Request[Any]) -> str:
    """Return the URL of a request, with its query.

    Args:
        base_url: the management API, or a database's endpoint.
        request: the request.

    Raises:
        KeyError: a parameter of the path is missing.
    """
    url, path, query = request.operation.path, request.path, request.query
    if path or "{" in url:
        url = url.format_map({name: quote(_text(value), safe="") for name, value in (path or {}).items()})
    if query:
        url += "?" + urlencode({name: _text(value) for name, value in query.items()}, safe=":/?")
    return base_url.rstrip("/") + url


def headers_of(request: Request[Any]) -> dict[str, str]:
    """Return the headers of a request, without its credential and those of the connection."""
    return HEADERS | ({} if request.operation.method == "GET" else {"Content-Type": "application/json"})


def content_of(request: Request[Any]) -> bytes | None:
    """Return the body of a request; every operation other than GET takes a JSON object."""
    if request.operation.method == "GET":
        return None
    return json.dumps(request.body or {}, separators=(",", ":")).encode()


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
