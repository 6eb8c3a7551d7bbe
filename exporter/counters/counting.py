"""Counts polls: computes a target's next state from its stored state and the counts of a poll."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from exporter.counters.days import ChangeSeries, DaySeries, PollTime, begin_days
from exporter.counters.months import MonthSeries, begin_month
from exporter.metric import Count, DayBuckets, Family, LabelValues, LastChange, MonthToDate, Sample, Source, is_count
from exporter.platform.operation import normalized_url

Series = DaySeries | MonthSeries | ChangeSeries
Sources = Mapping[LabelValues, Source]
_DIGEST_BYTES = 8


class CountedFamily(msgspec.Struct, array_like=True, frozen=True):
    """The stored state of one counted family of a target.

    Attributes:
        digest: the result of `digest_of`; empty for a gauge that shows when something changed.
        full_from: the ordinal of the day on which the family began, or the `next_day` of a dropped series if later.
            A series that is new in a later answer is counted in full from this day on, unless `is_bounded`.
        absent_since: label values of series without a readable source in the last answer → since when, in unix seconds.
        is_bounded: whether label values were ever left out because of `max_label_values`. If so, a new series begins
            at 0, because its label value may be one of those.
        shapes: the values of `DayBuckets.is_whole` in the last answer that had days; empty if no answer had days.
    """

    digest: bytes
    full_from: int
    series: dict[LabelValues, Series] = {}
    absent_since: dict[LabelValues, float] = {}
    is_bounded: bool = False
    shapes: frozenset[bool] = frozenset()

    def is_continued_by(self, digest: bytes, shapes: frozenset[bool]) -> bool:
        """Return whether an answer continues the family. Digests must be equal; shapes too, if both are known."""
        have_one_shape = not shapes or not self.shapes or shapes == self.shapes
        return digest == self.digest and have_one_shape

    def after_answer(self, shown: Collection[LabelValues], wall: float, retention: float) -> "CountedFamily":
        """Return the family after an answer, without the series that were absent for the retention.

        Args:
            shown: the label values in the answer that can be counted.
            wall: the time of this machine's clock, in unix seconds.
            retention: seconds after which an absent series is dropped.
        """
        absent = [labels for labels in self.series if labels not in shown]
        # A stored time that is later than `wall` means that this machine's clock was set back.
        absent_since = {labels: min(wall, self.absent_since.get(labels, wall)) for labels in absent}
        dropped = {labels for labels, since in absent_since.items() if wall - since >= retention}
        if not dropped:
            return replace(self, absent_since=absent_since)
        # If a label value comes back, the days that its dropped series had counted are not counted again.
        full_from = max(self.full_from, *(self.series[labels].next_day for labels in dropped))
        return replace(
            self,
            # `begin_month` converts `full_from` to a date; later ordinals have no date.
            full_from=min(full_from, date.max.toordinal()),
            series={labels: series for labels, series in self.series.items() if labels not in dropped},
            absent_since={labels: since for labels, since in absent_since.items() if labels not in dropped},
        )


# By the name of the family.
Families = dict[str, CountedFamily]


def digest_of(address: str, declared: bytes) -> bytes:
    """Return a digest of a platform's address and `Count.declared`; a counter with another digest starts again at 0."""
    return blake2b(normalized_url(address).encode() + b"\0" + declared, digest_size=_DIGEST_BYTES).digest()


class Counted(NamedTuple):
    """The result of counting a poll of a target.

    Attributes:
        families: the state after the poll.
        corrections: name of a family → how many values of days or months the platform has lowered, if any. The counters
            do not fall.
        left_out: name of a family → how many label values of the answer the limit has left out, if any.
        restarted: the names of families that count something else than before, and began again at 0.
    """

    families: Families
    corrections: dict[str, int]
    left_out: dict[str, int]
    restarted: list[str]


