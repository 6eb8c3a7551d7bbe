"""Reads the headers `Date` and `Retry-After` of answers."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

# The longest wait that a `Retry-After` can cause, in seconds.
LONGEST_RETRY_AFTER = 3600.0


# Cached, because successive answers often have the same date.
@lru_cache(maxsize=64)
def http_date(text: str) -> datetime | None:
    """Return the UTC time of an HTTP date (RFC 9110, section 5.6.7); None if the text is no date."""
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, IndexError):  # `IndexError` only in some releases of Python
        return None


def retry_after_seconds(value: str | None, now: datetime) -> float | None:
    """Return the seconds to wait, at most an hour, as `Retry-After` says; None if the header is missing or unreadable.

    Args:
        value: the value of the header: a number of seconds, or an HTTP date. Blanks around the value are ignored.
        now: the time that a date is compared with.
    """
    text = "" if value is None else value.strip()
    if text.isascii() and text.isdigit():
        return min(LONGEST_RETRY_AFTER, float(text))
    moment = http_date(text)
    return None if moment is None else min(LONGEST_RETRY_AFTER, max(0.0, (moment - now).total_seconds()))
