"""Creates the platform's responses: payloads, envelopes, and errors in several formats."""

import json
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

# HTTP status → title of the error (RFC 9110). The titles in Python's `http` module depend on Python's version.
_TITLES = {400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 415: "Unsupported Media Type",
           422: "Unprocessable Content"}  # fmt: skip


def payload(content: Any, status: int = 200, media_type: str = "application/json") -> Response:  # noqa: ANN401 - any JSON
    """Return a response with this content as JSON."""
    return Response(json.dumps(content, separators=(",", ":")), status, media_type=media_type)


def enveloped(data: Any, *, default_error: bool = False, error_has_status_code: bool = False) -> Response:  # noqa: ANN401 - any JSON
    """Return `{data, error}` of a success. The error is null or, with `default_error`, an object of default values.

    With `error_has_status_code`, the object also has a `statusCode`.
    """
    error: dict[str, Any] = {"success": False, "message": None, "errorKey": None}
    if error_has_status_code:
        error["statusCode"] = 0
    return payload({"data": data, "error": error if default_error else None})


def refused(error_key: str, message: str, *, status_code: int | None = None, http_status: int = 202) -> Response:
    """Return a failure in an envelope, with a `statusCode` if one is given; the HTTP status means success."""
    error: dict[str, Any] = {"success": False, "message": message, "errorKey": error_key}
    if status_code is not None:
        error["statusCode"] = status_code
    return payload({"data": None, "error": error}, http_status)


def problem(
    status: int, detail: str, instance: str, fields: Sequence[tuple[str, str]] = (), trace_id: str = ""
) -> Response:
    """Return an error as problem details (RFC 9457); `fields` has the names and messages of wrong fields."""
    content: dict[str, Any] = {"title": _TITLES[status], "status": status, "detail": detail, "instance": instance}
    if fields:
        errors = [{"field": field, "message": message} for field, message in fields]
        content |= {"errors": errors, "id": trace_id}
    else:
        content["type"] = f"https://errors.example/{status}"
    return payload(content, status, "application/problem+json")


def script_error(status: int, error_key: str, field: str | None, message: str) -> Response:
    """Return an error in the format of edge scripts and DNS zones."""
    return payload({"ErrorKey": error_key, "Field": field, "Message": message}, status)
