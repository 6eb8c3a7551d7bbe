"""Says how long a client waits before it repeats a failed read, and what an answer asks for.

A failed read is repeated after a growing, random wait, at least as long as `Retry-After` asks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

# A longer wait in seconds that the platform asks for is shortened to this one.
LONGEST_WAIT = 3600.0
# A poll waits this long, in seconds, for a retry or for the end of a pause; otherwise its target is polled again later,
# and others meanwhile.
SHORT_WAIT = 2.0


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with full jitter.

    Attributes:
        attempts: the number of attempts of a read, including the first.
        base: the upper bound of the first wait, in seconds; it doubles with each attempt.
        cap: the upper bound of any wait that the platform did not ask for.
        patience: the longest wait within the call of a command, in seconds.
        shortest: a retry is made only if at least this time, in seconds, is left for it; otherwise it would probably be
            interrupted.
        random: returns a number in [0, 1).
    """

    random: Callable[[], float]
    attempts: int = 3
    base: float = 0.5
    cap: float = 10.0
    patience: float = 30.0
    shortest: float = 1.0

    def may_wait(self, seconds: float, left: float | None) -> bool:
        """Return whether a call may wait so many seconds; that of a poll has `left` seconds, a command's has None."""
        if left is None:
            return seconds <= self.patience
        return seconds <= SHORT_WAIT and seconds + self.shortest <= left

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after attempt `attempt` (from 1); at least as long as the platform asked for."""
        jitter = self.random() * min(self.cap, self.base * float(1 << (attempt - 1)))
        return jitter if retry_after is None else retry_after + jitter


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
