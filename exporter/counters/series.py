"""The rules by which exact counters are made of day buckets, and the series of a family as they are stored.

Everything here is plain arithmetic on the state of series; the ledger keeps that state.
"""

import math
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from exporter.counters.months import MonthSeries, begin_month, month_from_plain, month_to_plain
from exporter.metric import DayBuckets, LabelValues, MonthToDate, Source, is_count

# Days this much older than the newest one leave: the platform's windows reach back 28 and 31 days.
HORIZON_DAYS = 45
# Only a bucket at the far end of a window (28 days the shortest) can be clipped by it.
SHORTEST_WINDOW_DAYS = 27


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

    def count(self, source: DayBuckets, poll: "_Poll", *, first: bool) -> int:
        """Take in a poll.

        Args:
            source: the days as the platform shows them.
            poll: when it was, and what else the family has counted.
            first: whether this is the first sight of the series.

        Returns:
            How many days fell, which lowers no counter.
        """
        if not source.days:
            return 0
        corrections = 0
        owed = poll.owed
        today = poll.now.astimezone(UTC).toordinal()
        newest = max(source.days)
        oldest = min(source.days) if poll.oldest is None else poll.oldest
        # Without the platform's own clock there may be a day in the chart that ours has not reached.
        clipped = self._clipped(oldest, max(today, newest))
        for ordinal, count in source.days.items():
            held = float(count)
            if ordinal == clipped or not is_count(held):
                continue
            high = self.highs.get(ordinal)
            if high is None:
                self._begin_day(ordinal, held, owed, first=first)
            elif held < high:
                corrections += held < self.lasts.get(ordinal, high)
                self.lasts[ordinal] = held
            # Most days hold what they held.
            elif held > high or self.lasts:
                if held > high and ordinal < self.first_day:
                    self.baselines.setdefault(ordinal, high)
                if ordinal in owed:
                    self.baselines[ordinal] = self.baselines.get(ordinal, 0.0) + _deduct(owed, ordinal, held - high)
                self.highs[ordinal] = held
                self.lasts.pop(ordinal, None)
        # A clock of the platform that is ahead of its own charts ages nothing.
        self._close(min(today, newest) - HORIZON_DAYS)
        return corrections

    def _begin_day(self, ordinal: int, held: float, owed: "Owed", *, first: bool) -> None:
        if ordinal > self.shut:
            self.highs[ordinal] = held
            if first and ordinal >= self.first_day:
                self.baselines[ordinal] = held
            elif ordinal in owed:
                self.baselines[ordinal] = _deduct(owed, ordinal, held)

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


Series = DaySeries | MonthSeries


# Day → what one shape of a family has counted of it beyond what the other shape has. A map may change its shape between
# a count an action and one plain number: what one shape has counted is no rise of the other.
Owed = dict[int, float]


def _deduct(owed: Owed, ordinal: int, rise: float) -> float:
    """Take a rise of a day out of what is owed, as far as that goes; returns how much was taken."""
    taken = min(owed[ordinal], rise)
    owed[ordinal] -= taken
    return taken


def _owed(theirs: Iterable[DaySeries], ours: Iterable[DaySeries]) -> Owed:
    owed: Owed = {}
    for series in theirs:
        for ordinal, high in series.highs.items():
            owed[ordinal] = owed.get(ordinal, 0.0) + high
    for series in ours:
        for ordinal in owed.keys() & series.highs.keys():
            owed[ordinal] -= series.highs[ordinal]
    return {ordinal: max(0.0, high) for ordinal, high in owed.items()}


def _is_sight(source: Source) -> bool:
    """Whether a series can begin with this: a month needs a number to begin from, days need none."""
    return not isinstance(source, MonthToDate) or is_count(source.value)


@dataclass(frozen=True, slots=True)
class _Poll:
    """When a poll was, and what else the family has counted.

    Attributes:
        now: the platform's time.
        wall: our own clock, unix seconds.
        relatives: series that count the same in another shape, beside which a new one begins.
        owed: what they have counted; deducted from while the poll is taken in.
        oldest: the oldest day of the family, where its series hold different days; None: each series has its own.
    """

    now: datetime
    wall: float
    relatives: tuple[DaySeries, ...] = ()
    owed: Owed = field(default_factory=dict)
    oldest: int | None = None


