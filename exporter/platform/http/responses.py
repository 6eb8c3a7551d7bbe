"""Reads answers: the body, without the secrets of the call; the payload of a success, or the failure it reports."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, cast

import httpx
from pydantic import TypeAdapter, ValidationError

from exporter.platform import errors
from exporter.platform.errors import PlatformError, error_for_status, one_line
from exporter.platform.http.mask import body_without_secrets
from exporter.platform.operation import Operation
from exporter.platform.wire import Envelope, Wire, describe, validated

T = TypeVar("T")

ERROR_BODY_LIMIT = 64 * 1024
# A longer wait in seconds that the platform asks for is shortened to this one.
LONGEST_WAIT = 3600.0
_MOST_DIGITS = 310


async def read_body(response: httpx.Response, most_bytes: int, secrets: Iterable[str]) -> bytes:
    """Read the body of an answer; the body of an error is cut at its limit.

    Args:
        response: the answer.
        most_bytes: the limit of a good answer.
        secrets: the secrets of the call, which are masked in case the platform repeats them, so that no name, label or
            error contains one.

    Raises:
        BodyTooLarge: the answer is a success, and its body is longer than the limit.
        httpx.TransportError: it is not received completely.
        httpx.DecodingError: it cannot be decoded.
    """
    is_success, announced = response.is_success, response.headers.get("content-length", "")
    limit = most_bytes if is_success else ERROR_BODY_LIMIT
    if is_success and announced.isdecimal() and int(announced) > limit:
        raise _too_large(most_bytes, response)
    pieces: list[bytes] = []
    size = 0
    # Not by the response's own iterators, which accept no answer that a test has made with `content`.
    async for piece in cast("httpx.AsyncByteStream", response.stream):
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            if is_success:
                raise _too_large(most_bytes, response)
            break
    return body_without_secrets(b"".join(pieces), secrets)


def _too_large(most_bytes: int, response: httpx.Response) -> errors.BodyTooLarge:
    return errors.BodyTooLarge(f"the body is over {most_bytes} bytes", status=response.status_code)


@lru_cache(maxsize=64)
def http_date(text: str | None) -> datetime | None:
    """Return a date of an HTTP header (RFC 9110, section 5.6.7) in UTC; None if it is missing or unreadable.

    Results are cached, because all answers of a second have the same date.
    """
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """`Retry-After` in either form, as seconds from `now` on, at most an hour; None if it is missing or unreadable.

    Args:
        value: the header: a number of seconds or an HTTP date.
        now: the sender's own clock, so that a difference between its clock and this machine's does not matter.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(LONGEST_WAIT, float(text))
    moment = http_date(text)
    return None if moment is None else min(LONGEST_WAIT, max(0.0, (moment - now).total_seconds()))


# Parts of error keys that mean that the plan lacks the resource, that it was never set up, or that it does not exist.
_UNAVAILABLE = ("invalid_plan_type", "no_configuration", "not_configured")
_NONE = (*_UNAVAILABLE, "not_found")
# The classes of errors that mean *not available* where the key has such a part. Any other 404 ends its target.
_NONE_KEYS: Mapping[type[PlatformError], tuple[str, ...]] = {
    errors.Rejected: _NONE,
    errors.Forbidden: _NONE,
    errors.EnvelopeError: _NONE,
    errors.NotFound: _UNAVAILABLE,
}


class Failure(NamedTuple):
    """What a body says about a failure, in any of the documented shapes (interface document, Errors).

    Attributes:
        message: the platform's message in one line.
        key: the platform's key for the error.
        status: the status in the body, if it is one of a failure; else 0.
        is_reported: whether the body itself reports a failure, also where its HTTP status is a success.
    """

    message: str = ""
    key: str = ""
    status: int = 0
    is_reported: bool = False


