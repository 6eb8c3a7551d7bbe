"""Builds the platform's answers: payloads, envelopes, and each format of errors."""

import json
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

# Of RFC 9110; those of Python's http module differ between its versions.
_PHRASES = {400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 415: "Unsupported Media Type",
            422: "Unprocessable Content"}  # fmt: skip


def payload(content: Any, status: int = 200, media_type: str = "application/json") -> Response:  # noqa: ANN401 - any JSON
    """Answer with bare JSON."""
    return Response(json.dumps(content, separators=(",", ":")), status, media_type=media_type)


def enveloped(data: Any, *, defaulted: bool = False, with_status: bool = False) -> Response:  # noqa: ANN401 - any JSON
    """Answer with `{data, error}`; the error of a good answer is null or an object of defaults."""
    error = {"success": False, "message": None, "errorKey": None} | ({"statusCode": 0} if with_status else {})
    return payload({"data": data, "error": error if defaulted else None})


def refused(error_key: str, message: str, *, status_code: int | None = None, status: int = 202) -> Response:
    """Answer with a failure inside an envelope, under a success status."""
    error: dict[str, Any] = {"success": False, "message": message, "errorKey": error_key}
    if status_code is not None:
        error["statusCode"] = status_code
    return payload({"data": None, "error": error}, status)


def problem(
    status: int, detail: str, instance: str, fields: Sequence[tuple[str, str]] = (), trace: str = ""
) -> Response:
    """Answer with problem details; faulty fields are named, each with what is wrong, under the id `trace`."""
    more: dict[str, Any] = {"type": f"https://errors.example/{status}"}
    if fields:
        more = {"errors": [{"field": field, "message": message} for field, message in fields], "id": trace}
    content = {"title": _PHRASES[status], "status": status, "detail": detail, "instance": instance, **more}
    return payload(content, status, "application/problem+json")


def script_error(status: int, error_key: str, field: str | None, message: str) -> Response:
    """Answer with the edge scripts' error."""
    return payload({"ErrorKey": error_key, "Field": field, "Message": message}, status)
