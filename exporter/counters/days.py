"""The rules for an exact counter over the buckets of days, and for the moment at which answers last changed."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from exporter.metric import DayBuckets, LastChange, is_count

# The age at which a day is closed (`DaySeries`). Days of this age have left the platform's windows of 28 and 31 days.
HORIZON_DAYS = 45
# The age difference, in days, of the oldest and the newest day in the shortest window, which has 28 days.
SHORTEST_WINDOW_SPAN = 27
_BEFORE_ALL_DAYS = -1_000_000
# Number of a day → the day's value. An integer takes fewer bytes in the row than a float.
Days = dict[int, int | float]


@dataclass(frozen=True, slots=True)
class PollTime:
    """When a poll was made.

    Attributes:
        now: the platform's time if it is known, otherwise this machine's.
        wall: the time of this machine's clock, in unix seconds.
    """

    now: datetime
    wall: float

    @property
    def today(self) -> int:
        """The ordinal of the UTC day of `now`."""
        return self.now.astimezone(UTC).toordinal()


class DaySeries(msgspec.Struct, array_like=True, frozen=True, tag="d"):
    """A counter over the days of a sliding window.

    Days are stored as numbers: `first_day` is 0, and earlier days are negative. Small numbers take one byte in the row.
    The baseline of a day is the part of the day's value that is not counted. A baseline that is not stored is 0 for day
    0 and later days, and the whole value for earlier days. A day that is `HORIZON_DAYS` old is closed: its value is
    removed, and the counted part of the value is added to `closed`.

    Attributes:
        first_day: the ordinal of day 0, a UTC day.
        closed: the sum that was counted for closed days.
        newest_closed: the newest closed day. This day and earlier days are not counted any more.
        highs: day → the highest value of the day.
        baselines: day → the stored baseline. A day before day 0 has one if its value has risen above its
            first value. If the counter began at 0, day 0 and later days of the first answer have one, too.
        lasts: day → the last value of the day, if it is below the highest value.
    """

    first_day: int
    closed: float = 0.0
    newest_closed: int = _BEFORE_ALL_DAYS
    highs: Days = {}
    baselines: Days = {}
    lasts: Days = {}

    @property
    def next_day(self) -> int:
        """The ordinal of the day after the newest day that had a value; a negative number if no day had a value."""
        return self.first_day + max((self.newest_closed, *self.highs)) + 1

    @property
    def value(self) -> float:
        """The counter's value, summed anew at each access so that rounding errors do not add up."""
        # A day before day 0 is counted only if it has a stored baseline.
        counted = [
            high - self.baselines.get(day, 0) for day, high in self.highs.items() if day >= 0 or day in self.baselines
        ]
        return math.fsum((self.closed, *counted))

    def baseline(self, ordinal: int) -> float | None:
        """Return the baseline of a day (an ordinal); None if the day is before day 0 and nothing of it is stored."""
        day = ordinal - self.first_day
        unstored = 0 if day >= 0 else self.highs.get(day)
        return self.baselines.get(day, unstored)

    def count(self, source: DayBuckets, today: int, oldest: int) -> tuple["DaySeries", int]:
        """Count the days of an answer.

        `today` is the ordinal of the current day. `oldest` is the ordinal of the oldest day in the answer, among the
        sources of all series of the family.

        Returns:
            The series after the answer, and the number of days whose value fell. The counter does not fall.
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
                # The former value of a day before day 0 becomes the baseline, so that only the rise is counted.
                baselines.setdefault(day, high)
            lasts.pop(day, None)
            highs[day] = value
        series = replace(self, highs=highs, baselines=baselines, lasts=lasts)
        # If the platform's clock is ahead of the chart, the age of a day is relative to the newest day in the chart.
        limit = min(today, max(source.days)) - self.first_day - HORIZON_DAYS
        return _closed_up_to(series, limit), corrections

    def _changed_days(self, source: DayBuckets, today: int, oldest: int) -> Days:
        """Return the days with a new and valid value, except closed days and an oldest day that may be incomplete."""
        # If the platform's time is unknown, `today` is this machine's day, and a chart may contain later days.
        newest = max(today, *source.days)
        # A window may begin in the middle of a day, whose value is then incomplete. So the oldest day of an answer is
        # left out, unless it is too young to be the oldest day of a window: then it is complete. Before day 0, the
        # oldest day is left out at any age: of days before day 0, only a rise is counted, so little is lost.
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
        # The baselines are kept, because `backfill` writes these uncounted parts of the days.
        lasts={day: last for day, last in series.lasts.items() if day > limit},
    )
    # Add what the closed days had counted. Rounding may lose a part of the sum, so add again: even a tiny fall of a
    # counter looks like a reset.
    while (lost := series.value - closed.value) > 0:
        closed = replace(closed, closed=closed.closed + lost)
    return closed


def begin_days(source: DayBuckets, today: int, full_from: int | None, oldest: int) -> DaySeries:
    """Return a new series that has counted its first answer; `today` and `oldest` are as for `DaySeries.count`.

    `full_from` is the ordinal of day 0: this day and later days are counted in full. If `full_from` is None, day 0 is
    today, and the values of the answer are the baselines, so that the counter is 0.
    """
    series, _ = DaySeries(today if full_from is None else full_from).count(source, today, oldest)
    if full_from is None:
        series = replace(series, baselines={day: high for day, high in series.highs.items() if day >= 0})
    return series


class ChangeSeries(msgspec.Struct, array_like=True, frozen=True, tag="c"):
    """When the answers of a target last changed.

    Attributes:
        mark: the checksum of the last answer (`LastChange.value`).
        value: since when answers have had this checksum, in unix seconds of this machine's clock.
    """

    mark: float
    value: float
    # A change counts no days: `CountedFamily.full_from` stays when the series is dropped.
    next_day: ClassVar[int] = 0

    def after_answer(self, source: LastChange, wall: float) -> "ChangeSeries":
        """Return the series after an answer that came at `wall`, in unix seconds of this machine's clock.

        If the clock was set back to before the last change, this answer counts as the last change.
        """
        mark = source.value
        return ChangeSeries(mark, value=wall if mark != self.mark else min(self.value, wall))
