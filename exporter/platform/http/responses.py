"""Reads answers: the body, with the secrets of the call masked; the payload of a success, or the failure it reports."""

import json
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from exporter.platform import errors
from exporter.platform.errors import PlatformError, StatusError, error_for_status, one_line
from exporter.platform.http.mask import Mask
from exporter.platform.long_json import Items, LongJson, NotWholeJsonError, TooManyValuesError, without_surrogates
from exporter.platform.operation import Envelope, Operation, Wire, describe, is_out_of_range
from exporter.responsive.event_loop import Turns

T = TypeVar("T")

BODY_LIMIT = 16 * 1024 * 1024
ERROR_BODY_LIMIT = 64 * 1024
# A longer body is parsed step by step while it arrives. A shorter one is parsed at once, which takes a millisecond.
LONG_BODY = 64 * 1024


# The decoded bytes, of an error or of a list that was cut only the part that was read; and the document, if the body
# was long and therefore parsed while it arrived.
Content = tuple[bytes, LongJson | None]


class Body:
    """Collects a body, and masks the secrets of the call in it.

    Attributes:
        size: the number of bytes so far.
    """

    def __init__(self, mask: Mask) -> None:
        self.size = 0
        self._mask = mask
        # Bytes that may be the beginning of a secret are held back until the next ones arrive.
        self._held = bytearray()
        self._parts: list[bytes] = []

    def take(self, piece: bytes, *, last: bool = False) -> bytes:
        """Add received bytes; return those that are masked."""
        self.size += len(piece)
        self._held += piece
        # Each byte is searched twice at most, however small the pieces are; a short body is searched once.
        if not last and len(self._held) < max(LONG_BODY, 2 * self._mask.longest):
            return b""
        masked = self._mask.apply(bytes(self._held))
        end = len(masked) if last else max(0, len(masked) - self._mask.longest)
        self._held = bytearray(masked[end:])
        self._parts.append(masked[:end])
        return masked[:end]

    def so_far(self) -> bytes:
        """The masked bytes so far."""
        return b"".join(self._parts)


async def read_body(
    response: httpx.Response, stream: httpx.AsyncByteStream, items: Items | None, turns: Turns, mask: Mask
) -> Content:
    """Read the body of an answer; the body of an error is cut at the limit.

    Args:
        response: the answer.
        stream: its body. The response's own iterators accept no answer that a test has made with `content`.
        items: the array that may be long in a good answer.
        turns: the order in which long bodies are parsed on the event loop.
        mask: masks the secrets of the call, in case the platform repeats them, so that no name, label or error contains
            one.

    Raises:
        BodyTooLarge: the answer is a success, and its body is longer than the limit.
        NotJson: the body is long and not JSON.
        WrongShape: the body has more values than an answer may have.
        httpx.TransportError: it is not received completely.
        httpx.DecodingError: it cannot be decoded.
    """
    status, is_success = response.status_code, response.is_success
    announced = response.headers.get("content-length", "")
    too_large = f"the body is over {BODY_LIMIT} bytes"
    if is_success and announced.isdecimal() and int(announced) > BODY_LIMIT:
        raise errors.BodyTooLarge(too_large, status=status)
    body = Body(mask)
    long: LongJson | None = None
    async for piece in stream:
        taken = body.take(piece)
        if not is_success and body.size > ERROR_BODY_LIMIT:
            break
        if body.size > BODY_LIMIT:
            raise errors.BodyTooLarge(too_large, status=status)
        if long is None and is_success and body.size > LONG_BODY:
            long, taken = LongJson(items), body.so_far()
        if long is not None:
            await _parse_piece(long, taken, turns, status)
            if long.is_cut:
                return body.so_far(), long
    last = body.take(b"", last=True)
    if long is not None:
        await _parse_piece(long, last, turns, status, is_last=True)
    return body.so_far(), long


async def _parse_piece(long: LongJson, piece: bytes, turns: Turns, status: int, *, is_last: bool = False) -> None:
    """Parse the received bytes of a long body."""
    try:
        for _ in long.feed(piece, is_last=is_last):
            await turns.take()
    except NotWholeJsonError:
        raise _no_json(long.begin, status) from None
    except TooManyValuesError as error:
        raise errors.WrongShape(f"the body holds {error}", status=status) from None
    await turns.take()


def _no_json(begin: str, status: int) -> errors.NotJson:
    looks = "HTML" if begin.startswith("<") else "not whole JSON"
    return errors.NotJson(f"the platform answered {status} with a body that is {looks}", status=status)


# Error keys that mean that this zone does not have the resource: its plan lacks it, or it was never set up.
_PLAN_KEY = "invalid_plan_type"
_UNCONFIGURED_KEY = "no_configuration"


@dataclass(frozen=True, slots=True)
class Failure:
    """The content of an error body, in any of the documented shapes (interface document, Errors)."""

    message: str = ""
    key: str = ""
    fields: tuple[tuple[str, str], ...] = ()


