"""The rules by which exact counters come out of day buckets and month-to-date values.

Everything here is plain arithmetic on the state of one series; where that state is kept is the ledger's business.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from exporter.metric import DayBuckets, MonthToDate, Source

# Days this much older than the newest one leave: the platform's windows reach back 28 and 31 days.
HORIZON_DAYS = 45
# Only a bucket at the far end of a window (28 days the shortest) can be clipped by it.
SHORTEST_WINDOW_DAYS = 27
DAY_SECONDS = 86_400.0
LOWEST_SHARE = 0.5
# No 64-bit integer holds more; what claims to is no count, and sums of it would overflow.
LARGEST = 2.0**63


@dataclass(slots=True)
class DaySeries:
    """A counter over the days of a sliding window.

    What is not counted of a day, its baseline, is 0 from the first sight on, and all that it holds before; only where
    that is not so is it written down.

    Attributes:
        created: unix seconds of the first sight.
        first_day: the ordinal of the platform's UTC day at the first sight.
        closed: what was counted of days that have left by age.
        shut: the newest day that has left. What comes back from up to there was counted before.
        highs: day → the most that it ever held.
        baselines: day → its baseline, for those that held something at the first sight, or rose since though older.
        lasts: day → what it held last, where it fell below its high water.
    """

    created: float
    first_day: int
    closed: float = 0.0
    shut: int = 0
    highs: dict[int, float] = field(default_factory=dict)
    baselines: dict[int, float] = field(default_factory=dict)
    lasts: dict[int, float] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The counter: whole days summed afresh, so that no error builds up."""
        return math.fsum((self.closed, *self._counted(self.highs)))

    def uncounted(self, ordinal: int) -> float | None:
        """What is not counted of a day; None where only the platform knows, as it was never seen or has left by age."""
        if ordinal >= self.first_day:
            return self.baselines.get(ordinal, 0.0)
        return self.baselines.get(ordinal, self.highs.get(ordinal))

    def _counted(self, days: Iterable[int]) -> list[float]:
        """What is counted of each of some days, but for those of which nothing is."""
        first, highs, baselines = self.first_day, self.highs, self.baselines
        return [highs[day] - baselines.get(day, 0.0) for day in days if day >= first or day in baselines]

    def count(self, source: DayBuckets, now: datetime, *, first: bool) -> int:
        """Take in a poll.

        Args:
            source: the days as the platform shows them.
            now: the platform's clock.
            first: whether this is the first sight of the series.

        Returns:
            How many days fell, which lowers no counter.
        """
        if not source.days:
            return 0
        corrections = 0
        today = now.astimezone(UTC).toordinal()
        newest = max(source.days)
        # Without the platform's own clock there may be a day in the chart that ours has not reached.
        clipped = self._clipped(min(source.days), max(today, newest))
        for ordinal, count in source.days.items():
            held = float(count)
            if ordinal == clipped or not 0 <= held <= LARGEST:
                continue
            high = self.highs.get(ordinal)
            if high is None:
                self._begin_day(ordinal, held, first=first)
            elif held < high:
                corrections += held < self.lasts.get(ordinal, high)
                self.lasts[ordinal] = held
            # Most days hold what they held.
            elif held > high or self.lasts:
                if held > high and ordinal < self.first_day:
                    self.baselines.setdefault(ordinal, high)
                self.highs[ordinal] = held
                self.lasts.pop(ordinal, None)
        # A clock of the platform that is ahead of its own charts ages nothing.
        self._close(min(today, newest) - HORIZON_DAYS)
        return corrections

    def _begin_day(self, ordinal: int, held: float, *, first: bool) -> None:
        if ordinal > self.shut:
            self.highs[ordinal] = held
            if first and ordinal >= self.first_day:
                self.baselines[ordinal] = held

    def _clipped(self, oldest: int, today: int) -> int | None:
        """The oldest day, where the window may begin within it.

        Where days without a count are left out, the oldest one may be far from the window's end. One that has come
        since the first sight is whole while no window is so short; of one before it nothing is known.
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
            # Its baseline stays: it tells where the history ends that was not counted.
            del self.highs[ordinal]
            self.lasts.pop(ordinal, None)
        # Rounding may have cost a fraction its last bit, and a counter that falls by a bit looks like a reset.
        while (lost := before - self.value) > 0:
            self.closed += lost


@dataclass(slots=True)
class MonthSeries:
    """A counter over a value that starts again with each UTC month.

    Attributes:
        created: unix seconds of the first sight.
        month: year * 12 + month of the last poll.
        polled: unix seconds of the last poll, by a clock that never goes back.
        baseline: what is not counted of the current month.
        high: the most that the value ever was in the current month.
        last: what it was last.
        closed: what was counted of earlier months.
    """

    created: float
    month: int
    polled: float
    baseline: float
    high: float
    last: float
    closed: float = 0.0

    @property
    def value(self) -> float:
        """The counter."""
        return math.fsum((self.closed, self.high, -self.baseline))

    def count(self, source: MonthToDate, now: datetime) -> int:
        """Take in a poll at the platform's time `now`; returns 1 where the value fell and that was no reset."""
        value, month, at = float(source.value), month_of(now), now.timestamp()
        if not 0 <= value <= LARGEST:
            return 0
        new_month = month != self.month
        # A correction may have left it below the high water: what stands there, or rises from there, does not fall.
        fell = value < self.last
        reset = fell and (new_month or value < self.high * LOWEST_SHARE)
        # After a long silence across a month's end, the new month's value is above the old one's by chance alone.
        passed_over = new_month and value > self.last and at - self.polled > DAY_SECONDS
        if reset or passed_over:
            # The sum as it was served: rounded once more it might be less, which looks like a reset.
            self.closed = self.value
            self.baseline, self.high = 0.0, value
        else:
            self.high = max(self.high, value)
        self.month, self.polled, self.last = month, max(self.polled, at), value
        return int(fell and not reset)


