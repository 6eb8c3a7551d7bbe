"""The rules for an exact counter over the buckets of days, and for the moment at which answers last changed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from exporter.metric import DayBuckets, LastChange, is_count

# Days that are older than the newest one by more than this are removed: the platform's windows are 28 and 31 days long.
HORIZON_DAYS = 45
# Only the oldest bucket of a window can be incomplete. The shortest window is 28 days long.
SHORTEST_WINDOW_DAYS = 27


@dataclass(slots=True)
class DaySeries:
    """A counter over the days of a sliding window.

    A day's baseline is the part of its value that is not counted: 0 for days after the first sight, the whole value for
    days before it. Only other baselines are stored.

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
    shut: int = 0
    highs: dict[int, float] = field(default_factory=dict)
    baselines: dict[int, float] = field(default_factory=dict)
    lasts: dict[int, float] = field(default_factory=dict)

    @property
    def following(self) -> int:
        """The day after the newest one that it has counted."""
        return max((self.shut, *self.highs)) + 1

    @property
    def value(self) -> float:
        """The counter: the sum over all days. It is computed again each time, so that rounding errors do not add up."""
        first, baselines = self.first_day, self.baselines
        counted = [
            high - baselines.get(day, 0.0) for day, high in self.highs.items() if day >= first or day in baselines
        ]
        return math.fsum((self.closed, *counted))

    def uncounted(self, ordinal: int) -> float | None:
        """Return the baseline of a day; None if it is unknown: the day was in no chart, or was removed by age."""
        if ordinal >= self.first_day:
            return self.baselines.get(ordinal, 0.0)
        return self.baselines.get(ordinal, self.highs.get(ordinal))

    def count(self, source: DayBuckets, poll: "PollTime", *, first: bool = False) -> int:
        """Update the counter from the days that a poll returned.

        Args:
            source: the days in the platform's answer.
            poll: the time of the poll.
            first: whether this is the first sight of the family.

        Returns:
            The number of days whose value fell; the counter does not change for them.
        """
        if not source.days:
            return 0
        corrections, highs, lasts = 0, self.highs, self.lasts
        newest = max(source.days)
        oldest = min(source.days) if poll.oldest is None else poll.oldest
        # Without a time from the platform, a chart may contain a day that this machine's clock has not reached.
        present = max(poll.today, newest)
        # The window may begin in the middle of its oldest day. As platforms may leave out days without a count, the
        # oldest day shown is not always at the window's end: after the first sight it is complete while it is younger
        # than the shortest window.
        may_be_clipped = oldest < self.first_day or present - oldest >= SHORTEST_WINDOW_DAYS
        # Skip unchanged days, which are most of them.
        for ordinal in [day for day, held in source.days.items() if highs.get(day) != held or day in lasts]:
            held = source.days[ordinal]
            if (may_be_clipped and ordinal == oldest) or not is_count(held):
                continue
            # An integer takes fewer bytes in the row than a float.
            held = int(held) if float(held).is_integer() else held
            high = highs.get(ordinal)
            if high is None:
                self._begin_day(ordinal, held, first=first)
            elif held < high:
                corrections += held < lasts.get(ordinal, high)
                lasts[ordinal] = held
            else:
                if held > high:
                    self._raise_day(ordinal, held, high)
                lasts.pop(ordinal, None)
        # If the platform's clock is ahead of its charts, the charts decide which days are old.
        limit = min(poll.today, newest) - HORIZON_DAYS
        if old := [ordinal for ordinal in highs if ordinal <= limit]:
            self._close(old)
        return corrections

    def _begin_day(self, ordinal: int, held: float, *, first: bool) -> None:
        if ordinal > self.shut:
            self.highs[ordinal] = held
            if first and ordinal >= self.first_day:
                self.baselines[ordinal] = held

    def _raise_day(self, ordinal: int, held: float, high: float) -> None:
        if ordinal < self.first_day:
            self.baselines.setdefault(ordinal, high)
        self.highs[ordinal] = held

    def _close(self, leaving: Sequence[int]) -> None:
        before = self.value
        self.shut = max(self.shut, *leaving)
        for ordinal in leaving:
            # The baseline is kept: `backfill` uses it to find where the uncounted history ends.
            del self.highs[ordinal]
            self.lasts.pop(ordinal, None)
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
    first_day = poll.today if poll.since is None else poll.since
    series = DaySeries(first_day)
    series.count(source, poll, first=poll.since is None)
    return series


@dataclass(slots=True)
class ChangeSeries:
    """When the answers of a target last changed.

    Attributes:
        mark: the mark of the last answer.
        value: this machine's unix seconds at the poll that first had this mark.
    """

    mark: float
    value: float
    # It has counted no day.
    following: ClassVar[int] = 0

    def count(self, source: LastChange, wall: float) -> int:
        """Take over an answer, polled at `wall` in unix seconds; a clock that was set back takes the moment with it."""
        self.value = min(self.value, wall) if source.value == self.mark else wall
        self.mark = source.value
        return 0
