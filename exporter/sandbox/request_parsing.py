"""Reads and checks identifiers, numbers, dates and bodies of requests."""

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

from fastapi.exceptions import RequestValidationError
from pydantic import AfterValidator, BeforeValidator, ValidationError, WithJsonSchema
from starlette.requests import Request

from exporter.sandbox.timestamps import parse_date_time

LARGEST_BODY: Final = 1024 * 1024
_SMALLEST_PAGE: Final = 5
LARGEST_INT64: Final = 2**63 - 1
_WHOLE: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_ID: Final = {"type": "integer", "format": "int64"}


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


def reasons(
    error: ValidationError | RequestValidationError, words: Mapping[str, str] = MappingProxyType({}), *, skip: int = 0
) -> list[str]:
    """Write what is wrong with a value, a line for each fault; `words` has messages for types of faults.

    The first `skip` parts of a field's path are left out.
    """
    lines = []
    for fault in error.errors():
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


def _whole(text: str) -> int:
    value = int64(text)
    if value is None:
        raise ValueError("is not a 64-bit integer")
    return value


def _moment(text: str) -> float:
    moment = parse_date_time(text)
    if moment is None:
        raise ValueError("is not a date-time")
    return moment


# Types of parameters in the path and the query.
Int64: TypeAlias = Annotated[int, BeforeValidator(_whole), WithJsonSchema(_ID)]
MaybeId: TypeAlias = Annotated[int | None, BeforeValidator(int64), WithJsonSchema(_ID)]
"""None if the text is no id: such a resource is not found."""
Page: TypeAlias = Annotated[int, BeforeValidator(_whole), WithJsonSchema({"type": "integer", "minimum": 1})]
PageSize: TypeAlias = Annotated[
    int,
    BeforeValidator(_whole),
    AfterValidator(lambda size: max(_SMALLEST_PAGE, size)),
    WithJsonSchema({"type": "integer", "maximum": 1_000}),
]
"""The platform silently raises smaller ones to 5."""
Moment: TypeAlias = Annotated[
    float | None, BeforeValidator(_moment), WithJsonSchema({"type": ["string", "null"], "format": "date-time"})
]


async def body_bytes(request: Request, largest: int = LARGEST_BODY) -> bytes:
    """Read a body of a limited size."""
    received = bytearray()
    async for chunk in request.stream():
        received += chunk
        if len(received) > largest:
            raise RequestError("the body is too large", status=413)
    return bytes(received)


async def json_object(request: Request) -> dict[str, Any]:
    """Read a JSON object of any content type.

    Raises:
        RequestError: it is not a JSON object.
    """
    try:
        content = json.loads(await body_bytes(request), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError("the body is not JSON") from error
    if not isinstance(content, dict):
        raise RequestError("the body is not a JSON object")
    return content


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
