"""The rules for exact counters: over the buckets of days, and over the series of a family.

This and `months.py` are plain arithmetic on the state of series. The ledger keeps that state.
"""

import math
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from exporter.counters.months import MonthSeries, begin_month
from exporter.metric import Count, DayBuckets, LabelValues, MonthToDate, Source, is_count

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
        created: unix seconds of the first sight, which is the first poll with this series.
        first_day: the ordinal of the platform's UTC day at the first sight.
        closed: the sum counted for days that were removed by age.
        shut: the newest removed day. Days up to this one are not counted again if a chart shows them again.
        highs: day → its highest value.
        baselines: day → its baseline, for the day of the first sight, and for older days whose value rose later.
        lasts: day → its last value, if that is below its highest.
        is_whole: whether it counts the sum over the family's other series, as `DayBuckets.is_whole` says.
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
    def following(self) -> int:
        """The day after the newest one that it has counted."""
        return max((self.shut, *self.highs)) + 1

    @property
    def value(self) -> float:
        """The counter: the sum over all days. It is computed again each time, so that rounding errors do not add up."""
        return math.fsum((self.closed, *self._counted(self.highs.items())))

    def uncounted(self, ordinal: int) -> float | None:
        """Return the baseline of a day; None if it is unknown: the day was in no chart, or was removed by age."""
        if ordinal >= self.first_day:
            return self.baselines.get(ordinal, 0.0)
        return self.baselines.get(ordinal, self.highs.get(ordinal))

    def _counted(self, highs: Iterable[tuple[int, float]]) -> list[float]:
        """Return the counted part of each of these days; days without a counted part are left out."""
        first, baselines = self.first_day, self.baselines
        return [high - baselines.get(day, 0.0) for day, high in highs if day >= first or day in baselines]

    def count(self, source: DayBuckets, poll: "Poll", *, first: bool = False) -> int:
        """Update the counter from the days that a poll returned.

        Args:
            source: the days in the platform's answer.
            poll: the time of the poll, and the counts of the family's other shape.
            first: whether this is the first sight of the series.

        Returns:
            The number of days whose value fell; the counter does not change for them.
        """
        if not source.days:
            return 0
        corrections, owed, highs, lasts = 0, poll.owed, self.highs, self.lasts
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
                self._begin_day(ordinal, held, owed, first=first)
            elif held < high:
                corrections += held < lasts.get(ordinal, high)
                lasts[ordinal] = held
            else:
                if held > high:
                    self._raise_day(ordinal, held, high, owed)
                lasts.pop(ordinal, None)
        # If the platform's clock is ahead of its charts, the charts decide which days are old.
        limit = min(poll.today, newest) - HORIZON_DAYS
        if old := [ordinal for ordinal in highs if ordinal <= limit]:
            self._close(old)
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


# Day → the part of one shape's count that the other shape has not counted. A map may change its shape between counts by
# action and one plain number; what one shape has counted must not be counted again by the other.
Owed = dict[int, float]


def _deduct(owed: Owed, ordinal: int, rise: float) -> float:
    """Reduce what is owed for a day by a rise, at most to 0; return the reduction."""
    taken = min(owed[ordinal], rise)
    owed[ordinal] -= taken
    return taken


def owed_by(theirs: Iterable[DaySeries], ours: Iterable[DaySeries]) -> Owed:
    """Return for each day how much more the first series have counted than the second."""
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
    """The facts of a poll for counting one shape of a family.

    Attributes:
        now: the platform's time.
        wall: this machine's clock, in unix seconds.
        since: the day from which a series that begins with this poll is counted in full; None at the first sight of
            the family, where the first value is the baseline.
        shut: the newest day that the family's other shape has removed.
        owed: how much more the other shape has counted than this one, by day; reduced while the poll is counted.
        oldest: the oldest day of the family, if its series have different days; None to use the oldest day of each
            series.
    """

    now: datetime
    wall: float
    since: int | None = None
    shut: int = 0
    owed: Owed = field(default_factory=dict)
    oldest: int | None = None

    @property
    def today(self) -> int:
        """The ordinal of the platform's UTC day."""
        return self.now.astimezone(UTC).toordinal()


def begin_days(source: DayBuckets, poll: Poll) -> DaySeries:
    """Return the state of a series after its first poll; at the first sight of its family, its counter is 0."""
    first_day = poll.today if poll.since is None else poll.since
    series = DaySeries(poll.now.timestamp(), first_day, shut=poll.shut, is_whole=source.is_whole)
    series.count(source, poll, first=poll.since is None)
    return series


Series = DaySeries | MonthSeries
States = MutableMapping[LabelValues, Series]
Sources = Sequence[tuple[LabelValues, Source]]


