"""Reports what is wrong with a request."""

import json
from collections.abc import Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.requests import Request


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


def reasons(error: ValidationError | RequestValidationError, *, skip: int = 0) -> list[str]:
    """Write what is wrong with a value, a line for each fault, without the first `skip` parts of a field's path."""
    lines = []
    for fault in error.errors():
        where = ".".join(str(part) for part in fault["loc"][skip:])
        message = fault["msg"].removeprefix("Value error, ")
        lines.append(f"{where}: {message}" if where else message)
    return lines


async def json_object(request: Request) -> dict[str, Any]:
    """Read a JSON object of any content type.

    Raises:
        RequestError: it is not a JSON object.
    """
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise RequestError("the body is not JSON") from error
    if not isinstance(content, dict):
        raise RequestError("the body is not a JSON object")
    return content
