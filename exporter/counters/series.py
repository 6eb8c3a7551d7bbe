"""The series of a family: which rules count each of them, and how they are stored.

This, `days.py` and `months.py` are plain arithmetic on the state of series. The ledger keeps that state.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from datetime import datetime

from exporter.counters.days import DaySeries, Poll, begin_days, days_from_plain, days_to_plain, number, owed_by
from exporter.counters.months import MonthSeries, begin_month, month_from_plain, month_to_plain
from exporter.metric import DayBuckets, LabelValues, MonthToDate, Source, is_count

Series = DaySeries | MonthSeries


def _is_sight(source: Source) -> bool:
    """Return whether a series can begin with this source: a month needs a valid number, days need nothing."""
    return not isinstance(source, MonthToDate) or is_count(source.value)


def _begin(source: Source, poll: Poll) -> Series:
    """Return the state of a series after its first sight; its counter is 0."""
    if isinstance(source, MonthToDate):
        return begin_month(source, poll.now, poll.wall)
    return begin_days(source, poll)


def _advance(series: Series | None, source: Source, poll: Poll) -> tuple[Series, int]:
    """Count a poll in a series, or begin one; return the series and the number of corrections.

    If the source changes between days and months, the series begins again and the counter continues from its value.
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
    """Count a poll in the series of one family of a target, and begin new series.

    Args:
        states: label values → series; changed in place.
        sources: label values → the source of the count.
        now: the platform's time.
        wall: this machine's clock, in unix seconds.

    Returns:
        The number of corrections: days or months whose value fell. Their counters do not change.
    """
    corrections = 0
    of_parts, of_whole = _polls(states.values(), sources, now, wall)
    for labels, source in sources:
        if labels in states or _is_sight(source):
            poll = of_whole if source.is_whole else of_parts
            states[labels], fallen = _advance(states.get(labels), source, poll)
            corrections += fallen
    return corrections


def served_labels(
    states: Mapping[LabelValues, Series], sources: Sequence[tuple[LabelValues, Source]]
) -> tuple[LabelValues, ...]:
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


def _polls(
    states: Iterable[Series], sources: Iterable[tuple[LabelValues, Source]], now: datetime, wall: float
) -> tuple[Poll, Poll]:
    """Return two views of a poll: for the series by action, and for the series of the whole."""
    days = [series for series in states if isinstance(series, DaySeries)]
    wholes = [series for series in days if series.is_whole]
    if not wholes and not any(source.is_whole for _, source in sources):
        plain = Poll(now, wall)
        return plain, plain
    parts = [series for series in days if not series.is_whole]
    relatives = tuple(days)
    oldest = min((day for _, source in sources if isinstance(source, DayBuckets) for day in source.days), default=None)
    return (
        Poll(now, wall, relatives, owed_by(wholes, parts), oldest),
        Poll(now, wall, relatives, owed_by(parts, wholes), oldest),
    )


def to_plain(series: Series) -> list[object]:
    """Convert a series to plain values for a packed row."""
    return ["m", *month_to_plain(series)] if isinstance(series, MonthSeries) else ["d", *days_to_plain(series)]


def from_plain(plain: object) -> Series:
    """Convert the plain values of a packed row to a series.

    Raises:
        ValueError: the row has another form.
    """
    match plain:
        case ["m", *fields]:
            return month_from_plain(list(map(number, fields)))
        case ["d", *fields]:
            return days_from_plain(fields)
    raise ValueError("a series of the state does not have the form that this version writes")
