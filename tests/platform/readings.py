"""Reads bodies as the client does."""

from typing import Any

from exporter.platform.http.responses import payload
from exporter.platform.operation import Operation


def read(operation: Operation[Any], body: str) -> Any:
    """What a good answer holds."""
    return payload(operation, body.encode(), 200)


def data(operation: Operation[Any], body: str) -> Any:
    """What an envelope holds."""
    return read(operation, f'{{"data": {body}, "error": null}}').opened()
