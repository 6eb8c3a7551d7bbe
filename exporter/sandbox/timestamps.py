"""Writes and reads times in the platform's formats."""

import re
from datetime import UTC, date, datetime
from typing import Final

DAY: Final = 86_400
_EPOCH: Final = date(1970, 1, 1).toordinal()
_DATE_TIME: Final = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:T(?P<time>(?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?P<zone>[Zz]|[+-]\d{2}:\d{2})?)?",
    re.ASCII,
)


def day_number(moment: float) -> int:
    """Return the UTC day of a moment, counted from 1970-01-01."""
    return int(moment // DAY)


def number_of(day: date) -> int:
    """Return the number of a UTC day, counted from 1970-01-01."""
    return day.toordinal() - _EPOCH


def date_of(day: int) -> date:
    """Return the date of a day that is counted from 1970-01-01."""
    return date.fromordinal(_EPOCH + day)


def iso_long(moment: float) -> str:
    """Write a moment as `2026-02-06T09:27:36.7357793Z`."""
    whole = int(moment // 1)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%dT%H:%M:%S}.{int((moment - whole) * 10_000_000):07d}Z"


def iso_naive(moment: float) -> str:
    """Write a moment as `2026-02-06T09:27:36`, which the platform means as UTC."""
    return f"{datetime.fromtimestamp(int(moment // 1), UTC):%Y-%m-%dT%H:%M:%S}"


def parse_date_time(text: str) -> float | None:
    """Read a date or a date-time (without a zone: UTC) as unix seconds; None if it is neither."""
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return None
    clock = found["time"] or "00:00"
    zone = "+00:00" if found["zone"] in (None, "Z", "z") else found["zone"]
    try:
        return datetime.fromisoformat(f"{found['date']}T{clock}{zone}").timestamp()
    except (ValueError, OverflowError):
        return None


def month_start(moment: float) -> float:
    """Return the first moment of a moment's UTC month."""
    today = datetime.fromtimestamp(moment, UTC)
    return datetime(today.year, today.month, 1, tzinfo=UTC).timestamp()
