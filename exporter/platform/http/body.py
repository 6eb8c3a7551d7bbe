"""Reads an answer's body up to a limit, and masks the secrets of the call."""

import codecs
from dataclasses import dataclass
from typing import Any

import httpx

from exporter.platform.errors import BodyTooLarge, NotJson, WrongShape
from exporter.platform.http.mask import Mask
from exporter.platform.long_json import Items, LongJson, NotWholeJsonError, Step, TooManyValuesError
from exporter.responsive.event_loop import Turns

BODY_LIMIT = 16 * 1024 * 1024
ERROR_BODY_LIMIT = 64 * 1024
# A longer body is parsed step by step while it arrives. A shorter one is parsed at once, which takes a millisecond.
LONG_BODY = 64 * 1024


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
        # Each byte is searched twice at most, however small the pieces are.
        if not last and len(self._held) < 2 * self._mask.longest:
            return b""
        masked = self._mask.apply(bytes(self._held))
        end = len(masked) if last else max(0, len(masked) - self._mask.longest)
        self._held = bytearray(masked[end:])
        self._parts.append(masked[:end])
        return masked[:end]

    def so_far(self) -> bytes:
        """The masked bytes so far."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


@dataclass(frozen=True, slots=True)
class Content:
    """A received body.

    Attributes:
        raw: its decoded bytes; of an error, or of a list that was cut, only the part that was read.
        parsed: the document, if the body was long and therefore parsed while it arrived.
    """

    raw: bytes
    parsed: LongJson | None = None

    @property
    def document(self) -> Any:  # noqa: ANN401
        """The parsed document; None if it was not parsed."""
        return None if self.parsed is None else self.parsed.document


class _LongText:
    """Parses a long body while it arrives."""

    def __init__(self, items: Items | None, turns: Turns, status: int) -> None:
        self.parsed = LongJson(items)
        self._turns = turns
        self._status = status
        # Invalid UTF-8 in a name must not make the whole answer unusable.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._begin = ""

    async def take(self, piece: bytes, *, last: bool = False) -> None:
        """Parse the received bytes."""
        text = self._decoder.decode(piece, last)
        self._begin = self._begin or text[:100].lstrip()
        self.parsed.feed(text)
        if last:
            self.parsed.end()
        try:
            while self.parsed.step() is Step.PAUSED:
                await self._turns.take()
        except NotWholeJsonError:
            looks = "HTML" if self._begin.startswith("<") else "not whole JSON"
            raise NotJson(
                f"the platform answered {self._status} with a body that is {looks}", status=self._status
            ) from None
        except TooManyValuesError as error:
            raise WrongShape(f"the body holds {error}", status=self._status) from None
        await self._turns.take()


async def read_body(
    response: httpx.Response, items: Items | None = None, turns: Turns | None = None, mask: Mask | None = None
) -> Content:
    """Read the body of an answer; the body of an error is cut at the limit.

    Args:
        response: the answer.
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
    if is_success and announced.isdecimal() and int(announced) > BODY_LIMIT:
        raise BodyTooLarge(f"the body is over {BODY_LIMIT} bytes", status=status)
    body = Body(mask or Mask())
    long: _LongText | None = None
    # The response's own iterators accept no answer that a test has made with `content`.
    assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - for the type checker
    async for piece in response.stream:
        taken = body.take(piece)
        if not is_success and body.size > ERROR_BODY_LIMIT:
            break
        if body.size > BODY_LIMIT:
            raise BodyTooLarge(f"the body is over {BODY_LIMIT} bytes", status=status)
        if long is not None:
            await long.take(taken)
        elif is_success and body.size > LONG_BODY:
            long = _LongText(items, turns or Turns(), status)
            await long.take(body.so_far())
        if long is not None and long.parsed.is_cut:
            return Content(body.so_far(), long.parsed)
    last = body.take(b"", last=True)
    if long is not None:
        await long.take(last, last=True)
    return Content(body.so_far(), None if long is None else long.parsed)
