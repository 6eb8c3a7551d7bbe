"""The series of a family: which rules count each of them.

This, `days.py` and `months.py` are plain arithmetic on the state of series. The ledger keeps that state.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from exporter.counters.days import DaySeries, Poll, begin_days, owed_by
from exporter.counters.months import MonthSeries, begin_month
from exporter.metric import Count, DayBuckets, LabelValues, MonthToDate, Source, is_count

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


def _is_countable(source: Source) -> bool:
    """Return whether a source can be counted: a month needs a valid number, days need nothing."""
    return not isinstance(source, MonthToDate) or is_count(source.value)


def _advance(series: Series | None, source: Source, poll: Poll, *, again: bool) -> tuple[Series, int]:
    """Update a series from a poll's source, or begin one; return the series and the number of corrections.

    If the source changes between days and months, or counts something else (`again`), the series begins again and the
    counter continues from its value.
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
        if _is_countable(source):
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
    since = facts.day if count.is_complete and not begins else None
    corrections = advance_family(states, count.sources, replace(poll, since=since), facts.stale)
    shown = (labels for labels, source in count.sources if _is_countable(source))
    facts.note(states, shown, poll.wall, retention)
    return facts, corrections


def served_labels(states: Mapping[LabelValues, Series], sources: Sources) -> tuple[LabelValues, ...]:
    """The label values of the series to serve after a poll, in order.

    These are the series in the answer. In a family with both shapes all series are served, because only the sum of all
    of them is right.

    Args:
        states: the family's series; a new series is missing if it could not be saved.
        sources: the sources in the answer.
    """
    shown = [labels for labels, _ in sources]
    if any(series.is_whole for series in states.values()) or any(source.is_whole for _, source in sources):
        shown += states
    return tuple(labels for labels in dict.fromkeys(shown) if labels in states)


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
