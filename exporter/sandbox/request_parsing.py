"""Reads identifiers, numbers, dates and bodies of requests, strictly."""

import json
import re
from typing import Any, Final

from starlette.requests import Request

from exporter.sandbox.timestamps import parse_date_time

LARGEST_BODY: Final = 1024 * 1024
_SMALLEST_PAGE: Final = 5
LARGEST_INT64: Final = 2**63 - 1
_WHOLE: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_MEDIA_TYPES: Final = re.compile(r"(application/json|text/json|application/[\w.!#$&^+-]*\+json)", re.ASCII)


class UnsupportedMediaTypeError(Exception):
    """The interface does not accept the body's content type."""


class BodyTooLargeError(Exception):
    """The body is too large."""


class BadBodyError(Exception):
    """The body is not a JSON object."""


class BadQueryError(Exception):
    """A query parameter cannot be read."""


def int64(text: str) -> int | None:
    """Read a 64-bit integer; None if the text is not one."""
    if _WHOLE.fullmatch(text) is None:
        return None
    value = int(text)
    return value if -LARGEST_INT64 - 1 <= value <= LARGEST_INT64 else None


def path_id(request: Request, name: str) -> int | None:
    """Read an identifier from the path; None if it is not a 64-bit integer."""
    return int64(request.path_params[name])


def query_number(request: Request, name: str, default: int) -> int:
    """Read a 64-bit integer from the query."""
    text = request.query_params.get(name)
    if not text:
        return default
    value = int64(text)
    if value is None:
        raise BadQueryError(f"{name} is not a 64-bit integer")
    return value


def page_size(request: Request, default: int) -> int:
    """Read `perPage` from the query; the platform silently raises smaller ones to 5."""
    return max(_SMALLEST_PAGE, query_number(request, "perPage", default))


def query_date_time(request: Request, name: str) -> float | None:
    """Read a nullable date-time from the query."""
    text = request.query_params.get(name)
    if not text:
        return None
    moment = parse_date_time(text)
    if moment is None:
        raise BadQueryError(f"{name} is not a date-time")
    return moment


async def body_bytes(request: Request, largest: int = LARGEST_BODY) -> bytes:
    """Read a body of a limited size."""
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > largest:
            raise BodyTooLargeError
    return bytes(received)


def is_json_type(content_type: str | None) -> bool:
    """Return whether a content type is application/json, text/json or application/*+json."""
    media_type = (content_type or "").partition(";")[0].strip().lower()
    return _MEDIA_TYPES.fullmatch(media_type) is not None


async def json_object(request: Request) -> dict[str, Any]:
    """Read a JSON object from the body."""
    if not is_json_type(request.headers.get("content-type")):
        raise UnsupportedMediaTypeError
    return parse_object(await body_bytes(request))


def parse_object(received: bytes) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        BadBodyError: it is not a JSON object.
    """
    try:
        content = json.loads(received, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadBodyError("The body is not JSON.") from error
    if not isinstance(content, dict):
        raise BadBodyError("The body is not a JSON object.")
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