def count_poll(
    families: Families, counts: Sequence[Count], address: str, poll: PollTime, retention: float, *, limit: int
) -> Counted:
    """Count a poll of a target whose state was `families` before the poll.

    `address` is the base address of the platform. A series that is in no answer for `retention` seconds is dropped.
    Label values beyond `limit` series of a family are left out.
    """
    counted = Counted(families=dict(families), corrections={}, left_out={}, restarted=[])
    # Name of a family → the readable sources in the answer.
    shown = dict[str, Sources]()
    for count in counts:
        sources = {labels: source for labels, source in count.sources if _is_readable(source)}
        if count.sources and not sources:
            # If no source is readable, the family is treated as missing in the answer. A count that has no sources
            # begins the family, so that label values of later answers are counted in full.
            continue
        name = count.info.name
        before = families.get(name)
        digest = digest_of(address, count.declared) if count.declared else b""
        shapes = frozenset(one.is_whole for one in sources.values() if isinstance(one, DayBuckets) and one.days)
        if before is not None and not before.is_continued_by(digest, shapes):
            counted.restarted.append(name)
            before = None
        # `full_from`: a new series is counted in full from this day on. If None, the new series begins at 0.
        if before is None:
            # Nothing is known of the time before this answer.
            family, full_from = CountedFamily(digest, poll.today, shapes=shapes), None
        else:
            family = replace(before, shapes=shapes or before.shapes)
            # The label value of a new series may have been left out before.
            full_from = None if family.is_bounded else family.full_from
        shown[name] = sources
        family, placed = _within_limit(family, sources, limit)
        if len(placed) < len(sources):
            counted.left_out[name] = len(sources) - len(placed)
        counted.families[name], corrections = _advance(family, placed, poll, full_from, oldest_day(sources))
        if corrections:
            counted.corrections[name] = corrections
    for name, family in counted.families.items():
        counted.families[name] = family.after_answer(shown.get(name, {}), poll.wall, retention)
    return counted


def _is_readable(source: Source) -> bool:
    # The values of days are checked later, one by one.
    return isinstance(source, DayBuckets) or is_count(source.value)


def _within_limit(family: CountedFamily, sources: Sources, limit: int) -> tuple[CountedFamily, Sources]:
    """Return a family and the sources of an answer with at most `limit` different label values in total.

    The series of the family are kept first, the oldest before the others, even if the answer lacks their label values.
    Then the largest of the new sources are taken.
    """
    if len(family.series.keys() | sources.keys()) <= limit:
        return family, sources
    largest_first = sorted(sources, key=lambda labels: (-_size(sources[labels]), labels))
    ranked = list(dict.fromkeys((*family.series, *largest_first)))
    placed = set(ranked[:limit])
    series = {labels: series for labels, series in family.series.items() if labels in placed}
    placed_sources = {labels: source for labels, source in sources.items() if labels in placed}
    return replace(family, series=series, is_bounded=True), placed_sources


def _size(source: Source) -> float:
    return sum(source.days.values()) if isinstance(source, DayBuckets) else source.value


def oldest_day(sources: Sources) -> int:
    """Return the ordinal of the oldest day among all sources, because one source may omit days; 0 without days."""
    days = [min(source.days) for source in sources.values() if isinstance(source, DayBuckets) and source.days]
    return min(days, default=0)


def _advance(
    family: CountedFamily, sources: Sources, poll: PollTime, full_from: int | None, oldest: int
) -> tuple[CountedFamily, int]:
    """Return the family after the sources were counted, and the number of values that the platform has lowered."""
    series, corrections = dict(family.series), 0
    for labels, source in sources.items():
        corrected = 0
        match series.get(labels), source:
            case DaySeries() as days, DayBuckets():
                series[labels], corrected = days.count(source, poll.today, oldest)
            case MonthSeries() as month, MonthToDate():
                series[labels], corrected = month.count(source, poll)
            case ChangeSeries() as change, LastChange():
                series[labels] = change.after_answer(source, poll.wall)
            # There is no series yet, or one of another kind: a new series begins.
            case _, DayBuckets():
                series[labels] = begin_days(source, poll.today, full_from, oldest)
            case _, MonthToDate():
                series[labels] = begin_month(source, poll, full_from)
            case _:
                series[labels] = ChangeSeries(source.value, poll.wall)
        corrections += corrected
    return replace(family, series=series), corrections


def served(families: Families, counts: Sequence[Count]) -> tuple[Family, ...]:
    """Return the families to serve: the series in `families` whose label values are in the answer's `counts`."""
    counters = []
    for count in counts:
        family = families.get(count.info.name)
        if family is None:
            continue
        in_answer = [labels for labels, _ in count.sources if labels in family.series]
        samples = tuple(Sample(count.labels + labels, family.series[labels].value) for labels in in_answer)
        if samples:
            counters.append(Family(count.info, samples))
    return tuple(counters)