def _begin(source: Source, poll: _Poll) -> Series:
    """The state of a series at its first sight, at which its counter is 0."""
    if isinstance(source, MonthToDate):
        return begin_month(source, poll.now, poll.wall)
    series = DaySeries(poll.now.timestamp(), poll.now.astimezone(UTC).toordinal(), is_whole=source.is_whole)
    for relative in poll.relatives:
        # It has been counted in another shape all along: its days are no history.
        series.first_day = min(series.first_day, relative.first_day)
        series.shut = max(series.shut, relative.shut)
    series.count(source, poll, first=not poll.relatives)
    return series


def _advance(series: Series | None, source: Source, poll: _Poll) -> tuple[Series, int]:
    """Take a poll into a series, or begin one; returns the series and how many corrections there were.

    A series whose source has changed its nature begins anew from where its counter stood.
    """
    if isinstance(series, DaySeries) and isinstance(source, DayBuckets):
        return series, series.count(source, poll, first=False)
    if isinstance(series, MonthSeries) and isinstance(source, MonthToDate):
        return series, series.count(source, poll.now, poll.wall)
    if series is not None and not _is_sight(source):
        return series, 0
    fresh = _begin(source, poll)
    if series is not None:
        fresh.closed, fresh.created = series.value, series.created
    return fresh, 0


def advance_family(
    states: MutableMapping[LabelValues, Series],
    sources: Sequence[tuple[LabelValues, Source]],
    now: datetime,
    wall: float,
) -> int:
    """Take a poll into the series of one family of a target, and begin those that are new.

    Args:
        states: label values → series; changed in place.
        sources: label values → what is counted.
        now: the platform's time.
        wall: our own clock, unix seconds.

    Returns:
        How many days or months fell, which lowers no counter.
    """
    corrections = 0
    of_parts, of_whole = _polls(states.values(), sources, now, wall)
    for labels, source in sources:
        if labels in states or _is_sight(source):
            poll = of_whole if _is_whole(source) else of_parts
            states[labels], fallen = _advance(states.get(labels), source, poll)
            corrections += fallen
    return corrections


def served_labels(
    states: Mapping[LabelValues, Series], sources: Sequence[tuple[LabelValues, Source]]
) -> tuple[LabelValues, ...]:
    """The label values of the series to serve after a poll, in order.

    These are the ones that the poll shows. In a family that has both shapes all series are served, because only the
    sum of all of them is right.

    Args:
        states: the family's series; what a poll shows for the first time is missing where it could not be saved.
        sources: what the poll shows.
    """
    has_shapes = any(map(_is_whole, states.values())) or any(_is_whole(source) for _, source in sources)
    shown = dict.fromkeys((*(labels for labels, _ in sources), *(states if has_shapes else ())))
    return tuple(labels for labels in shown if labels in states)


def _polls(
    states: Iterable[Series], sources: Iterable[tuple[LabelValues, Source]], now: datetime, wall: float
) -> tuple[_Poll, _Poll]:
    """A poll as the parts of a family take it in, and as their whole does."""
    days = [series for series in states if isinstance(series, DaySeries)]
    wholes = [series for series in days if series.is_whole]
    if not wholes and not any(_is_whole(source) for _, source in sources):
        plain = _Poll(now, wall)
        return plain, plain
    parts = [series for series in days if not series.is_whole]
    relatives = tuple(days)
    oldest = min((day for _, source in sources if isinstance(source, DayBuckets) for day in source.days), default=None)
    return (
        _Poll(now, wall, relatives, _owed(wholes, parts), oldest),
        _Poll(now, wall, relatives, _owed(parts, wholes), oldest),
    )


def _is_whole(counted: Source | Series) -> bool:
    return isinstance(counted, DayBuckets | DaySeries) and counted.is_whole


def to_plain(series: Series) -> list[object]:
    """A series as plain values, for a packed row: mostly small integers, which take the fewest bytes."""
    if isinstance(series, MonthSeries):
        return ["m", *month_to_plain(series)]
    columns = [_column(days, series.first_day) for days in (series.highs, series.baselines, series.lasts)]
    whole = [1] if series.is_whole else []
    return ["d", series.created, series.first_day, series.closed, series.shut, *columns, *whole]


def from_plain(plain: object) -> Series:
    """The series of a packed row.

    Raises:
        ValueError: the row is not one of ours.
    """
    match plain:
        case ["m", *fields]:
            return month_from_plain([_number(number) for number in fields])
        case ["d", created, first_day, closed, shut, highs, baselines, lasts, *whole] if whole in ([], [1]):
            first = int(_number(first_day))
            series = DaySeries(_number(created), first, _number(closed), int(_number(shut)), is_whole=bool(whole))
            columns = (_days(column, first) for column in (highs, baselines, lasts))
            series.highs, series.baselines, series.lasts = columns
            return series
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
