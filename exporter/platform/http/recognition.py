"""Recognises an answer whose bytes equal those of the last one, by comparing a hash.

Such an answer is not parsed, counted or rendered again, which saves half of a poll's processor time.
"""

from datetime import datetime
from hashlib import blake2b

from exporter.clock import Clocks

SIZE = 16


class UnchangedError(Exception):
    """Raised instead of returning an answer that equals the last one.

    Attributes:
        date: the platform's time, as in an answer.
    """

    def __init__(self, date: datetime | None) -> None:
        super().__init__("the answer equals the last one")
        self.date = date


class Recognition:
    """Compares the answer of one poll with the last one. A poll with several calls is never recognised.

    The UTC day is part of the fingerprint, by the platform's clock and this machine's, because on a new day the same
    bytes are counted differently.

    Args:
        last: the fingerprint of the last answer; empty if its result is not what is served.
        asked: everything else on which the result of a poll depends.
        clocks: the clocks.

    Attributes:
        fingerprint: of the poll's answer; empty without an answer, or after several.
    """

    __slots__ = ("_asked", "_clocks", "_last", "fingerprint")

    def __init__(self, last: bytes, asked: str, clocks: Clocks) -> None:
        self._last = last
        self._asked = asked
        self._clocks = clocks
        self.fingerprint = b""

    def take(self, raw: bytes, date: datetime | None, *, is_only: bool) -> bool:
        """Compute the fingerprint of an answer; return whether it equals the last one.

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
        """Do not recognise this answer next time, because every poll with it has something to report."""
        self.fingerprint = b""