def failure_in(raw: bytes) -> Failure:
    """Read an error body: problem details, a script error, an envelope, status only, text, or nothing."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        text = raw[:1000].decode("utf-8", "replace").strip()
        return Failure("" if text.startswith("<") else one_line(text))
    if not isinstance(body, dict):
        return Failure()
    named = (body.get(name) for name in ("error", "errorResponse"))
    inner: dict[str, Any] = next((one for one in named if isinstance(one, dict)), {})
    merged, listed = {**body, **inner}, body.get("errors")
    parts = [_string(merged, name) for name in ("message", "Message", "title", "detail", "error")]
    for item in listed[:20] if isinstance(listed, list) else []:
        field, message = _string(item, "field"), _string(item, "message")
        if field and message not in parts:
            parts.append(f"{field}: {message}")
    message = one_line(". ".join(dict.fromkeys(filter(None, parts))).replace(".. ", ". "))
    key, status = _string(merged, "errorKey") or _string(merged, "ErrorKey"), merged.get("statusCode")
    status = status if isinstance(status, int) and status >= 400 else 0  # noqa: PLR2004
    # A good payload may carry an error object of defaults, whose `success` is false without a word why.
    success, says_why = merged.get("success"), bool(merged.get("message") or merged.get("Message"))
    is_reported = success is not True and (bool(key) or (says_why and (bool(inner) or success is False)))
    return Failure(message, key, status, is_reported or (status > 0 and body.get("data") is None))


def _string(body: object, name: str) -> str:
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) else ""


def _by_key(kind: type[PlatformError], key: str) -> type[PlatformError]:
    """Return the class of an error whose key may say that the platform has none of it."""
    return errors.NotAvailable if any(word in key.lower() for word in _NONE_KEYS.get(kind, ())) else kind


def status_error(status: int, raw: bytes, retry_after: float | None) -> PlatformError:
    """Return the error for a failure status, with the content of the body."""
    failure = failure_in(raw)
    said = f": {failure.message}" if failure.message else ""
    return _by_key(error_for_status(status), failure.key)(
        f"the platform answered {status}{said}",
        status=status,
        error_key=failure.key,
        retry_after=retry_after,
    )


def payload(operation: Operation[T], raw: bytes, status: int, unexpected: set[str]) -> T:
    """Return the payload of a body with a success status.

    Args:
        operation: the operation.
        raw: the body.
        status: the HTTP status.
        unexpected: receives the names of the fields with an unknown value, or with a number or a date that cannot be
            read, which is None then.

    Raises:
        NotJson, WrongShape: the body cannot be used.
        EnvelopeError, NotAvailable, StatusError: the body reports a failure.
    """
    value: Any
    if not raw.strip():
        raise errors.NotJson(f"the platform answered {status} with an empty body", status=status)
    try:
        value = _parse(operation.answer, raw, unexpected)
    except ValidationError as error:
        raise _why_unparsed(error, raw, status) from None
    if isinstance(value, Wire) and (value.has_error() or value.is_missing()):
        failure = failure_in(raw)
        if failure.is_reported:
            raise _refusal(failure, status)
        if value.is_missing():
            missing = "neither data nor an error" if isinstance(value, Envelope) else "none of the documented fields"
            raise errors.WrongShape(f"the platform answered {status} with {missing}", status=status)
    read: T = value.payload() if isinstance(value, Envelope) else value
    return read


def _parse(adapter: TypeAdapter[T], raw: bytes, unreadable: set[str]) -> T:
    try:
        return adapter.validate_json(raw, context=unreadable)
    except ValidationError as error:
        # Invalid UTF-8, unpaired surrogates, and numbers and dates that cannot be read must affect one field only, and
        # not the whole answer.
        try:
            body = json.loads(raw.decode("utf-8-sig", "replace"), parse_int=_integer)
            return validated(lambda value: adapter.validate_json(_written(value), context=unreadable), body, unreadable)
        except ValidationError:
            raise
        except (ValueError, RecursionError):
            raise error from None


def _integer(digits: str) -> int | float:
    """Return an integer of JSON; infinity for one that no float holds, because Python reads only 4,300 digits."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _written(value: object) -> bytes:
    """Write JSON; unpaired surrogates become question marks."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _is_no_json(error: ValidationError) -> bool:
    # Stop at the first fault; with many wrong items, the list of all faults would be long.
    return error.error_count() == 1 and error.errors(include_input=False)[0]["type"] == "json_invalid"


def _why_unparsed(error: ValidationError, raw: bytes, status: int) -> PlatformError:
    if _is_no_json(error):
        looks = "HTML" if raw.lstrip().startswith(b"<") else "not whole JSON"
        return errors.NotJson(f"the platform answered {status} with a body that is {looks}", status=status)
    failure = failure_in(raw)
    if failure.is_reported:
        return _refusal(failure, status)
    return errors.WrongShape(f"the body has another shape than documented: {describe(error)}", status=status)


def _refusal(failure: Failure, status: int) -> PlatformError:
    """Return the error for a failure that is reported under a success status."""
    message, key, reported, _ = failure
    said = message or key or (f"status {reported}" if reported else "without a message")
    words = f"the platform answered {status} with a failure: {said}"
    # A 404 as the HTTP status means that the target no longer exists; a 404 in an envelope does not.
    is_status = reported in (401, 403, 429, 503) or (not key and not message and reported not in (0, 404))
    kind: type[PlatformError] = error_for_status(reported) if is_status else errors.EnvelopeError
    return _by_key(kind, key)(words, status=reported or status, error_key=key)
