"""The errors of requests that the sandbox refuses."""

import json
from collections.abc import Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.requests import Request


class RequestError(Exception):
    """A wrong request.

    Args:
        reasons: messages that say what is wrong.
        status: the HTTP status of the answer.
        fields: the names and messages of wrong fields of the body.
    """

    def __init__(self, *reasons: str, status: int = 400, fields: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons
        self.status = status
        self.fields = fields


def reasons(error: ValidationError | RequestValidationError, *, skip: int = 0) -> list[str]:
    """Return a message for each fault that pydantic found; the first `skip` parts of a field's path are left out."""
    lines = []
    for fault in error.errors():
        where = ".".join(str(part) for part in fault["loc"][skip:])
        message = fault["msg"].removeprefix("Value error, ")  # pydantic puts this before the message of a ValueError
        lines.append(f"{where}: {message}" if where else message)
    return lines


async def json_object(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request. The content type does not matter.

    Raises:
        RequestError: the body is not a JSON object.
    """
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise RequestError("the body cannot be read as JSON") from error
    if not isinstance(content, dict):
        raise RequestError("the body is not a JSON object")
    return content
