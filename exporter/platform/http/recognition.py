"""Recognises an answer whose bytes equal those of the last one, at the cost of a hash.

What such an answer tells is known: it is neither parsed nor counted nor rendered, which saves half of a poll's
processor time.
"""

from datetime import datetime
from hashlib import blake2b

from exporter.clock import Clocks

SIZE = 16


class UnchangedError(Exception):
    """Raised in place of an answer that equals the last one.

    Attributes:
        date: the platform's time, as in an answer.
    """

    def __init__(self, date: datetime | None) -> None:
        super().__init__("the answer is the last one")
        self.date = date


class Recognition:
    """Compares the answer of one poll with the last one. Polls of several calls are never recognised.

    The UTC day is part of the fingerprint, by the platform's clock and ours: with a new day the same bytes are counted
    in another way.

    Args:
        last: the fingerprint of the last answer; empty where its result is not what is served.
        asked: all else on which the result of a poll depends.
        clocks: the clocks.

    Attributes:
        fingerprint: of the poll's answer; empty where there is none, or where there were several.
    """

    __slots__ = ("_asked", "_clocks", "_last", "fingerprint")

    def __init__(self, last: bytes, asked: str, clocks: Clocks) -> None:
        self._last = last
        self._asked = asked
        self._clocks = clocks
        self.fingerprint = b""

    def take(self, raw: bytes, date: datetime | None, *, is_only: bool) -> bool:
        """Take in an answer; returns whether it is the last one again.

        Args:
            raw: the body.
            date: the platform's time.
            is_only: whether this is the first call of the poll.
        """
        if not is_only:
            self.fingerprint = b""
            return False
        days = (self._clocks.utc().toordinal(), date.toordinal() if date is not None else 0)
        digest = blake2b(raw, digest_size=SIZE)
        digest.update(f"{days}{self._asked}".encode())
        self.fingerprint = digest.digest()
        return self.fingerprint == self._last

    def spoil(self) -> None:
        """Do not recognise this answer next time: each of its polls has something to report."""
        self.fingerprint = b""
