"""Reads an answer's body: decodes it up to a limit, and masks the secrets of the call."""

import codecs
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from exporter.event_loop import Turns
from exporter.platform.errors import BodyTooLarge, NotJson, WrongShape
from exporter.platform.http.mask import Mask
from exporter.platform.http.transport import Reply
from exporter.platform.long_json import Items, LongJson, NotWholeJsonError, Step, TooManyValuesError

BODY_LIMIT = 16 * 1024 * 1024
ERROR_BODY_LIMIT = 64 * 1024
# A longer body is parsed step by step while it arrives. A shorter one is parsed at once, which takes a millisecond.
LONG_BODY = 64 * 1024
_PIECE = 64 * 1024
_GZIP = zlib.MAX_WBITS + 16
_GZIP_MAGIC = b"\x1f\x8b"


class Body:
    """Collects a body up to a limit of decoded bytes.

    Args:
        encoding: the `Content-Encoding` header; only gzip was requested.
        limit: the highest number of bytes that is read.
        status: the answer's HTTP status.
        mask: masks the secrets of the call.

    Raises:
        NotJson: the body has an encoding that was not requested.
    """

    def __init__(self, encoding: str, limit: int, status: int, mask: Mask) -> None:
        coding = encoding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip"):
            raise NotJson("the body has an encoding that was not requested", status=status)
        self._limit = limit
        self._status = status
        self._mask = mask
        # Bytes that may be the beginning of a secret are held back until the next ones arrive.
        self._held = b""
        self._inflate = zlib.decompressobj(_GZIP) if coding.endswith("gzip") else None
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def is_over(self) -> bool:
        """Whether the body was longer than the limit."""
        return self._size > self._limit

    @property
    def size(self) -> int:
        """The number of decoded bytes so far."""
        return self._size

    def take(self, part: bytes) -> Iterator[bytes]:
        """Add received bytes; yield them decoded and masked, in pieces of about 64 KiB.

        Raises:
            NotJson: it cannot be decoded.
        """
        if self._inflate is None:
            for start in range(0, len(part), _PIECE):
                yield self._keep(part[start : start + _PIECE])
            return
        try:
            while part and not self.is_over:
                # A gzip body may consist of several members (RFC 1952, section 2.2).
                if self._inflate.eof:
                    if not part.startswith(_GZIP_MAGIC):
                        return
                    self._inflate = zlib.decompressobj(_GZIP)
                yield self._keep(self._inflate.decompress(part, min(_PIECE, self._limit + 1 - self._size)))
                part = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        except zlib.error:
            raise NotJson("the body cannot be decoded", status=self._status) from None

    def _keep(self, piece: bytes, *, last: bool = False) -> bytes:
        self._size += len(piece)
        masked = self._mask.apply(self._held + piece)
        end = len(masked) if last else max(0, len(masked) - self._mask.longest)
        self._held = masked[end:]
        self._parts.append(masked[:end])
        return masked[:end]

    def end(self) -> bytes:
        """Return the last piece, when the body has ended.

        Raises:
            NotJson: the encoded body is incomplete.
        """
        if self._inflate is not None and self._size and not self._inflate.eof and not self.is_over:
            raise NotJson("the encoded body is cut off", status=self._status)
        return self._keep(b"", last=True)

    def so_far(self) -> bytes:
        """The bytes so far."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


def is_good(status: int) -> bool:
    """Return whether an HTTP status is a success."""
    return 200 <= status < 300  # noqa: PLR2004


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


async def _pieces(reply: Reply, body: Body) -> AsyncIterator[bytes]:
    """Yield the received bytes, decoded, up to the limit."""
    async for part in reply.pieces():
        for piece in body.take(part):
            if body.is_over:
                return
            yield piece


async def read_body(
    reply: Reply, items: Items | None = None, turns: Turns | None = None, mask: Mask | None = None
) -> Content:
    """Read and decode the body of an answer; the body of an error is cut at the limit.

    Args:
        reply: the answer.
        items: the array that may be long in a good answer.
        turns: the order in which long bodies are parsed on the event loop.
        mask: masks the secrets of the call, in case the platform repeats them, so that no name, label or error contains
            one.

    Raises:
        BodyTooLarge: the answer is a success, and its body is longer than the limit.
        NotJson: the body cannot be decoded, or it is long and not JSON.
        WrongShape: the body has more values than an answer may have.
    """
    status = reply.status
    is_success = is_good(status)
    limit = BODY_LIMIT if is_success else ERROR_BODY_LIMIT
    body = Body(reply.headers.get("content-encoding", ""), limit, status, mask or Mask())
    announced = reply.headers.get("content-length", "")
    if is_success and announced.isdecimal() and int(announced) > limit:
        raise BodyTooLarge(f"the body is over {limit} bytes", status=status)
    long: _LongText | None = None
    async for piece in _pieces(reply, body):
        if long is not None:
            await long.take(piece)
        elif is_success and body.size > LONG_BODY:
            long = _LongText(items, turns or Turns(), status)
            await long.take(body.so_far())
        if long is not None and long.parsed.is_cut:
            return Content(body.so_far(), long.parsed)
    if body.is_over and is_success:
        raise BodyTooLarge(f"the body is over {limit} bytes", status=status)
    last = body.end()
    if long is not None:
        await long.take(last, last=True)
    return Content(body.so_far(), None if long is None else long.parsed)
