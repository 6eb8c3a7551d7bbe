"""Reads bodies as the client does."""

from typing import Any

from exporter.platform.http.responses import payload
from exporter.platform.operation import Operation


def read(operation: Operation[Any], body: str) -> Any:
    """Return the payload of a good answer."""
    return payload(operation, body.encode(), 200)


def data(operation: Operation[Any], body: str) -> Any:
    """Return the payload of an envelope."""
    return read(operation, f'{{"data": {body}, "error": null}}').opened()
