"""Builds the platform's answers: payloads, envelopes, and each style of error."""

import json
from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"
_TITLES: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    413: "Payload Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Entity",
    500: "Internal Server Error",
}


def encode(content: Any) -> bytes:  # noqa: ANN401 - whatever JSON can say
    """Write JSON without spaces."""
    return json.dumps(content, separators=(",", ":")).encode()


def payload(content: Any, status: int = 200) -> Response:  # noqa: ANN401 - whatever JSON can say
    """Answer with bare JSON."""
    return Response(encode(content), status, media_type=_JSON)


def raw_payload(content: bytes) -> Response:
    """Answer with encoded JSON."""
    return Response(content, media_type=_JSON)


def enveloped(data: Any, *, defaulted: bool = False, with_status: bool = False) -> Response:  # noqa: ANN401
    """Answer with `{data, error}`; the error of a good answer is null or an object of defaults."""
    error: dict[str, Any] | None = None
    if defaulted:
        error = {"success": False, "message": None, "errorKey": None}
        if with_status:
            error["statusCode"] = 0
    return payload({"data": data, "error": error})


def refused(error_key: str, message: str, *, status_code: int | None = None, status: int = 202) -> Response:
    """Answer with a failure inside an envelope, under a success status."""
    error: dict[str, Any] = {"success": False, "message": message, "errorKey": error_key}
    if status_code is not None:
        error["statusCode"] = status_code
    return payload({"data": None, "error": error}, status)


def empty(status: int) -> Response:
    """Answer with a status alone."""
    return Response(b"", status)


def status_only(status: int) -> Response:
    """Answer with `{"statusCode": ...}`."""
    return payload({"statusCode": status}, status)


def problem(status: int, detail: str, instance: str) -> Response:
    """Answer with problem details."""
    content = {
        "type": f"https://errors.example/{status}",
        "title": _TITLES[status],
        "status": status,
        "detail": detail,
        "instance": instance,
    }
    return Response(encode(content), status, media_type=_PROBLEM)


def field_errors(status: int, detail: str, instance: str, errors: Sequence[tuple[str, str]], trace: str) -> Response:
    """Answer with problem details that name the faulty fields."""
    content = {
        "title": _TITLES[status],
        "status": status,
        "detail": detail,
        "instance": instance,
        "errors": [{"field": field, "message": message} for field, message in errors],
        "id": trace,
    }
    return Response(encode(content), status, media_type=_PROBLEM)


def script_error(status: int, error_key: str, field: str | None, message: str) -> Response:
    """Answer with the edge scripts' error."""
    return payload({"ErrorKey": error_key, "Field": field, "Message": message}, status)
