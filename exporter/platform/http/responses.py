"""Reads answers: the body, with the secrets of the call masked; the payload of a success, or the failure it reports.

A secret is found in upper or lower case, as plain text, escaped for JSON (once or twice) or HTML, percent-encoded (once
or twice), as hexadecimal digits, and as base64, also the variant for URLs and in lines of 76 columns.
"""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

import re2
from pydantic import TypeAdapter, ValidationError

from exporter.platform import errors
from exporter.platform.errors import MASK, PlatformError, StatusError, error_for_status, one_line
from exporter.platform.operation import Envelope, Operation, Wire, describe, is_out_of_range

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

ERROR_BODY_LIMIT = 64 * 1024
# A shorter secret may be equal to a word of the answer.
SHORTEST = 12
# A longer secret is masked in pieces, because one expression for all of it could be too large for the engine.
_PIECE = 4096
# A line of base64 ends after a group of four digits; in JSON, the line break is escaped.
_BREAK = r"(?:(?:\r|\\{1,4}r)?(?:\n|\\{1,4}n))?"
_BASE64_SYMBOLS = {"+": r"(?:\+|-|%(?:25)?2[Bb])", "/": r"(?:\\?/|_|%(?:25)?2[Ff])"}


class Mask:
    """Replaces secrets in bytes by `***`.

    Args:
        secrets: the secrets to mask; in answers, those that are too short are not masked.

    Attributes:
        secrets: the same.
    """

    __slots__ = ("_compiled", "secrets")

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.secrets = tuple(secrets)
        pieces = [piece for secret in self.secrets if len(secret) >= SHORTEST for piece in _pieces(secret)]
        # The longest first: a shorter secret may be a part of a longer one, whose rest would remain.
        pieces.sort(key=len, reverse=True)
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 64 * 1024 * 1024
        self._compiled = [re2.compile("|".join(_patterns(piece)).encode(), options) for piece in pieces]

    def apply(self, raw: bytes) -> bytes:
        """Return the bytes without the secrets."""
        for pattern in self._compiled:
            if pattern.search(raw) is not None:
                raw = pattern.sub(MASK.encode(), raw)
        return raw

    def text(self, text: str) -> str:
        """Return a text without the secrets, also without those that are too short to be masked in an answer."""
        text = self.apply(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        for secret in filter(None, self.secrets):
            text = text.replace(secret, MASK)
        return text


def _pieces(secret: str) -> list[str]:
    """Divide a secret into equal pieces, so that no piece is short."""
    number = -(-len(secret) // _PIECE)
    size = -(-len(secret) // number)
    return [secret[start : start + size] for start in range(0, len(secret), size)]


def _patterns(secret: str) -> Iterator[str]:
    yield "".join(map(_character, secret))
    plain = secret.encode("utf-8", "replace")
    yield f"(?i:{plain.hex()})"
    # The base64 digits depend on the bytes before the secret; the first and the last digit may depend on its
    # neighbours.
    for before in range(3):
        digits = b64encode(bytes(before) + plain + bytes(2)).decode()
        first = -(-before * 8 // 6)
        yield "".join(
            (_BREAK if place % 4 == 0 and place > first else "") + _BASE64_SYMBOLS.get(digits[place], digits[place])
            for place in range(first, (before + len(plain)) * 8 // 6)
        )


def _character(char: str) -> str:
    """Return a pattern of a character as it is, or escaped for JSON, a URL or HTML."""
    units = char.encode("utf-16-be", "replace").hex()
    in_json = "".join(rf"\\{{0,4}}u{units[at : at + 4]}" for at in range(0, len(units), 4))
    in_url = "".join(f"%(?:25)?{byte:02x}" for byte in char.encode("utf-8", "replace"))
    in_html = f"&#0{{0,4}}{ord(char)};|&#x0{{0,4}}{ord(char):x};"
    # The longer alternative first, so that no part of it remains.
    plain = "|".join(
        re2.escape(it) for it in sorted({char, escape(char), "+" if char == " " else char}, key=len, reverse=True)
    )
    # Text that is escaped twice has several backslashes. All are replaced, so that the rest remains valid JSON.
    return rf"(?i:{in_json}|{in_url}|{in_html}|\\{{0,4}}(?:{plain}))"


async def read_body(response: "httpx.Response", stream: "httpx.AsyncByteStream", most_bytes: int, mask: Mask) -> bytes:
    """Read the body of an answer; the body of an error is cut at its limit.

    Args:
        response: the answer.
        stream: its body. The response's own iterators accept no answer that a test has made with `content`.
        most_bytes: the limit of a good answer.
        mask: masks the secrets of the call, in case the platform repeats them, so that no name, label or error contains
            one.

    Raises:
        BodyTooLarge: the answer is a success, and its body is longer than the limit.
        httpx.TransportError: it is not received completely.
        httpx.DecodingError: it cannot be decoded.
    """
    status, is_success = response.status_code, response.is_success
    announced = response.headers.get("content-length", "")
    too_large = f"the body is over {most_bytes} bytes"
    if is_success and announced.isdecimal() and int(announced) > most_bytes:
        raise errors.BodyTooLarge(too_large, status=status)
    pieces: list[bytes] = []
    size = 0
    async for piece in stream:
        pieces.append(piece)
        size += len(piece)
        if not is_success and size > ERROR_BODY_LIMIT:
            break
        if size > most_bytes:
            raise errors.BodyTooLarge(too_large, status=status)
    return mask.apply(b"".join(pieces))


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


def payload(operation: Operation[T], raw: bytes, status: int) -> T:
    """Return the payload of a body with a success status.

    Raises:
        NotJson, WrongShape: the body cannot be used.
        EnvelopeError, NotAvailable, StatusError: the body reports a failure.
    """
    value: Any
    if not raw.strip():
        raise errors.NotJson(f"the platform answered {status} with an empty body", status=status)
    try:
        value = _parse(operation.answer, raw)
    except ValidationError as error:
        raise _why_unparsed(error, raw, status) from None
    if isinstance(value, Wire):
        failed = value.failure()
        if failed is not None:
            raise _refusal(failed.status_code or 0, failed.message or "", failed.error_key or "", status)
        if isinstance(value, Envelope):
            if value.data is None and not value.is_empty():
                raise errors.WrongShape(f"the platform answered {status} with neither data nor an error", status=status)
            value = value.payload()
        elif not value.model_fields_set:
            fault = errors.WrongShape("the body has none of the documented fields", status=status)
            raise _reported_failure(raw, status) or fault
    read: T = value
    return read


def _parse(adapter: TypeAdapter[T], raw: bytes) -> T:
    try:
        return adapter.validate_json(raw)
    except ValidationError as error:
        if not _is_no_json(error):
            raise
        # Invalid UTF-8 and unpaired surrogates must affect one name only, and not the whole answer.
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
    # Stop at the first fault; with many wrong items, the list of all faults would be long.
    return error.error_count() == 1 and error.errors(include_input=False)[0]["type"] == "json_invalid"


def _why_unparsed(error: ValidationError, raw: bytes, status: int) -> PlatformError:
    if _is_no_json(error):
        looks = "HTML" if raw.lstrip().startswith(b"<") else "not whole JSON"
        return errors.NotJson(f"the platform answered {status} with a body that is {looks}", status=status)
    reported = _reported_failure(raw, status)
    if reported is None and is_out_of_range(error):
        return errors.OutOfRange(f"a number of the body is out of range: {describe(error)}", status=status)
    return reported or errors.WrongShape(
        f"the body has another shape than documented: {describe(error)}", status=status
    )


def _reported_failure(raw: bytes, status: int) -> PlatformError | None:
    """Return the failure in a body that does not have the payload's shape: an envelope, or a status in the body."""
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    failure, reported = _failure_of(body), body.get("statusCode")
    reported = reported if isinstance(reported, int) and reported >= 400 else 0  # noqa: PLR2004
    is_failure = reported or failure.key or (body.get("success") is False and failure.message)
    return _refusal(reported, failure.message, failure.key, status) if is_failure else None


def _refusal(reported: int, message: str, key: str, status: int) -> PlatformError:
    words = f"the platform answered {status} with a failure: {message or key or f'status {reported}'}"
    # A 404 as the HTTP status means that the target no longer exists; a 404 in an envelope does not.
    if reported in (401, 403, 429, 503) or (not key and not message and reported not in (0, 404)):
        return error_for_status(reported)(words, status=reported, error_key=key)
    unavailable = key.startswith(_PLAN_KEY) or key.endswith(_UNCONFIGURED_KEY)
    return (errors.NotAvailable if unavailable else errors.EnvelopeError)(
        words, status=reported or status, error_key=key
    )
