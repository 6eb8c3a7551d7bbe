"""Reads the bodies of answers: the payload, or the failure that a body reports."""

import json
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, TypeVar, cast

import httpx
from pydantic import TypeAdapter, ValidationError

from exporter.mask import body_without_secrets
from exporter.platform import errors
from exporter.platform.errors import PlatformError, class_for_status, one_line
from exporter.platform.operation import Operation
from exporter.platform.wire import Envelope, Wire, describe, validated

T = TypeVar("T")

# The body of an error is read to its end, or until more bytes than this have arrived.
ERROR_BODY_LIMIT = 64 * 1024
# A longer integer does not fit in a float, which holds at most 309 digits and a sign.
_MOST_DIGITS = 310
_PARTIAL = 206
_LOWEST_FAILURE = 400
# The highest number of wrong fields that an error's message lists.
_MOST_LISTED = 20


async def read_body(response: httpx.Response, most_bytes: int, secrets: Iterable[str]) -> bytes:
    """Read the body of an answer, and close the stream. If the body of an error is long, only its beginning is read.

    `most_bytes` is the limit for the body of a success. `secrets` are masked by `body_without_secrets`.

    Raises:
        TooLarge: the body of a success has more than `most_bytes` bytes.
        httpx.RequestError: the body cannot be received or decoded.
    """
    limit = most_bytes if response.is_success else ERROR_BODY_LIMIT
    announced = response.headers.get("content-length", "")
    pieces: list[bytes] = []
    size = 0
    # `response.aiter_raw` would refuse a response that was created with its content, as in tests.
    async with aclosing(cast("httpx.AsyncByteStream", response.stream)) as stream:
        if response.is_success and announced.isdecimal() and int(announced) > limit:
            raise _too_large(most_bytes, response)
        async for piece in stream:
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                break
    if response.is_success and size > limit:
        raise _too_large(most_bytes, response)
    return body_without_secrets(b"".join(pieces), secrets)


def _too_large(most_bytes: int, response: httpx.Response) -> errors.TooLarge:
    return errors.TooLarge(f"the body has more than {most_bytes} bytes", status=response.status_code)


# An error key with one of these parts means that the plan lacks the feature, or that the feature was never set up.
_UNAVAILABLE = ("invalid_plan_type", "no_configuration", "not_configured")
_UNAVAILABLE_OR_NOT_FOUND = (*_UNAVAILABLE, "not_found")
# Class of error → the parts of error keys with which the error is `NotAvailable`. A 404 with the key `not_found` stays
# `NotFound`: the target does not exist.
_NOT_AVAILABLE_KEYS: Mapping[type[PlatformError], tuple[str, ...]] = {
    errors.Rejected: _UNAVAILABLE_OR_NOT_FOUND,
    errors.Forbidden: _UNAVAILABLE_OR_NOT_FOUND,
    errors.EnvelopeError: _UNAVAILABLE_OR_NOT_FOUND,
    errors.NotFound: _UNAVAILABLE,
}


class Failure(NamedTuple):
    """The failure that a body describes (interface document, Errors).

    Attributes:
        message: the messages in the body, not shortened; empty if there are none, and for HTML or XML.
        key: the platform's key for the error; empty if the body has none.
        status: the `statusCode` in the body; 0 if there is none, or if it is below 400.
        is_reported: whether the body reports a failure, whatever the HTTP status.
    """

    message: str = ""
    key: str = ""
    status: int = 0
    is_reported: bool = False


def failure_in(raw: bytes) -> Failure:
    """Return the failure that a body describes; a field that the body does not describe has its default."""
    # A secret in UTF-16 is only found, and masked, in the decoded text.
    text = raw.decode(json.detect_encoding(raw), "replace")
    try:
        body = json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError):
        body = text
    if isinstance(body, str):
        text = body.strip()
        is_markup, is_printable = text.startswith("<"), one_line(text) != ""
        return Failure(text if is_printable and not is_markup else "")
    if not isinstance(body, dict):
        return Failure()
    objects = (body[name] for name in ("error", "errorResponse") if isinstance(body.get(name), dict))
    error_object: dict[str, Any] = next(objects, {})
    # An error is described by the fields of its object, and by those beside the object.
    fields = {**body, **error_object}
    status = _failure_status(fields)
    has_status_without_data = status > 0 and body.get("data") is None
    is_reported = has_status_without_data or _says_failed(fields, has_error_object=bool(error_object))
    return Failure(_message_of(fields), _key_of(fields), status, is_reported)


def _failure_status(fields: Mapping[str, Any]) -> int:
    status = fields.get("statusCode")
    return status if isinstance(status, int) and status >= _LOWEST_FAILURE else 0


def _key_of(fields: Mapping[str, Any]) -> str:
    return _string(fields, "errorKey") or _string(fields, "ErrorKey")


def _says_failed(fields: Mapping[str, Any], *, has_error_object: bool) -> bool:
    success = fields.get("success")
    if success is True:
        return False
    # A message alone is no failure, because a resource may have a field of this name. An error object alone is no
    # failure either: in a good answer, it may have default values, with `success` false, no key and no message.
    may_be_failure = has_error_object or success is False
    has_message = bool(fields.get("message") or fields.get("Message"))
    return bool(_key_of(fields)) or (may_be_failure and has_message)