Series = DaySeries | MonthSeries


def month_of(moment: datetime) -> int:
    """The UTC month of a moment as one number that grows by 1 a month."""
    utc = moment.astimezone(UTC)
    return utc.year * 12 + utc.month


def is_sight(source: Source) -> bool:
    """Whether a series can begin with this: a month needs a number to begin from, days need none."""
    return not isinstance(source, MonthToDate) or 0 <= source.value <= LARGEST


def begin(source: Source, now: datetime) -> Series:
    """The state of a series at its first sight, at which its counter is 0."""
    if isinstance(source, MonthToDate):
        held = float(source.value)
        return MonthSeries(now.timestamp(), month_of(now), now.timestamp(), held, held, held)
    series = DaySeries(now.timestamp(), now.astimezone(UTC).toordinal())
    series.count(source, now, first=True)
    return series


def advance(series: Series | None, source: Source, now: datetime) -> tuple[Series, int]:
    """Take a poll into a series, or begin one where `is_sight`; returns the series and how many corrections there were.

    A series whose source has changed its nature begins anew from where its counter stood.
    """
    if isinstance(series, DaySeries) and isinstance(source, DayBuckets):
        return series, series.count(source, now, first=False)
    if isinstance(series, MonthSeries) and isinstance(source, MonthToDate):
        return series, series.count(source, now)
    if series is not None and not is_sight(source):
        return series, 0
    fresh = begin(source, now)
    if series is not None:
        fresh.closed, fresh.created = series.value, series.created
    return fresh, 0


def to_plain(series: Series) -> list[object]:
    """A series as plain values, for a packed row: mostly small integers, which take the fewest bytes."""
    if isinstance(series, MonthSeries):
        return [
            "m",
            series.created,
            series.month,
            series.polled,
            series.baseline,
            series.high,
            series.last,
            series.closed,
        ]
    columns = [_column(days, series.first_day) for days in (series.highs, series.baselines, series.lasts)]
    return ["d", series.created, series.first_day, series.closed, series.shut, *columns]


def from_plain(plain: object) -> Series:
    """The series of a packed row.

    Raises:
        ValueError: the row is not one of ours.
    """
    match plain:
        case ["m", created, month, polled, baseline, high, last, closed]:
            sums = (_number(number) for number in (baseline, high, last, closed))
            return MonthSeries(_number(created), int(_number(month)), _number(polled), *sums)
        case ["d", created, first_day, closed, shut, highs, baselines, lasts]:
            first = int(_number(first_day))
            columns = (_days(column, first) for column in (highs, baselines, lasts))
            return DaySeries(_number(created), first, _number(closed), int(_number(shut)), *columns)
    raise ValueError("a series of the state file is not as this version writes it")


def _number(value: object) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    raise ValueError("a series of the state file holds something that is no number")


def _column(days: dict[int, float], first_day: int) -> list[list[float]]:
    if not days:
        return []
    offsets: list[float] = [ordinal - first_day for ordinal in days]
    return [offsets, [int(held) if held.is_integer() else held for held in days.values()]]


def _days(column: object, first_day: int) -> dict[int, float]:
    match column:
        case []:
            return {}
        case [list(offsets), list(held)]:
            try:
                # The sums say in one go whether all are numbers.
                if math.isfinite(math.fsum(offsets) + math.fsum(held)):
                    places = [first_day + int(offset) for offset in offsets]
                    return dict(zip(places, map(float, held), strict=True))
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError("a series of the state file holds something that is no number") from error
    raise ValueError("a series of the state file has days that are not as this version writes them")
