"""Counts the families of a target: its series and the answer of a poll in, its series afterwards out.

This, `series.py` and `months.py` are plain arithmetic on the state of series. The ledger keeps that state.
"""

from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from hashlib import blake2b

from exporter.counters.days import ChangeSeries, DaySeries, PollTime, begin_days, owed_by
from exporter.counters.months import MonthSeries, begin_month
from exporter.metric import (
    Count,
    DayBuckets,
    Family,
    LabelValues,
    LastChange,
    MonthToDate,
    Sample,
    Source,
    admitted,
    is_count,
)
from exporter.platform.operation import spelt_alike

Series = DaySeries | MonthSeries | ChangeSeries
States = MutableMapping[LabelValues, Series]
Sources = Sequence[tuple[LabelValues, Source]]
_DIGEST_BYTES = 8


@dataclass(slots=True)
class CountedFamily:
    """What was counted of a family of a target.

    Attributes:
        digest: identifies what is counted, as `digest_of` does. Empty if that is not known: in rows of an earlier
            version, which take the digest of the next poll.
        day: the day from which a label value that comes later is counted in full: that of the family's first sight, or
            the day after the newest one that a dropped series had counted.
        series: label values → the state of their series.
        absent: label values → since when they are in no answer, in unix seconds.
        is_bounded: whether label values had no place once. A series that comes later begins at 0, because it may be
            one of them.
        is_anew: whether the family started again because of another digest, and is still served as 0.
    """

    digest: bytes
    day: int
    series: States = field(default_factory=dict)
    absent: dict[LabelValues, float] = field(default_factory=dict)
    is_anew: bool = False
    is_bounded: bool = False

    def note(self, shown: Iterable[LabelValues], wall: float, retention: float) -> None:
        """Note which series are in an answer, and drop those that were in none for the retention.

        Args:
            shown: the label values in the answer.
            wall: this machine's clock, in unix seconds.
            retention: seconds after which an absent series is dropped.
        """
        # This machine's clock may be set back.
        absent = self.series.keys() - frozenset(shown)
        self.absent = {labels: min(wall, self.absent.get(labels, wall)) for labels in absent}
        for labels in [labels for labels, since in self.absent.items() if wall - since >= retention]:
            del self.absent[labels]
            self.day = min(max(self.day, self.series.pop(labels).following), date.max.toordinal())


# family → what was counted of it
Families = dict[str, CountedFamily]


def digest_of(address: str, declared: bytes) -> bytes:
    """Return what identifies a counter: what it counts, as `Count.declared` says, on the platform at an address."""
    return blake2b(spelt_alike(address).encode() + b"\0" + declared, digest_size=_DIGEST_BYTES).digest()


def count_poll(
    families: Families, counts: Sequence[Count], address: str, poll: PollTime, retention: float, *, limit: int
) -> tuple[Families, dict[str, int]]:
    """Count a poll of a target.

    Args:
        families: what was counted of the target; a family that continues is changed in place.
        counts: the sources of each counter family in the answer.
        address: the base address of the platform that answered.
        poll: the time of the poll.
        retention: seconds after which a series that is in no answer is dropped.
        limit: the most series of a family; further label values are left out.

    Returns:
        What is counted now, and the number of corrections of each family with any: days or months whose value fell.
        Their counters do not change.
    """
    after, corrections, absent = dict(families), dict[str, int](), set(families)
    for one in counts:
        # A month needs a valid number; of days, each is checked.
        sources = [(labels, source) for labels, source in one.sources if _is_readable(source)]
        is_unreadable = bool(one.sources) and not sources
        if not is_unreadable:
            name, digest = one.info.name, digest_of(address, one.declared) if one.declared else b""
            after[name], fallen = advance_family(families.get(name), sources, digest, poll, limit)
            after[name].note(dict(sources), poll.wall, retention)
            absent.discard(name)
            if fallen:
                corrections[name] = fallen
    for name in absent:
        after[name].note((), poll.wall, retention)
    return after, corrections


def _is_readable(source: Source) -> bool:
    return isinstance(source, DayBuckets) or is_count(source.value)


