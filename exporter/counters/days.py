"""The rules for an exact counter over the buckets of days, and for the moment at which answers last changed."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from exporter.metric import DayBuckets, LastChange, is_count

# Days that are at least this old are closed: the platform's windows have 28 and 31 days.
HORIZON_DAYS = 45
# The oldest day of a window is at least this many days older than its newest one: the shortest window has 28 days.
SHORTEST_WINDOW_SPAN = 27
_BEFORE_ALL_DAYS = -1_000_000
# Day → its value. An integer takes fewer bytes in the row than a float.
Days = dict[int, int | float]


@dataclass(frozen=True, slots=True)
class PollTime:
    """When a poll was made.

    Attributes:
        now: the platform's time; that of this machine if it is not known.
        wall: this machine's clock, in unix seconds.
    """

    now: datetime
    wall: float

    @property
    def today(self) -> int:
        """The ordinal of the UTC day of `now`."""
        return self.now.astimezone(UTC).toordinal()


class DaySeries(msgspec.Struct, array_like=True, frozen=True, tag="d"):
    """A counter over the days of a sliding window.

    Days are numbered from `first_day`, which is 0: small numbers take one byte in the row. A day's baseline is the
    part of its value that is not counted. A baseline that is not stored is 0 for day 0 and later days, and the whole
    value for earlier days. Days that are `HORIZON_DAYS` old are closed: their values are removed, and what was counted
    of them stays in `closed`.

    Attributes:
        first_day: the ordinal of day 0, a UTC day.
        closed: the sum that was counted for closed days.
        newest_closed: the newest closed day. Days up to this one are not counted any more.
        highs: day → its highest value.
        baselines: day → its baseline, for days before day 0 whose value rose later and, if the counter began at 0, for
            the days from day 0 on in the first answer.
        lasts: day → its last value, if that is below its highest.
    """

    first_day: int
    closed: float = 0.0
    newest_closed: int = _BEFORE_ALL_DAYS
    highs: Days = {}
    baselines: Days = {}
    lasts: Days = {}

    @property
    def next_day(self) -> int:
        """The ordinal of the day after the newest one that had a value; long past if none had one."""
        return self.first_day + max((self.newest_closed, *self.highs)) + 1

    @property
    def value(self) -> float:
        """The counter. It is summed again each time, so that rounding errors do not add up."""
        # Of a day before day 0 that has no stored baseline, nothing is counted.
        counted = [
            high - self.baselines.get(day, 0) for day, high in self.highs.items() if day >= 0 or day in self.baselines
        ]
        return math.fsum((self.closed, *counted))

    def baseline(self, ordinal: int) -> float | None:
        """Return the baseline of a day; None for a day before day 0 of which nothing is stored."""
        day = ordinal - self.first_day
        unstored = 0 if day >= 0 else self.highs.get(day)
        return self.baselines.get(day, unstored)

    def count(self, source: DayBuckets, today: int, oldest: int) -> tuple["DaySeries", int]:
        """Count the days of an answer.

        `oldest` is the ordinal of the oldest day that the answer has in any series of the family.

        Returns:
            The series with these days, and the number of days whose value fell; the counter does not fall with them.
        """
        if not source.days:
            return self, 0
        highs, lasts, baselines = dict(self.highs), dict(self.lasts), dict(self.baselines)
        corrections = 0
        for day, value in self._changed_days(source, today, oldest).items():
            high = highs.get(day)
            if high is not None and value < high:
                if value < lasts.get(day, high):
                    corrections += 1
                lasts[day] = value
                continue
            if high is not None and day < 0:
                # Of a day before day 0, only the rise from now on is counted.
                baselines.setdefault(day, high)
            lasts.pop(day, None)
            highs[day] = value
        series = replace(self, highs=highs, baselines=baselines, lasts=lasts)
        # If the platform's clock is ahead of its charts, the charts decide which days are old.
        limit = min(today, max(source.days)) - self.first_day - HORIZON_DAYS
        return _closed_up_to(series, limit), corrections

    def _changed_days(self, source: DayBuckets, today: int, oldest: int) -> Days:
        # Without a time from the platform, a chart may contain a day that this machine's clock has not reached.
        newest = max(today, *source.days)
        # A window may begin in the middle of its oldest day, whose value is then incomplete. If the platform leaves out
        # days without a count, an answer may begin with a later day: one that is too young to be the oldest of a window
        # is complete. An oldest day before day 0 is always left out; of its value, only a later rise would be counted.
        is_oldest_left_out = oldest < self.first_day or newest - oldest >= SHORTEST_WINDOW_SPAN
        last_values, changed = self.highs | self.lasts, Days()
        for ordinal, value in source.days.items():
            day = ordinal - self.first_day
            if value == last_values.get(day) or day <= self.newest_closed or (ordinal == oldest and is_oldest_left_out):
                continue
            if is_count(value):
                changed[day] = int(value) if float(value).is_integer() else value
        return changed


def _closed_up_to(series: DaySeries, limit: int) -> DaySeries:
    closing = [day for day in series.highs if day <= limit]
    if not closing:
        return series
    closed = replace(
        series,
        newest_closed=max(series.newest_closed, *closing),
        highs={day: high for day, high in series.highs.items() if day > limit},
        # The baselines stay: `backfill` writes these parts of the days, which were not counted.
        lasts={day: last for day, last in series.lasts.items() if day > limit},
    )
    # Add what the closed days had counted, and again what rounding has lost: any fall of a counter looks like a reset.
    while (lost := series.value - closed.value) > 0:
        closed = replace(closed, closed=closed.closed + lost)
    return closed


def begin_days(source: DayBuckets, today: int, full_from: int | None, oldest: int) -> DaySeries:
    """Return a series after its first poll; `today` and `oldest` are as for `DaySeries.count`.

    `full_from` is the ordinal of its first day; this day and later ones are counted in full. If it is None, today is
    the first day, and the values of this poll are the baselines, so that the counter is 0.
    """
    series, _ = DaySeries(today if full_from is None else full_from).count(source, today, oldest)
    if full_from is None:
        series = replace(series, baselines={day: high for day, high in series.highs.items() if day >= 0})
    return series


class ChangeSeries(msgspec.Struct, array_like=True, frozen=True, tag="c"):
    """When the answers of a target last changed.

    Attributes:
        mark: the checksum of the last answer.
        value: since when answers have this mark, in unix seconds of this machine's clock.
    """

    mark: float
    value: float
    # It has counted no day.
    next_day: ClassVar[int] = 0

    def after_answer(self, source: LastChange, wall: float) -> "ChangeSeries":
        """Return the series after an answer that came at `wall`, in unix seconds of this machine's clock.

        If the clock was set back to before the last change, the change moves to the time of this answer.
        """
        mark = source.value
        return ChangeSeries(mark, value=wall if mark != self.mark else min(self.value, wall))
