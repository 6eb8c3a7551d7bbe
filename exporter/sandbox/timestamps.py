"""Conversions between unix seconds, numbers of days, dates, and the platform's formats."""

import math
from datetime import UTC, date, datetime
from typing import Final

DAY: Final = 86_400
_EPOCH: Final = date(1970, 1, 1).toordinal()


def day_number(moment: float) -> int:
    """Return the number of the UTC day of a time in unix seconds; 1970-01-01 is 0."""
    return int(moment // DAY)


def date_number(day: date) -> int:
    """Return the number of the day of a date; 1970-01-01 is 0."""
    return day.toordinal() - _EPOCH


def date_of(day: int) -> date:
    """Return the date of the day with this number; 1970-01-01 is 0."""
    return date.fromordinal(_EPOCH + day)


def iso_long(moment: float) -> str:
    """Write a time in unix seconds as `2026-02-06T09:27:36.7357793Z`."""
    fraction = moment - math.floor(moment)
    return f"{iso_naive(moment)}.{int(fraction * 10_000_000):07d}Z"


def iso_naive(moment: float) -> str:
    """Write a time in unix seconds as `2026-02-06T09:27:36`, in UTC."""
    return f"{datetime.fromtimestamp(math.floor(moment), UTC):%Y-%m-%dT%H:%M:%S}"


def iso_of(resource_id: int, moment: float) -> str:
    """Write a time of a resource like `iso_naive` (odd ids) or `iso_long` (even ids); the platform uses both forms."""
    return iso_naive(moment) if resource_id % 2 else iso_long(moment)


def month_start(moment: float) -> float:
    """Return the beginning of the UTC month of a time, both in unix seconds."""
    day = datetime.fromtimestamp(moment, UTC)
    return datetime(day.year, day.month, 1, tzinfo=UTC).timestamp()