@dataclass(slots=True)
class FamilyFacts:
    """What is known of a configured family apart from its series; built-in families have none.

    Attributes:
        declared: identifies what the family counts, as `exporter.metric.Count.declared` does.
        day: the day from which a label value that comes later is counted in full: the first sight of the family, or the
            day after the newest one that a dropped series had counted.
        absent: label values → since when they are in no answer, in unix seconds.
        stale: absent label values whose series counted something else; they continue with a new baseline.
    """

    declared: bytes
    day: int
    absent: dict[LabelValues, float] = field(default_factory=dict)
    stale: set[LabelValues] = field(default_factory=set)

    def note(self, states: States, shown: Iterable[LabelValues], wall: float, retention: float) -> None:
        """Note which series are in an answer, and drop those that were in none for the retention.

        Args:
            states: the family's series; changed in place.
            shown: the label values in the answer.
            wall: this machine's clock, in unix seconds.
            retention: seconds after which an absent series is dropped.
        """
        # This machine's clock may be set back.
        self.absent = {labels: min(wall, self.absent.get(labels, wall)) for labels in states.keys() - frozenset(shown)}
        for labels in [labels for labels, since in self.absent.items() if wall - since >= retention]:
            del self.absent[labels]
            self.day = min(max(self.day, states.pop(labels).following), date.max.toordinal())
        self.stale &= self.absent.keys()


def _advance(series: Series | None, source: Source, poll: Poll, *, again: bool) -> tuple[Series, int]:
    """Update a series from a poll's source, or begin one; return the series and the number of corrections.

    A series whose source changes its kind, or what it counts (`again`), begins again; the counter continues.
    """
    if not again and isinstance(series, DaySeries) and isinstance(source, DayBuckets):
        return series, series.count(source, poll)
    if not again and isinstance(series, MonthSeries) and isinstance(source, MonthToDate):
        return series, series.count(source, poll.now, poll.wall)
    if series is not None:
        poll = replace(poll, since=None)
    if isinstance(source, MonthToDate):
        fresh: Series = begin_month(source, poll.now, poll.wall, poll.since)
    else:
        fresh = begin_days(source, poll)
    if series is not None:
        fresh.closed, fresh.created = series.value, series.created
    return fresh, 0


def advance_family(states: States, sources: Sources, poll: Poll, stale: Iterable[LabelValues] = ()) -> int:
    """Update the series of one family of a target from a poll's sources, and begin new series.

    Args:
        states: label values → series; changed in place.
        sources: label values → the source of the count.
        poll: the time of the poll, and from when new series are counted in full.
        stale: the label values of series that counted something else.

    Returns:
        The number of corrections: days or months whose value fell. Their counters do not change.
    """
    corrections = 0
    of_parts, of_whole = _polls(states.values(), sources, poll)
    for labels, source in sources:
        # A month needs a valid number; of days, each is checked.
        if isinstance(source, DayBuckets) or is_count(source.value):
            own = of_whole if source.is_whole else of_parts
            states[labels], fallen = _advance(states.get(labels), source, own, again=labels in stale)
            corrections += fallen
    return corrections


def follow_family(
    states: States, count: Count, facts: FamilyFacts | None, poll: Poll, retention: float
) -> tuple[FamilyFacts, int]:
    """Update a configured family as `advance_family` does; label values may appear and disappear.

    Args:
        states: label values → series; changed in place.
        count: the sources, and what they count.
        facts: what is known of the family, changed in place; None at its first sight, and for series that an earlier
            version has counted.
        poll: the time of the poll.
        retention: seconds after which a series that is in no answer is dropped.

    Returns:
        What is known of the family now, and the number of corrections.
    """
    begins = facts is None or facts.declared != count.declared
    if facts is None:
        facts = FamilyFacts(count.declared, poll.today)
    elif begins:
        facts.declared, facts.day, facts.stale = count.declared, max(poll.today, facts.day), set(states)
    since = None if begins else facts.day
    corrections = advance_family(states, count.sources, replace(poll, since=since), facts.stale)
    shown = (labels for labels, one in count.sources if isinstance(one, DayBuckets) or is_count(one.value))
    facts.note(states, shown, poll.wall, retention)
    return facts, corrections


def _polls(states: Iterable[Series], sources: Sources, poll: Poll) -> tuple[Poll, Poll]:
    """Return two views of a poll: for the series by action, and for the series of the whole."""
    days = [series for series in states if isinstance(series, DaySeries)]
    wholes = [series for series in days if series.is_whole]
    if not wholes and not any(source.is_whole for _, source in sources):
        return poll, poll
    parts = [series for series in days if not series.is_whole]
    # A family that was counted in the other shape has had its first sight.
    first = min((poll.today, *(series.first_day for series in days))) if days else None
    shut = max((series.shut for series in days), default=0)
    oldest = min((day for _, source in sources if isinstance(source, DayBuckets) for day in source.days), default=None)
    both = replace(poll, since=first, shut=shut, oldest=oldest)
    return replace(both, owed=owed_by(wholes, parts)), replace(both, owed=owed_by(parts, wholes))
