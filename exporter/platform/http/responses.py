"""Reading what came back: the payload of a success, or the failure that a body tells of."""

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from exporter.platform.errors import (
    EnvelopeError,
    NotAvailable,
    NotJson,
    PlatformError,
    StatusError,
    WrongShape,
    error_for_status,
    one_line,
)
from exporter.platform.operation import Operation
from exporter.platform.wire import EnvelopeFault, Wire, describe

T = TypeVar("T")

# Error keys of a resource that this zone has not got: the plan lacks it, or nobody set it up.
_PLAN_KEY = "invalid_plan_type"
_UNCONFIGURED_KEY = "no_configuration"


@dataclass(frozen=True, slots=True)
class Failure:
    """What an error body says, whichever of the documented shapes it has (interface document, Errors)."""

    message: str = ""
    key: str = ""
    fields: tuple[tuple[str, str], ...] = ()


def failure_in(raw: bytes) -> Failure:
    """Read an error body: problem details, a script error, an envelope, status only, text, or nothing."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return Failure(message=_plain_text(raw))
    if not isinstance(body, dict):
        return Failure()
    inner = body.get("error")
    if isinstance(inner, dict):
        body = {**body, **inner}
    listed = body.get("errors")
    fields = tuple(
        (one_line(_string(item, "field")), one_line(_string(item, "message")))
        for item in (listed[:20] if isinstance(listed, list) else [])
        if isinstance(item, dict)
    )
    script_field = _string(body, "Field")
    if script_field:
        fields = ((one_line(script_field), one_line(_string(body, "Message"))), *fields)
    parts = [_string(body, name) for name in ("message", "Message", "title", "detail")]
    if isinstance(inner, str):
        parts.append(inner)
    parts.extend(f"{field}: {message}" for field, message in fields if field and message not in parts)
    return Failure(
        message=one_line(". ".join(dict.fromkeys(part for part in parts if part)).replace(".. ", ". ")),
        key=_string(body, "errorKey") or _string(body, "ErrorKey"),
        fields=fields,
    )


def _string(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""


def _plain_text(raw: bytes) -> str:
    text = raw[:1000].decode("utf-8", "replace").strip()
    return "" if text.startswith("<") else one_line(text)


def status_error(status: int, raw: bytes, retry_after: float | None) -> StatusError:
    """The error that stands for a status which is no success, with what its body says."""
    failure = failure_in(raw)
    said = f": {failure.message}" if failure.message else ""
    return error_for_status(status)(
        f"the platform answered {status}{said}",
        status=status,
        error_key=failure.key,
        retry_after=retry_after,
        fields=failure.fields,
    )


def payload(operation: Operation[T], raw: bytes, status: int) -> T:
    """The payload of a success status.

    Raises:
        NotJson, WrongShape: the body cannot be used.
        EnvelopeError, NotAvailable, StatusError: the body tells of a failure.
    """
    if not raw.strip():
        raise NotJson(f"the platform answered {status} with an empty body", status=status)
    try:
        value = _parse(operation.answer, raw)
    except ValidationError as error:
        raise _why_unparsed(error, raw, status) from None
    if operation.enveloped:
        _check_envelope(value, status)
    elif isinstance(value, Wire):
        if not value.model_fields_set:
            raise _told_failure(raw, status) or WrongShape("the body has none of the documented fields", status=status)
        fault = value.failure()
        if fault is not None:
            raise _refusal(fault.status_code or 0, fault.message or "", fault.error_key or "", status)
    return value


def _parse(adapter: TypeAdapter[T], raw: bytes) -> T:
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        if not _is_no_json(error):
            raise
        # Text that is not UTF-8, and escapes that name half a character, spoil one name and not the whole answer.
        try:
            mended = json.dumps(_without_surrogates(json.loads(raw.decode("utf-8-sig", "replace"))))
        except (ValueError, RecursionError):
            raise error from None
        return adapter.validate_json(mended)


def _without_surrogates(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _is_no_json(error: ValidationError) -> bool:
    # It is the only fault then; the list of all of them is long where each of many items is wrong.
    return error.error_count() == 1 and error.errors(include_input=False)[0]["type"] == "json_invalid"


def _why_unparsed(error: ValidationError, raw: bytes, status: int) -> PlatformError:
    if _is_no_json(error):
        looks = "HTML" if raw.lstrip()[:1] == b"<" else "not whole JSON"
        return NotJson(f"the platform answered {status} with a body that is {looks}", status=status)
    told = _told_failure(raw, status)
    return told or WrongShape(f"the body has another shape than documented: {describe(error)}", status=status)


def _told_failure(raw: bytes, status: int) -> PlatformError | None:
    """The failure in a body that has not the payload's shape: an envelope, or a status of its own."""
    failure = failure_in(raw)
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    told = body.get("statusCode") if isinstance(body, dict) else None
    if isinstance(told, int) and told >= 400:  # noqa: PLR2004
        return _refusal(told, failure.message, failure.key, status)
    if failure.key or (isinstance(body, dict) and body.get("success") is False and failure.message):
        return _refusal(0, failure.message, failure.key, status)
    return None


def _check_envelope(envelope: Any, status: int) -> None:  # noqa: ANN401
    fault: EnvelopeFault | None = envelope.error
    if fault is not None and fault.is_failure():
        raise _refusal(fault.status_code or 0, fault.message or "", fault.error_key or "", status)
    if envelope.data is None:
        told = envelope.status_code or (fault.status_code if fault is not None else 0) or 0
        if told >= 400:  # noqa: PLR2004
            raise _refusal(told, "", "", status)
        if envelope.is_empty():
            return
        raise WrongShape(f"the platform answered {status} with neither data nor an error", status=status)


def _refusal(told: int, message: str, key: str, status: int) -> PlatformError:
    words = f"the platform answered {status} with a failure: {message or key or f'status {told}'}"
    if told in (401, 403, 429):
        return error_for_status(told)(words, status=told, error_key=key)
    # A 404 of its own is how the platform says that a target is gone; one in an envelope is no such word.
    if not key and not message and told and told != 404:  # noqa: PLR2004
        return error_for_status(told)(words, status=told)
    unavailable = key.startswith(_PLAN_KEY) or key.endswith(_UNCONFIGURED_KEY)
    return (NotAvailable if unavailable else EnvelopeError)(words, status=told or status, error_key=key)