def failure_in(raw: bytes) -> Failure:
    """Read an error body: problem details, a script error, an envelope, status only, text, or nothing."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        text = raw[:1000].decode("utf-8", "replace").strip()
        return Failure("" if text.startswith("<") else one_line(text))
    return _failure_of(body)


def _failure_of(body: object) -> Failure:
    """Return what a parsed body reports about a failure."""
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


def status_error(status: int, raw: bytes, retry_after: float | None) -> StatusError:
    """Return the error for a failure status, with the content of the body."""
    failure = failure_in(raw)
    said = f": {failure.message}" if failure.message else ""
    return error_for_status(status)(
        f"the platform answered {status}{said}",
        status=status,
        error_key=failure.key,
        retry_after=retry_after,
        fields=failure.fields,
    )


def payload(operation: Operation[T], raw: bytes, status: int, parsed: LongJson | None = None) -> T:
    """Return the payload of a body with a success status; `parsed` is the body, if it was parsed while it arrived.

    Raises:
        NotJson, WrongShape: the body cannot be used.
        EnvelopeError, NotAvailable, StatusError: the body reports a failure.
    """
    value: Any
    if parsed is None and not raw.strip():
        raise errors.NotJson(f"the platform answered {status} with an empty body", status=status)
    try:
        value = _parse(operation.answer, raw, parsed)
    except ValidationError as error:
        raise _why_unparsed(error, raw, parsed, status) from None
    if isinstance(value, Envelope):
        _check_envelope(value, status)
        value = value.payload()
    elif isinstance(value, Wire):
        if not value.model_fields_set:
            fault = errors.WrongShape("the body has none of the documented fields", status=status)
            raise _reported_failure(raw, parsed, status) or fault
        failed = value.failure()
        if failed is not None:
            raise _refusal(failed.status_code or 0, failed.message or "", failed.error_key or "", status)
    read: T = value
    return read


def _parse(adapter: TypeAdapter[T], raw: bytes, parsed: LongJson | None) -> T:
    if parsed is not None:
        return adapter.validate_python(parsed.document)
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        if not _is_no_json(error):
            raise
        # Invalid UTF-8 and unpaired surrogates must affect one name only, and not the whole answer.
        try:
            mended = json.dumps(without_surrogates(json.loads(raw.decode("utf-8-sig", "replace"))))
        except (ValueError, RecursionError):
            raise error from None
        return adapter.validate_json(mended)


def _is_no_json(error: ValidationError) -> bool:
    # Stop at the first fault; with many wrong items, the list of all faults would be long.
    return error.error_count() == 1 and error.errors(include_input=False)[0]["type"] == "json_invalid"


def _why_unparsed(error: ValidationError, raw: bytes, parsed: LongJson | None, status: int) -> PlatformError:
    if _is_no_json(error):
        return _no_json(raw.lstrip()[:1].decode("latin-1"), status)
    reported = _reported_failure(raw, parsed, status)
    if reported is None and is_out_of_range(error):
        return errors.OutOfRange(f"a number of the body is out of range: {describe(error)}", status=status)
    return reported or errors.WrongShape(
        f"the body has another shape than documented: {describe(error)}", status=status
    )


def _reported_failure(raw: bytes, parsed: LongJson | None, status: int) -> PlatformError | None:
    """Return the failure in a body that does not have the payload's shape: an envelope, or a status in the body."""
    try:
        body = json.loads(raw) if parsed is None else parsed.document
    except (ValueError, RecursionError):
        return None
    failure = _failure_of(body)
    reported = body.get("statusCode") if isinstance(body, dict) else None
    if isinstance(reported, int) and reported >= 400:  # noqa: PLR2004
        return _refusal(reported, failure.message, failure.key, status)
    if failure.key or (isinstance(body, dict) and body.get("success") is False and failure.message):
        return _refusal(0, failure.message, failure.key, status)
    return None


def _check_envelope(envelope: Envelope[Any], status: int) -> None:
    fault = envelope.error
    if fault is not None and fault.is_failure():
        raise _refusal(fault.status_code or 0, fault.message or "", fault.error_key or "", status)
    if envelope.data is None:
        reported = envelope.status_code or (fault.status_code if fault is not None else 0) or 0
        if reported >= 400:  # noqa: PLR2004
            raise _refusal(reported, "", "", status)
        if envelope.is_empty():
            return
        raise errors.WrongShape(f"the platform answered {status} with neither data nor an error", status=status)


def _refusal(reported: int, message: str, key: str, status: int) -> PlatformError:
    words = f"the platform answered {status} with a failure: {message or key or f'status {reported}'}"
    if reported in (401, 403, 429):
        return error_for_status(reported)(words, status=reported, error_key=key)
    # A 404 as the HTTP status means that the target no longer exists; a 404 in an envelope does not.
    if not key and not message and reported and reported != 404:  # noqa: PLR2004
        return error_for_status(reported)(words, status=reported)
    unavailable = key.startswith(_PLAN_KEY) or key.endswith(_UNCONFIGURED_KEY)
    return (errors.NotAvailable if unavailable else errors.EnvelopeError)(
        words, status=reported or status, error_key=key
    )
