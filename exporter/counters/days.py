"""The rules for an exact counter over the buckets of days, and for the moment at which answers last changed."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

import msgspec

from exporter.metric import DayBuckets, LastChange, is_count

# Days that are older than the newest one by more than this are removed: the platform's windows are 28 and 31 days long.
HORIZON_DAYS = 45
# Only the oldest bucket of a window can be incomplete. The shortest window is 28 days long.
SHORTEST_WINDOW_DAYS = 27
_BEFORE_ALL_DAYS = -1_000_000
# Day → its value. An integer takes fewer bytes in the row than a float.
Days = dict[int, int | float]


class DaySeries(msgspec.Struct, array_like=True, tag="d"):
    """A counter over the days of a sliding window.

    Days are numbered from the day of the first sight, which is 0: small numbers take one byte in the row. A day's
    baseline is the part of its value that is not counted: 0 for days after the first sight, the whole value for days
    before it. Only other baselines are stored.

    Attributes:
        first_day: the ordinal of the platform's UTC day at the first sight.
        closed: the sum counted for days that were removed by age.
        shut: the newest removed day. Days up to this one are not counted again if a chart shows them again.
        highs: day → its highest value.
        baselines: day → its baseline, for the day of the first sight, and for older days whose value rose later.
        lasts: day → its last value, if that is below its highest.
    """

    first_day: int
    closed: float = 0.0
    shut: int = _BEFORE_ALL_DAYS
    highs: Days = {}
    baselines: Days = {}
    lasts: Days = {}

    @property
    def following(self) -> int:
        """The ordinal of the day after the newest one that it has counted."""
        return self.first_day + max((self.shut, *self.highs)) + 1

    @property
    def value(self) -> float:
        """The counter: the sum over all days. It is computed again each time, so that rounding errors do not add up."""
        counted = [
            high - self.baselines.get(day, 0) for day, high in self.highs.items() if day >= 0 or day in self.baselines
        ]
        return math.fsum((self.closed, *counted))

    def uncounted(self, ordinal: int) -> float | None:
        """Return the baseline of a day; None if it is unknown: the day was in no chart, or was removed by age."""
        day = ordinal - self.first_day
        return self.baselines.get(day, 0 if day >= 0 else self.highs.get(day))

    def count(self, source: DayBuckets, poll: "PollTime") -> int:
        """Update the counter from the days that a poll returned.

        Returns:
            The number of days whose value fell; the counter does not change for them.
        """
        days = {ordinal - self.first_day: held for ordinal, held in source.days.items()}
        if not days:
            return 0
        today, newest = poll.today - self.first_day, max(days)
        oldest = min(days) if poll.oldest is None else poll.oldest - self.first_day
        # The window may begin in the middle of its oldest day. As platforms may leave out days without a count, the
        # oldest day shown is not always at the window's end: after the first sight it is complete while it is younger
        # than the shortest window. Without a time from the platform, a chart may contain a day that this machine's
        # clock has not reached.
        if oldest < 0 or max(today, newest) - oldest >= SHORTEST_WINDOW_DAYS:
            days.pop(oldest, None)
        corrections = 0
        for day, held in self._changed(days).items():
            high = self.highs.get(day)
            if high is None:
                if day > self.shut:
                    self.highs[day] = held
            elif held < high:
                corrections += held < self.lasts.get(day, high)
                self.lasts[day] = held
            else:
                self._raise_day(day, held)
        # If the platform's clock is ahead of its charts, the charts decide which days are old.
        limit = min(today, newest) - HORIZON_DAYS
        if old := [day for day in self.highs if day <= limit]:
            self._close(old)
        return corrections

    def _changed(self, days: Mapping[int, float]) -> Days:
        """Return the days whose value is a count, and is not the last one."""
        lasts = self.highs | self.lasts
        return {
            day: int(held) if float(held).is_integer() else held
            for day, held in days.items()
            if held != lasts.get(day) and is_count(held)
        }

    def _raise_day(self, day: int, held: float) -> None:
        if day < 0:
            self.baselines.setdefault(day, self.highs[day])
        self.highs[day] = held
        self.lasts.pop(day, None)

    def _close(self, leaving: Collection[int]) -> None:
        before = self.value
        self.shut = max(self.shut, *leaving)
        for day in leaving:
            # The baseline is kept: `backfill` uses it to find where the uncounted history ends.
            del self.highs[day]
            self.lasts.pop(day, None)
        # Again if rounding has made the sum slightly smaller: any fall of a counter looks like a reset.
        while (lost := before - self.value) > 0:
            self.closed += lost


@dataclass(frozen=True, slots=True)
class PollTime:
    """When a poll was made, and what its family says of the time.

    Attributes:
        now: the platform's time.
        wall: this machine's clock, in unix seconds.
        since: the day from which a series that begins with this poll is counted in full; None at the first sight of
            the family, where the first value is the baseline.
        oldest: the oldest day of the family, if its series have different days; None to use the oldest day of each
            series.
    """

    now: datetime
    wall: float
    since: int | None = None
    oldest: int | None = None

    @property
    def today(self) -> int:
        """The ordinal of the platform's UTC day."""
        return self.now.astimezone(UTC).toordinal()


def begin_days(source: DayBuckets, poll: PollTime) -> DaySeries:
    """Return the state of a series after its first poll; at the first sight of its family, its counter is 0."""
    series = DaySeries(poll.today if poll.since is None else poll.since)
    series.count(source, poll)
    if poll.since is None:
        series.baselines = {day: held for day, held in series.highs.items() if day >= 0}
    return series


class ChangeSeries(msgspec.Struct, array_like=True, tag="c"):
    """When the answers of a target last changed.

    Attributes:
        mark: the checksum of the last answer.
        value: this machine's unix seconds at the poll that first had this mark.
    """

    mark: float
    value: float
    # It has counted no day.
    following: ClassVar[int] = 0

    def count(self, source: LastChange, poll: PollTime) -> None:
        """Compare an answer with the one before.

        If the clock was set back behind the last change, that moves to the time of the poll.
        """
        self.value = min(self.value, poll.wall) if source.value == self.mark else poll.wall
        self.mark = source.value
