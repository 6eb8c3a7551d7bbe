"""Builds the platform's answers: payloads, envelopes, and each format of errors."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import Response


def encode(content: Any) -> bytes:  # noqa: ANN401 - any JSON
    """Write JSON without spaces."""
    return json.dumps(content, separators=(",", ":")).encode()


def payload(content: Any, status: int = 200, media_type: str = "application/json") -> Response:  # noqa: ANN401 - any JSON
    """Answer with bare JSON."""
    return Response(encode(content), status, media_type=media_type)


def enveloped(data: Any, *, defaulted: bool = False, with_status: bool = False) -> Response:  # noqa: ANN401 - any JSON
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
    return _problem(status, detail, instance, {"type": f"https://errors.example/{status}"})


def field_errors(status: int, detail: str, instance: str, errors: Sequence[tuple[str, str]], trace: str) -> Response:
    """Answer with problem details that name the faulty fields."""
    named = [{"field": field, "message": message} for field, message in errors]
    return _problem(status, detail, instance, {"errors": named, "id": trace})


def _problem(status: int, detail: str, instance: str, more: dict[str, Any]) -> Response:
    title = HTTPStatus(status).phrase
    content = {"title": title, "status": status, "detail": detail, "instance": instance, **more}
    return payload(content, status, "application/problem+json")


def script_error(status: int, error_key: str, field: str | None, message: str) -> Response:
    """Answer with the edge scripts' error."""
    return payload({"ErrorKey": error_key, "Field": field, "Message": message}, status)
