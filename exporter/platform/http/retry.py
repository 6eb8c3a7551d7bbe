"""When a read is tried again, and what the platform asked of us meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with full jitter.

    Attributes:
        attempts: how often a read is tried in all.
        base: the upper bound of the first wait, in seconds; it doubles with each attempt.
        cap: the upper bound of any wait that the platform did not ask for.
        patience: the longest wait that a call sits out, in seconds. Asked for a longer one, the call fails with the
            length of the wait, so that its worker can make other calls meanwhile.
        shortest: the least time, in seconds, that a retry needs before its call is of no use; with less it is not made,
            because it would rather be cut short than answered.
        random: gives a number in [0, 1).
    """

    random: Callable[[], float]
    attempts: int = 3
    base: float = 0.5
    cap: float = 10.0
    patience: float = 30.0
    shortest: float = 1.0

    def wait(self, attempt: int, retry_after: float | None) -> float:
        """Seconds to wait after the `attempt`-th attempt (from 1), no less than the platform asked for."""
        jitter = self.random() * min(self.cap, self.base * float(1 << (attempt - 1)))
        return jitter if retry_after is None else retry_after + jitter


@lru_cache(maxsize=64)
def http_date(text: str | None) -> datetime | None:
    """A date of an HTTP header (RFC 9110, section 5.6.7) in UTC, or None where there is none that can be read.

    The memo serves because all answers of a second carry the same date.
    """
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """`Retry-After` in either form, as seconds from `now` on; None where there is none that can be read.

    Args:
        value: the header: a number of seconds or an HTTP date.
        now: the sender's own clock, so that a difference between its clock and ours does not matter.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    moment = http_date(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())
