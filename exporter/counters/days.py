"""The rules by which an exact counter is made of day buckets."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from operator import index

from exporter.metric import DayBuckets, is_count

# Days this much older than the newest one leave: the platform's windows reach back 28 and 31 days.
HORIZON_DAYS = 45
# Only a bucket at the far end of a window (28 days the shortest) can be clipped by it.
SHORTEST_WINDOW_DAYS = 27


@dataclass(slots=True)
class DaySeries:
    """A counter over the days of a sliding window.

    The baseline of a day is what is not counted of it: 0 from the first sight on, and all that it held before that.
    Only other baselines are stored.

    Attributes:
        created: unix seconds of the first sight.
        first_day: the ordinal of the platform's UTC day at the first sight.
        closed: what was counted of days that have left by age.
        shut: the newest day that has left. Days up to this one are not counted again if they come back.
        highs: day → the most that it ever held.
        baselines: day → its baseline, for the day of the first sight, and for older ones that rose since.
        lasts: day → what it held last, where that is below the most that it held.
        is_whole: whether it counts the sum over the family's other series, see `DayBuckets.is_whole`.
    """

    created: float
    first_day: int
    closed: float = 0.0
    shut: int = 0
    highs: dict[int, float] = field(default_factory=dict)
    baselines: dict[int, float] = field(default_factory=dict)
    lasts: dict[int, float] = field(default_factory=dict)
    is_whole: bool = False

    @property
    def value(self) -> float:
        """The counter: the sum over all days, made anew each time so that rounding errors do not add up."""
        return math.fsum((self.closed, *self._counted(self.highs)))

    def uncounted(self, ordinal: int) -> float | None:
        """The baseline of a day; None where it is not known, because the day was never seen or has left by age."""
        if ordinal >= self.first_day:
            return self.baselines.get(ordinal, 0.0)
        return self.baselines.get(ordinal, self.highs.get(ordinal))

    def _counted(self, days: Iterable[int]) -> list[float]:
        """What is counted of each of these days; days of which nothing is counted are left out."""
        first, highs, baselines = self.first_day, self.highs, self.baselines
        return [highs[day] - baselines.get(day, 0.0) for day in days if day >= first or day in baselines]

    def count(self, source: DayBuckets, poll: "Poll", *, first: bool) -> int:
        """Count a poll.

        Args:
            source: the days as the platform shows them.
            poll: when it was, and what the family's other shape has counted.
            first: whether this is the first sight of the series.

        Returns:
            How many days fell; the counter stays as it is.
        """
        if not source.days:
            return 0
        corrections = 0
        owed = poll.owed
        today = poll.now.astimezone(UTC).toordinal()
        newest = max(source.days)
        oldest = min(source.days) if poll.oldest is None else poll.oldest
        # Where the platform sends no time, its chart may hold a day that our own clock has not reached.
        clipped = self._clipped(oldest, max(today, newest))
        highs, lasts = self.highs, self.lasts
        # Most days have not changed.
        for ordinal in [day for day, held in source.days.items() if highs.get(day) != held or day in lasts]:
            held = source.days[ordinal]
            if ordinal == clipped or not is_count(held):
                continue
            # A whole number takes fewer bytes as an integer.
            held = int(held) if float(held).is_integer() else held
            high = highs.get(ordinal)
            if high is None:
                self._begin_day(ordinal, held, owed, first=first)
            elif held < high:
                corrections += held < lasts.get(ordinal, high)
                lasts[ordinal] = held
            else:
                if held > high:
                    self._raise_day(ordinal, held, high, owed)
                lasts.pop(ordinal, None)
        # Where the platform's clock is ahead of its own charts, the charts decide which days are old.
        self._close(min(today, newest) - HORIZON_DAYS)
        return corrections

    def _begin_day(self, ordinal: int, held: float, owed: "Owed", *, first: bool) -> None:
        if ordinal > self.shut:
            self.highs[ordinal] = held
            if first and ordinal >= self.first_day:
                self.baselines[ordinal] = held
            elif ordinal in owed:
                self.baselines[ordinal] = _deduct(owed, ordinal, held)

    def _raise_day(self, ordinal: int, held: float, high: float, owed: "Owed") -> None:
        if ordinal < self.first_day:
            self.baselines.setdefault(ordinal, high)
        if ordinal in owed:
            self.baselines[ordinal] = self.baselines.get(ordinal, 0.0) + _deduct(owed, ordinal, held - high)
        self.highs[ordinal] = held

    def _clipped(self, oldest: int, today: int) -> int | None:
        """The oldest day, where the window may begin within it; else None.

        Platforms may leave out days without a count, so that the oldest day shown is not always at the window's end. A
        day since the first sight is whole as long as it is younger than the shortest window; an older day may be cut.
        """
        may_be = oldest < self.first_day or today - oldest >= SHORTEST_WINDOW_DAYS
        return oldest if may_be else None

    def _close(self, limit: int) -> None:
        leaving = [ordinal for ordinal in self.highs if ordinal <= limit]
        if not leaving:
            return
        before = self.value
        self.closed = math.fsum((self.closed, *self._counted(leaving)))
        self.shut = max(self.shut, *leaving)
        for ordinal in leaving:
            # Its baseline stays: backfill reads from it where the history ends that was not counted.
            del self.highs[ordinal]
            self.lasts.pop(ordinal, None)
        # Rounding may have cost a fraction its last bit, and a counter that falls by a bit looks like a reset.
        while (lost := before - self.value) > 0:
            self.closed += lost


# Day → what one shape of a family has counted of it beyond what the other shape has. A map may change its shape between
# a count an action and one plain number: what one shape has counted is no rise of the other.
Owed = dict[int, float]


def _deduct(owed: Owed, ordinal: int, rise: float) -> float:
    """Reduce what is owed of a day by its rise, to 0 at the least; returns by how much."""
    taken = min(owed[ordinal], rise)
    owed[ordinal] -= taken
    return taken


def owed_by(theirs: Iterable[DaySeries], ours: Iterable[DaySeries]) -> Owed:
    """What some series have counted of each day beyond what others have."""
    owed: Owed = {}
    for series in theirs:
        for ordinal, high in series.highs.items():
            owed[ordinal] = owed.get(ordinal, 0.0) + high
    for series in ours:
        for ordinal in owed.keys() & series.highs.keys():
            owed[ordinal] -= series.highs[ordinal]
    return {ordinal: max(0.0, high) for ordinal, high in owed.items()}


@dataclass(frozen=True, slots=True)
class Poll:
    """A poll, as one shape of a family takes it in.

    Attributes:
        now: the platform's time.
        wall: our own clock, unix seconds.
        relatives: the family's series; where they count the same in another shape, a new series begins beside them.
        owed: what the other shape has counted beyond this one; reduced while the poll is counted.
        oldest: the oldest day of the family, where its series hold different days; None: each series has its own.
    """

    now: datetime
    wall: float
    relatives: tuple[DaySeries, ...] = ()
    owed: Owed = field(default_factory=dict)
    oldest: int | None = None


def begin_days(source: DayBuckets, poll: Poll) -> DaySeries:
    """The state of a series at its first sight, at which its counter is 0."""
    series = DaySeries(poll.now.timestamp(), poll.now.astimezone(UTC).toordinal(), is_whole=source.is_whole)
    for relative in poll.relatives:
        # The family has been counted in another shape: days since then are not history.
        series.first_day = min(series.first_day, relative.first_day)
        series.shut = max(series.shut, relative.shut)
    series.count(source, poll, first=not poll.relatives)
    return series


def days_to_plain(series: DaySeries) -> list[object]:
    """A series as plain values, for a packed row: mostly small integers, which take the fewest bytes."""
    columns = [_column(days, series.first_day) for days in (series.highs, series.baselines, series.lasts)]
    whole = [1] if series.is_whole else []
    return [series.created, series.first_day, series.closed, series.shut, *columns, *whole]


def days_from_plain(fields: list[object]) -> DaySeries:
    """The series of a packed row.

    Raises:
        ValueError: the row is not one of ours.
    """
    numbers, columns, whole = fields[:4], fields[4:7], fields[7:]
    if len(columns) < len(("highs", "baselines", "lasts")) or whole not in ([], [1]):
        raise ValueError("a series of the state is not as this version writes it")
    created, first_day, closed, shut = map(number, numbers)
    first = int(first_day)
    highs, baselines, lasts = [_days(column, first) for column in columns]
    return DaySeries(created, first, closed, int(shut), highs, baselines, lasts, bool(whole))


def number(value: object) -> float:
    """A number of a packed row.

    Raises:
        ValueError: it is not a finite number.
    """
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise ValueError("a series of the state holds something that is no number")


def _column(days: dict[int, float], first_day: int) -> list[list[float]]:
    return [[*_offsets(tuple(days), first_day)], [*days.values()]] if days else []


# Nearly all series of a family hold the same days. With these caches a row is read and written in half of the time.
@lru_cache(maxsize=256)
def _offsets(days: tuple[int, ...], first_day: int) -> tuple[int, ...]:
    return tuple(day - first_day for day in days)


@lru_cache(maxsize=256)
def _ordinals(offsets: tuple[int, ...], first_day: int) -> tuple[int, ...]:
    """The days of a stored column.

    Raises:
        TypeError: an offset is no integer.
    """
    return tuple(first_day + index(offset) for offset in offsets)


def _days(column: object, first_day: int) -> dict[int, float]:
    match column:
        case []:
            return {}
        case [list(offsets), list(held)]:
            try:
                # The sum says in one go whether all are numbers.
                if math.isfinite(math.fsum(held)):
                    return dict(zip(_ordinals(tuple(offsets), first_day), held, strict=True))
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError("a series of the state holds something that is no number") from error
    raise ValueError("a series of the state has days that are not as this version writes them")