def _message_of(fields: Mapping[str, Any]) -> str:
    parts = [_string(fields, name) for name in ("message", "Message", "title", "detail", "error")]
    listed = fields.get("errors")
    faults = listed[:_MOST_LISTED] if isinstance(listed, list) else []
    for item in faults:
        field, message = _string(item, "field"), _string(item, "message")
        # A message that the body also has elsewhere is not repeated.
        if message and message not in parts:
            parts.append(f"{field}: {message}" if field else message)
    # A text without a printable character says nothing.
    distinct_texts = dict.fromkeys(part for part in parts if one_line(part))
    # A text may end with a full stop, which must not be doubled.
    return ". ".join(distinct_texts).replace(".. ", ". ")


def _string(body: object, name: str) -> str:
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) else ""


def _class_by_key(kind: type[PlatformError], key: str) -> type[PlatformError]:
    """Return `NotAvailable` if the error key means this in an error of class `kind`, otherwise `kind`."""
    parts = _NOT_AVAILABLE_KEYS.get(kind, ())
    return errors.NotAvailable if any(part in key.lower() for part in parts) else kind


def status_error(status: int, raw: bytes, retry_after: float | None) -> PlatformError:
    """Return the error for an HTTP status that is no success, with the message in the body."""
    failure = failure_in(raw)
    said = f": {failure.message}" if failure.message else ""
    kind = _class_by_key(class_for_status(status), failure.key)
    # A 407 comes from the proxy: without TLS, as the answer to the call; with TLS, the transport reports it.
    sender = "proxy" if kind is errors.ProxyFault else "platform"
    message = f"the {sender} answered {status}{said}"
    return kind(message, status=status, error_key=failure.key, retry_after=retry_after)


def payload(operation: Operation[T], raw: bytes, status: int, unexpected: set[str]) -> T:
    """Return the payload of a body with a success status.

    `unexpected` receives the names of the fields with an unknown value, or with something that cannot be read.

    Raises:
        PlatformError: the body cannot be used, or reports a failure.
    """
    if status == _PARTIAL:
        message = "the platform answered 206 with a part of the body, although all of it was requested"
        raise errors.BadAnswer(message, status=status)
    if not raw.strip():
        raise errors.NotJson(f"the platform answered {status} with an empty body", status=status)
    try:
        value: Any = _parse(operation.answer, raw, unexpected)
    except ValidationError as error:
        raise _error_of_invalid_body(error, raw, status) from None
    if isinstance(value, Wire) and (value.has_error() or value.is_missing()):
        failure = failure_in(raw)
        if failure.is_reported:
            raise _reported_error(failure, status)
        if value.is_missing():
            missing = "no data" if isinstance(value, Envelope) else "none of the expected fields"
            said = f": {failure.message}" if failure.message else ""
            raise errors.WrongShape(f"the platform answered {status} with {missing}{said}", status=status)
    return cast("T", value.payload() if isinstance(value, Envelope) else value)


def _parse(adapter: TypeAdapter[T], raw: bytes, unexpected: set[str]) -> T:
    try:
        return adapter.validate_json(raw, context=unexpected)
    except ValidationError as error:
        # Try again, tolerating a byte order mark, invalid UTF-8, unpaired surrogates, and unreadable numbers or dates.
        try:
            body = parse_json(raw)
            # As bytes again, because encoding replaces the surrogates.
            return validated(
                lambda value: adapter.validate_json(_json_bytes(value), context=unexpected), body, unexpected
            )
        except (json.JSONDecodeError, RecursionError):
            raise error from None


def parse_json(raw: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Parse JSON, tolerating a byte order mark, invalid UTF-8, and integers of any length.

    Raises:
        ValueError: the bytes are not JSON.
        RecursionError: the JSON is too deeply nested.
    """
    return json.loads(raw.decode("utf-8-sig", "replace"), parse_int=_integer)


def _integer(digits: str) -> int | float:
    """Convert an integer of JSON; an integer of more than `_MOST_DIGITS` characters becomes infinite."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _json_bytes(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _is_not_json(error: ValidationError) -> bool:
    if error.error_count() > 1:
        # The body is JSON with several faults. Listing all faults could take long.
        return False
    (fault,) = error.errors(include_input=False)
    return fault["type"] == "json_invalid"


def _error_of_invalid_body(error: ValidationError, raw: bytes, status: int) -> PlatformError:
    if _is_not_json(error):
        form = "HTML or XML" if raw.lstrip().startswith(b"<") else "not valid JSON, or too deeply nested"
        return errors.NotJson(f"the platform answered {status} with a body that is {form}", status=status)
    failure = failure_in(raw)
    if failure.is_reported:
        return _reported_error(failure, status)
    return errors.WrongShape(f"the body has another shape than expected: {describe(error)}", status=status)


def _reported_error(failure: Failure, status: int) -> PlatformError:
    status_said = f"status {failure.status}" if failure.status else "without a message"
    said = failure.message or failure.key or status_said
    # Other code acts on the classes of these statuses, for example with a pause.
    is_acted_on = failure.status in (401, 403, 429, 503)
    # An HTTP status 404 means that the target does not exist. In a body, a 404 may have another meaning.
    is_status_alone = not failure.key and not failure.message and failure.status not in (0, 404)
    kind = class_for_status(failure.status) if is_acted_on or is_status_alone else errors.EnvelopeError
    message = f"the platform answered {status} with a failure: {said}"
    return _class_by_key(kind, failure.key)(message, status=failure.status or status, error_key=failure.key)