def advance_family(
    family: CountedFamily | None, sources: Sources, digest: bytes, poll: PollTime, limit: int
) -> tuple[CountedFamily, int]:
    """Update a family from the sources in an answer; it starts anew if they count something else than before.

    Args:
        family: what was counted before, changed in place if it continues; None at the family's first sight.
        sources: label values → the source of the count; new series begin, and those without a source stay.
        digest: identifies what is counted.
        poll: the time of the poll.
        limit: the most series.

    Returns:
        What is counted now, and the number of corrections.
    """
    since = None
    if family is None:
        family = CountedFamily(digest, poll.today)
    elif family.digest not in (b"", digest):
        family = CountedFamily(digest, poll.today, is_anew=True)
    else:
        family.digest, since = digest, None if family.is_bounded else family.day
    sources = _with_place(family, sources, limit)
    corrections = 0
    of_parts, of_whole = _polls(family.series.values(), sources, PollTime(poll.now, poll.wall, since))
    for labels, source in sources:
        own = of_whole if source.is_whole else of_parts
        family.series[labels], fallen = _advance(family.series.get(labels), source, own)
        corrections += fallen
    return family, corrections


def _with_place(family: CountedFamily, sources: Sources, limit: int) -> Sources:
    """Return the sources whose series have a place, and drop series beyond a limit that was lowered."""
    if len(family.series.keys() | {labels for labels, _ in sources}) <= limit:
        return sources
    family.is_bounded = True
    largest_first = sorted(sources, key=lambda one: (-_size(one[1]), one[0]))
    places = frozenset(admitted(family.series, (labels for labels, _ in largest_first), limit))
    family.series = {labels: series for labels, series in family.series.items() if labels in places}
    return [(labels, source) for labels, source in sources if labels in places]


def _size(source: Source) -> float:
    return sum(source.days.values()) if isinstance(source, DayBuckets) else source.value


def _advance(series: Series | None, source: Source, poll: PollTime) -> tuple[Series, int]:
    """Update a series from its source, or begin it; return the series and the number of corrections."""
    match series, source:
        case DaySeries(), DayBuckets():
            return series, series.count(source, poll)
        case MonthSeries(), MonthToDate():
            return series, series.count(source, poll.now, poll.wall)
        case ChangeSeries(), LastChange():
            return series, series.count(source, poll.wall)
        case _, LastChange():
            return ChangeSeries(source.value, poll.wall), 0
        case _, DayBuckets():
            return begin_days(source, poll), 0
        case _, MonthToDate():
            return begin_month(source, poll.now, poll.wall, poll.since), 0


def _polls(states: Iterable[Series], sources: Sources, poll: PollTime) -> tuple[PollTime, PollTime]:
    """Return two views of a poll: for the series by action, and for the series of the whole."""
    if len(sources) > 1:
        # Days without a count are left out: the oldest day of the window is that of all series.
        shown = [min(source.days) for _, source in sources if isinstance(source, DayBuckets) and source.days]
        poll = PollTime(poll.now, poll.wall, poll.since, oldest=min(shown, default=None))
    days = [series for series in states if isinstance(series, DaySeries)]
    wholes = [series for series in days if series.is_whole]
    if not wholes and not any(source.is_whole for _, source in sources):
        return poll, poll
    parts = [series for series in days if not series.is_whole]
    both = replace(poll, shut=max((series.shut for series in days), default=0))
    return replace(both, owed=owed_by(wholes, parts)), replace(both, owed=owed_by(parts, wholes))


def left_out(families: Families, counts: Sequence[Count]) -> dict[str, int]:
    """Return for each family how many label values of a counted answer have no place."""
    numbers = {}
    for count in counts:
        family = families.get(count.info.name)
        if family is not None and family.is_bounded:
            readable = [labels for labels, source in count.sources if _is_readable(source)]
            numbers[count.info.name] = len(readable) - len(family.series.keys() & readable)
    return {name: number for name, number in numbers.items() if number}


def served(families: Families, counts: Sequence[Count]) -> tuple[Family, ...]:
    """Return the counters to serve after a poll: those of its answer, without a series that the families do not have.

    In a family with both shapes all series are served, because only the sum of all of them is right.
    """
    counters = []
    for count in counts:
        family = families.get(count.info.name)
        if family is None:
            continue
        states, shown = family.series, [labels for labels, _ in count.sources]
        if any(one.is_whole for one in (*states.values(), *(source for _, source in count.sources))):
            shown += states
        samples = tuple(
            Sample(count.labels + labels, 0.0 if family.is_anew else states[labels].value)
            for labels in dict.fromkeys(shown)
            if labels in states
        )
        if samples:
            counters.append(Family(count.info, samples))
    return tuple(counters)
