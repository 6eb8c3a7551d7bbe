"""Reads charts: converts the buckets of a chart to UTC days."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

# `fromisoformat` would also accept a key such as `20260208`, which may be a number.
DATE = re.compile(r"\d{4}-\d\d-\d\d($|[T ]\d\d:\d\d)", re.ASCII)
_DAY_FIRST = re.compile(r"\A(\d\d)-(\d\d)-(\d{4})\Z", re.ASCII)
_DAY = timedelta(days=1)
_SHORTEST_MONTH = timedelta(days=28)


@lru_cache(maxsize=8192)
def bucket_time(key: str) -> datetime | None:
    """Return the UTC time at which a bucket of a chart begins, from the bucket's key; None if the key is not a date.

    Accepts `31-12-2026`, `2026-12-31`, and times such as `2026-12-31 00:00` or `2026-12-31T00:00:00.123456789Z`. A key
    without an offset is in UTC. Results are cached because the charts of many zones have equal keys.
    """
    key = _DAY_FIRST.sub(r"\3-\2-\1", key)
    if DATE.match(key) is None:
        return None
    try:
        moment = datetime.fromisoformat(key)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class Buckets(NamedTuple):
    """The buckets of a chart, summed by UTC day.

    Attributes:
        sums: the ordinal of a day → the sum of the values of its buckets. Buckets with a key that is not a date, or
            without a value, are left out. Empty if the chart has no buckets. None if the answer has no chart, or if all
            buckets of the chart are left out.
        has_unreadable_keys: whether a bucket has a key that is not a date.
        width: how many days long the buckets seem to be: the shortest distance between two dates. 0 if there are fewer
            than three dates, if this distance is at most a day, or if the distances differ and the shortest is less
            than 28 days (months differ in length). If days are missing in the chart, the buckets are shorter.
    """

    sums: dict[int, float] | None
    has_unreadable_keys: bool = False
    width: float = 0

    @classmethod
    def of(cls, chart: Mapping[str, float | None] | None) -> "Buckets":
        """Sum the values of a chart by UTC day; `chart` is None if the answer has no chart."""
        if chart is None:
            return cls(None)
        ordinals, width = _read_keys(tuple(chart))
        days: dict[int, float] = {}
        for day, value in zip(ordinals, chart.values(), strict=True):
            if day is not None and value is not None:
                days[day] = days.get(day, 0) + value
        are_all_left_out = bool(chart) and not days
        return cls(None if are_all_left_out else days, has_unreadable_keys=None in ordinals, width=width)


# Cached because reading keys takes long, and the charts of most zones have equal keys.
@lru_cache(maxsize=256)
def _read_keys(keys: tuple[str, ...]) -> tuple[tuple[int | None, ...], float]:
    """Return the ordinal of each key's day (None if the key is not a date), and the width of the buckets."""
    moments = [bucket_time(key) for key in keys]
    ordinals = tuple(None if moment is None else moment.toordinal() for moment in moments)
    return ordinals, _width([moment for moment in moments if moment is not None])


def _width(moments: list[datetime]) -> float:
    gaps = [later - earlier for earlier, later in pairwise(sorted(moments))]
    if len(gaps) < 2:  # noqa: PLR2004 - a single distance may be an omitted day
        return 0
    shortest = min(gaps)
    # The distances between months differ, and still count as regular.
    is_regular = shortest >= _SHORTEST_MONTH or len(set(gaps)) == 1
    return shortest / _DAY if shortest > _DAY and is_regular else 0
