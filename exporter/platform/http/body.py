"""Reading an answer's body, decoded as it comes and never beyond a limit: a small body may stand for a huge one."""

import zlib

import httpx

from exporter.platform.errors import BodyTooLarge, NotJson

BODY_LIMIT = 16 * 1024 * 1024
ERROR_BODY_LIMIT = 64 * 1024
_GZIP = zlib.MAX_WBITS + 16
_GZIP_MAGIC = b"\x1f\x8b"


class Body:
    """Collects a body up to a limit of decoded bytes.

    Args:
        encoding: the `Content-Encoding` header; nothing but gzip was asked for.
        limit: the most bytes that are of use.
        status: the answer's HTTP status.

    Raises:
        NotJson: the body comes in an encoding that was not asked for.
    """

    def __init__(self, encoding: str, limit: int, status: int) -> None:
        coding = encoding.strip().lower()
        if coding not in ("", "identity", "gzip", "x-gzip"):
            raise NotJson("the body is encoded in a way that was not asked for", status=status)
        self._limit = limit
        self._status = status
        self._inflate = zlib.decompressobj(_GZIP) if coding.endswith("gzip") else None
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def is_over(self) -> bool:
        """Whether there was more than the limit."""
        return self._size > self._limit

    def take(self, part: bytes) -> None:
        """Add what came.

        Raises:
            NotJson: it cannot be decoded.
        """
        if self._inflate is None:
            self._keep(part)
            return
        try:
            while part and not self.is_over:
                # A gzip body may be several members one after another (RFC 1952, section 2.2).
                if self._inflate.eof:
                    if not part.startswith(_GZIP_MAGIC):
                        return
                    self._inflate = zlib.decompressobj(_GZIP)
                self._keep(self._inflate.decompress(part, self._limit + 1 - self._size))
                part = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        except zlib.error:
            raise NotJson("the body cannot be decoded", status=self._status) from None

    def _keep(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)

    def whole(self) -> bytes:
        """All that came.

        Raises:
            NotJson: the encoded body is cut off.
        """
        if self._inflate is not None and self._parts and not self._inflate.eof and not self.is_over:
            raise NotJson("the encoded body is cut off", status=self._status)
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


async def read_body(response: httpx.Response) -> bytes:
    """The body of an answer, decoded; of an error's, what its limit leaves.

    Raises:
        BodyTooLarge: it is a success, and over the limit.
        NotJson: it cannot be decoded.
    """
    status, is_success = response.status_code, response.is_success
    limit = BODY_LIMIT if is_success else ERROR_BODY_LIMIT
    body = Body(response.headers.get("content-encoding", ""), limit, status)
    announced = response.headers.get("content-length", "")
    is_over = is_success and announced.isdecimal() and int(announced) > limit
    if not is_over:
        async for part in response.aiter_raw():
            body.take(part)
            is_over = body.is_over
            if is_over:
                break
    if is_over and is_success:
        raise BodyTooLarge(f"the body is over {limit} bytes", status=status)
    return body.whole()
