"""Counts the families of a target: its series and the answer of a poll in, its series afterwards out.

This, `days.py` and `months.py` are plain arithmetic on the state of series. The ledger keeps that state.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from exporter.counters.days import ChangeSeries, DaySeries, PollTime, begin_days
from exporter.counters.months import MonthSeries, begin_month
from exporter.metric import Count, DayBuckets, Family, LabelValues, LastChange, MonthToDate, Sample, Source, is_count
from exporter.platform.operation import normalized_url

Series = DaySeries | MonthSeries | ChangeSeries
Sources = Sequence[tuple[LabelValues, Source]]
_DIGEST_BYTES = 8


class CountedFamily(msgspec.Struct, array_like=True):
    """What was counted of a family of a target.

    Attributes:
        digest: identifies what is counted, as `digest_of` does; empty for a gauge that shows when something changed.
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
        """Return whether an answer continues the family: the same is counted, and its days have the same shape."""
        return digest == self.digest and (shapes == self.shapes or not shapes or not self.shapes)

    def confine(self, places: frozenset[LabelValues]) -> None:
        """Keep the series that have a place; the others, beyond a limit that was lowered, are dropped."""
        self.is_bounded = True
        self.series = {labels: series for labels, series in self.series.items() if labels in places}

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


class Counted(NamedTuple):
    """What was counted of a target, after a poll.

    Attributes:
        families: what was counted.
        corrections: family → how many of its days or months fell, where any did; their counters do not.
        left_out: family → how many label values of the answer have no place, where any have none.
    """

    families: Families
    corrections: dict[str, int]
    left_out: dict[str, int]


def count_poll(
    families: Families, counts: Sequence[Count], address: str, poll: PollTime, retention: float, *, limit: int
) -> Counted:
    """Count a poll of a target.

    Args:
        families: what was counted of the target; a family that continues is changed in place.
        counts: the sources of each counter family in the answer.
        address: the base address of the platform that answered.
        poll: the time of the poll.
        retention: seconds after which a series that is in no answer is dropped.
        limit: the most series of a family; further label values are left out.
    """
    counted, shown = Counted(dict(families), {}, {}), dict[str, Sources]()
    for count in counts:
        # A month needs a valid number; of days, each is checked.
        sources = [(labels, source) for labels, source in count.sources if _is_readable(source)]
        if count.sources and not sources:
            continue
        name, digest = count.info.name, digest_of(address, count.declared) if count.declared else b""
        family, since = _continued(families.get(name), digest, sources, poll.today)
        counted.families[name] = family
        shown[name] = sources
        placed = sources
        if len(family.series.keys() | {labels for labels, _ in sources}) > limit:
            places = _places(family, sources, limit)
            family.confine(places)
            placed = [(labels, source) for labels, source in sources if labels in places]
        if len(placed) < len(sources):
            counted.left_out[name] = len(sources) - len(placed)
        if fallen := _advance_all(family, placed, PollTime(poll.now, poll.wall, since, _oldest(sources))):
            counted.corrections[name] = fallen
    for name, family in counted.families.items():
        family.note((labels for labels, _ in shown.get(name, ())), poll.wall, retention)
    return counted


def _is_readable(source: Source) -> bool:
    return isinstance(source, DayBuckets) or is_count(source.value)


def _continued(
    family: CountedFamily | None, digest: bytes, sources: Sources, today: int
) -> tuple[CountedFamily, int | None]:
    """Return a family as it continues, or a new one, if the sources are of something else than was counted before.

    The second result is the day from which a series that begins now is counted in full; None if from its first value.
    """
    shapes = frozenset(source.is_whole for _, source in sources if isinstance(source, DayBuckets) and source.days)
    if family is None or not family.counts(digest, shapes):
        return CountedFamily(digest, today, shapes=shapes), None
    family.shapes = shapes or family.shapes
    return family, None if family.is_bounded else family.day


def _places(family: CountedFamily, sources: Sources, limit: int) -> frozenset[LabelValues]:
    """Return the label values that have a place in a family of at most `limit` series."""
    largest_first = [labels for labels, _ in sorted(sources, key=lambda one: (-_size(one[1]), one[0]))]
    # Series keep their places, the oldest first, whether they are in the answer or not.
    oldest_first = dict.fromkeys((*family.series, *largest_first))
    return frozenset([*oldest_first][:limit])


def _size(source: Source) -> float:
    return sum(source.days.values()) if isinstance(source, DayBuckets) else source.value


def _oldest(sources: Sources) -> int | None:
    """Return the oldest day of the window, which is that of all series, as days without a count are left out."""
    days = [min(source.days) for _, source in sources if isinstance(source, DayBuckets) and source.days]
    return min(days, default=None)


def _advance_all(family: CountedFamily, sources: Sources, poll: PollTime) -> int:
    """Update the series of a family, or begin them; return the number of corrections."""
    corrections = 0
    for labels, source in sources:
        match family.series.get(labels), source:
            case DaySeries() as days, DayBuckets():
                corrections += days.count(source, poll)
            case MonthSeries() as month, MonthToDate():
                corrections += 1 if month.count(source, poll) else 0
            case ChangeSeries() as change, LastChange():
                change.count(source, poll)
            case _:
                family.series[labels] = _begun(source, poll)
    return corrections


def _begun(source: Source, poll: PollTime) -> Series:
    """Return the state of a series after its first poll."""
    if isinstance(source, DayBuckets):
        return begin_days(source, poll)
    if isinstance(source, MonthToDate):
        return begin_month(source, poll)
    return ChangeSeries(source.value, poll.wall)


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
