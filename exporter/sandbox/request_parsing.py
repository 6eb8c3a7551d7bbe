"""Reads and checks identifiers, numbers, dates and bodies of requests."""

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from exporter.sandbox.timestamps import parse_date_time

_Model = TypeVar("_Model", bound=BaseModel)
LARGEST_BODY: Final = 1024 * 1024
_SMALLEST_PAGE: Final = 5
LARGEST_INT64: Final = 2**63 - 1
_WHOLE: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_MEDIA_TYPES: Final = re.compile(r"(application/json|text/json|application/[\w.!#$&^+-]*\+json)", re.ASCII)


class RequestError(Exception):
    """A request is wrong.

    Args:
        reasons: what is wrong, in words.
        status: the status of the answer.
        fields: the wrong fields of the body, each with what is wrong.
    """

    def __init__(self, *reasons: str, status: int = 400, fields: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons
        self.status = status
        self.fields = fields


def reasons(error: ValidationError, words: Mapping[str, str] = MappingProxyType({}), *, skip: int = 0) -> list[str]:
    """Write what is wrong with a value, one line for each fault.

    Args:
        error: the faults.
        words: the messages that replace pydantic's, by the type of a fault.
        skip: the number of parts to leave out at the beginning of a field's path.
    """
    lines = []
    for fault in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in fault["loc"][skip:])
        message = words.get(fault["type"], fault["msg"].removeprefix("Value error, "))
        lines.append(f"{where}: {message}" if where else message)
    return lines


def int64(text: str) -> int | None:
    """Read a 64-bit integer; None if the text is not one."""
    if _WHOLE.fullmatch(text) is None:
        return None
    value = int(text)
    return value if -LARGEST_INT64 - 1 <= value <= LARGEST_INT64 else None


def path_id(request: Request, name: str) -> int:
    """Read an identifier from the path."""
    value = int64(request.path_params[name])
    if value is None:
        raise RequestError(f"{name} is not a 64-bit integer")
    return value


def query_number(request: Request, name: str, default: int) -> int:
    """Read a 64-bit integer from the query."""
    text = request.query_params.get(name)
    if not text:
        return default
    value = int64(text)
    if value is None:
        raise RequestError(f"{name} is not a 64-bit integer")
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
        raise RequestError(f"{name} is not a date-time")
    return moment


async def body_bytes(request: Request, largest: int = LARGEST_BODY) -> bytes:
    """Read a body of a limited size."""
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > largest:
            raise RequestError("the body is too large", status=413)
    return bytes(received)


async def json_body(request: Request, model: type[_Model]) -> _Model:
    """Read a model from a body of type application/json, text/json or application/*+json."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if _MEDIA_TYPES.fullmatch(media_type) is None:
        raise RequestError("the content type is not supported", status=415)
    try:
        return model.model_validate(parse_object(await body_bytes(request)), strict=True)
    except ValidationError as error:
        fields = [(str(fault["loc"][0]), fault["msg"]) for fault in error.errors(include_url=False)]
        raise RequestError(*reasons(error), fields=fields) from error


def parse_object(received: bytes) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        RequestError: it is not a JSON object.
    """
    try:
        content = json.loads(received, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError("the body is not JSON") from error
    if not isinstance(content, dict):
        raise RequestError("the body is not a JSON object")
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
