"""Counts the families of a target: its series and the answer of a poll in, its series afterwards out.

This, `days.py` and `months.py` are plain arithmetic on the state of series. The ledger keeps that state.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from hashlib import blake2b

import msgspec

from exporter.counters.days import ChangeSeries, DaySeries, PollTime, begin_days
from exporter.counters.months import MonthSeries, begin_month
from exporter.label_values import kept_label_values
from exporter.metric import Count, DayBuckets, Family, LabelValues, LastChange, MonthToDate, Sample, Source, is_count
from exporter.platform.operation import normalized_url

Series = DaySeries | MonthSeries | ChangeSeries
Sources = Sequence[tuple[LabelValues, Source]]
_DIGEST_BYTES = 8


class CountedFamily(msgspec.Struct, array_like=True):
    """What was counted of a family of a target.

    Attributes:
        digest: identifies what is counted, as `digest_of` does; empty for a moment of a change.
        day: the day from which a label value that comes later is counted in full: that of the family's first sight, or
            the day after the newest one that a dropped series had counted.
        series: label values → the state of their series.
        absent: label values → since when they are in no answer, in unix seconds.
        is_bounded: whether label values had no place once. A series that comes later begins at 0, because it may be
            one of them.
        shapes: whether its days were last shown as plain sums, by parts, or as both; empty before the first day.
    """

    digest: bytes
    day: int
    series: dict[LabelValues, Series] = {}
    absent: dict[LabelValues, float] = {}
    is_bounded: bool = False
    shapes: frozenset[bool] = frozenset()

    def counts(self, digest: bytes, shapes: frozenset[bool]) -> bool:
        """Return whether it counts what an answer shows; days of another shape have the same counts in other series."""
        return digest == self.digest and (shapes == self.shapes or not shapes or not self.shapes)

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
    return blake2b(normalized_url(address).encode() + b"\0" + declared, digest_size=_DIGEST_BYTES).digest()


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
    after, corrections, shown = dict(families), dict[str, int](), dict[str, Iterable[LabelValues]]()
    for one in counts:
        # A month needs a valid number; of days, each is checked.
        sources = [(labels, source) for labels, source in one.sources if _is_readable(source)]
        if sources or not one.sources:
            name, digest = one.info.name, digest_of(address, one.declared) if one.declared else b""
            after[name], fallen = advance_family(families.get(name), sources, digest, poll, limit)
            shown[name] = dict(sources)
            if fallen:
                corrections[name] = fallen
    for name, family in after.items():
        family.note(shown.get(name, ()), poll.wall, retention)
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
    shapes = frozenset(source.is_whole for _, source in sources if isinstance(source, DayBuckets) and source.days)
    since = None
    if family is None or not family.counts(digest, shapes):
        family = CountedFamily(digest, poll.today)
    elif not family.is_bounded:
        since = family.day
    family.shapes = shapes or family.shapes
    sources = _with_place(family, sources, limit)
    # Days without a count are left out: the oldest day of the window is that of all series.
    shown = [min(source.days) for _, source in sources if isinstance(source, DayBuckets) and source.days]
    poll = PollTime(poll.now, poll.wall, since, oldest=min(shown, default=None))
    corrections = 0
    for labels, source in sources:
        family.series[labels], fallen = _advance(family.series.get(labels), source, poll)
        corrections += fallen
    return family, corrections


def _with_place(family: CountedFamily, sources: Sources, limit: int) -> Sources:
    """Return the sources whose series have a place, and drop series beyond a limit that was lowered."""
    if len(family.series.keys() | {labels for labels, _ in sources}) <= limit:
        return sources
    family.is_bounded = True
    largest_first = sorted(sources, key=lambda one: (-_size(one[1]), one[0]))
    places = frozenset(kept_label_values(family.series, (labels for labels, _ in largest_first), limit))
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
    """Return the counters to serve after a poll: those of its answer, as far as the families have them."""
    counters = []
    for count in counts:
        family = families.get(count.info.name)
        if family is None:
            continue
        samples = tuple(
            Sample(count.labels + labels, family.series[labels].value)
            for labels, _ in count.sources
            if labels in family.series
        )
        if samples:
            counters.append(Family(count.info, samples))
    return tuple(counters)
