"""Reads charts: the time and the UTC day of each bucket."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from exporter.metric import LARGEST_COUNT
from exporter.platform.errors import WrongShape

_DATE = re.compile(r"\d{4}-\d\d-\d\d($|[T ]\d\d:\d\d)", re.ASCII)
_DAY_FIRST = re.compile(r"(\d\d)-(\d\d)-(\d{4})", re.ASCII)
# The platform writes seven digits of fraction; Python reads six.
_LONG_FRACTION = re.compile(r"(\.\d{6})\d+")
DAY = timedelta(days=1)
SHORTEST_MONTH = timedelta(days=28)
FEWEST_GAPS = 6


@lru_cache(maxsize=8192)
def bucket_time(key: str) -> datetime | None:
    """Return the time at which a chart's bucket begins, in UTC; None where the key is not a date.

    Accepts `2026-02-08`, `2026-02-08T00:00:00`, with `Z` or an offset, with up to nine digits of fraction. Results are
    cached because all zones send the same keys.
    """
    if _DATE.match(key) is None:
        return None
    try:
        moment = datetime.fromisoformat(_LONG_FRACTION.sub(r"\1", key))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=1024)
def calendar_day(key: str) -> int | None:
    """Return the ordinal of the day in a key, `dd-MM-yyyy` or ISO 8601; None where the key is not a day."""
    matched = _DAY_FIRST.fullmatch(key)
    try:
        if matched is not None:
            return date(int(matched[3]), int(matched[2]), int(matched[1])).toordinal()
    except ValueError:
        return None
    moment = bucket_time(key)
    return None if moment is None else moment.date().toordinal()


def is_readable(key: str, value: float | None) -> bool:
    """Return whether a bucket can be used: its key is a date, and its value is a count or null."""
    return bucket_time(key) is not None and (value is None or 0 <= value <= LARGEST_COUNT)


def daily(chart: Mapping[str, float | None]) -> dict[int, float]:
    """Sum a chart's buckets by UTC day: the ordinal of a day → its count.

    Buckets whose key is not a date, or whose value is null or not a count (a negative number), are left out.

    Raises:
        WrongShape: the buckets are longer than a day, so that the count of a day is not known.
    """
    days: dict[int, float] = {}
    moments: list[datetime] = []
    for key, value in chart.items():
        moment = bucket_time(key)
        if moment is None:
            continue
        moments.append(moment)
        if value is not None and 0 <= value <= LARGEST_COUNT:
            day = moment.toordinal()
            days[day] = days.get(day, 0.0) + value
    _check_width(moments)
    return days


def _check_width(moments: list[datetime]) -> None:
    """Refuse charts whose buckets are regularly more than a day apart; single days may be missing."""
    if len(moments) < 2 or abs(moments[1] - moments[0]) <= DAY:  # noqa: PLR2004 - a gap takes two
        return
    moments.sort()
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    shortest = min(gaps)
    is_regular = len(gaps) > 1 and len(set(gaps)) == 1
    # A long bucket may be missing, too. Where many single days are missing, their gaps are seldom of equal length.
    is_regular = is_regular or (len(gaps) >= FEWEST_GAPS and not any(gap % shortest for gap in gaps))
    # Months have different lengths.
    is_monthly = len(gaps) > 1 and shortest >= SHORTEST_MONTH
    if shortest > DAY and (is_regular or is_monthly):
        width = shortest / DAY
        raise WrongShape(f"the chart's buckets are {width:g} days long, so that the count of a day is not known")
