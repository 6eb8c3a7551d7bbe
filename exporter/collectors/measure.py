"""Computes families and counts from a payload, as the metrics declare, and UTC days from a chart."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from exporter.metric import Count, DayBuckets, Family, FamilyInfo, LabelValues, Metric, Sample, label_value
from exporter.platform.api.charts import daily
from exporter.platform.errors import OutOfRange, WrongShape
from exporter.platform.wire import UNKNOWN, known

P = TypeVar("P")
# The ordinal of a UTC day → its count.
Days = Mapping[int, float]


def measure(
    labels: LabelValues, infos: Sequence[FamilyInfo], metrics: Sequence[Metric[P]], payload: P, account: str = ""
) -> tuple[tuple[Family, ...], tuple[Count, ...]]:
    """Turn a payload into the families and counts of one target: all of them, or an error.

    Args:
        labels: the values of the target's labels.
        infos: the family of each metric, in the same order.
        metrics: the declarations.
        payload: the platform's answer.
        account: the target's account.

    Raises:
        WrongShape: a value cannot be read from this payload; OutOfRange where it is too large.
    """
    families: list[Family] = []
    counts: list[Count] = []
    for info, metric in zip(infos, metrics, strict=True):
        try:
            if metric.counted is not None:
                counted = metric.counted(payload)
                if counted is not None:
                    sources = counted.items() if isinstance(counted, Mapping) else [((), counted)]
                    found = tuple((_values(key), source) for key, source in sources)
                    counts.append(Count(info, labels, found, metric.declared(account), metric.complete))
                continue
            samples = tuple(_samples(labels, metric, payload))
        except (ValueError, OverflowError) as error:
            fault = OutOfRange if isinstance(error, OverflowError) else WrongShape
            raise fault(f"{metric.name} cannot be read from the answer: {error}") from error
        if samples:
            families.append(Family(info, samples))
    return tuple(families), tuple(counts)


def _values(key: str | LabelValues) -> LabelValues:
    return (label_value(key),) if isinstance(key, str) else tuple(label_value(part) for part in key)


def _samples(labels: LabelValues, metric: Metric[P], payload: P) -> Iterable[Sample]:
    value = metric.value(payload) if metric.value is not None else None
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield Sample(labels, _finite(value))
        return
    seen: set[LabelValues] = set()
    for key, number in value.items():
        values = _values(key)
        # Cutting long label values can make two of them equal. Only the first is kept, because a series must be unique.
        if number is None or values in seen:
            continue
        seen.add(values)
        yield Sample(labels + values, _finite(number))


def _finite(number: float) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise OverflowError(f"{value:g}, expected a finite number")
    return value


def enum_samples(value: int | None, names: Mapping[int, str]) -> dict[str, float]:
    """Return 1 for the name of an enum's value and 0 for its other names; nothing if there is no value."""
    current = known(value, names)
    return {} if current is None else {name: float(name == current) for name in (*names.values(), UNKNOWN)}


def days_of(chart: Mapping[str, float | None] | None) -> Days | None:
    """Return a chart's days; None if there is no chart, or if none of its buckets can be read.

    Raises:
        WrongShape: the buckets are longer than a day.
    """
    days = None if chart is None else daily(chart)
    return None if chart and not days else days


def newest(days: Days | None) -> float | None:
    """Return the count of a chart's newest day."""
    return days[max(days)] if days else None


def newest_start(days: Days | None) -> float | None:
    """Return the beginning of a chart's newest day, in unix seconds."""
    return datetime.fromordinal(max(days)).replace(tzinfo=UTC).timestamp() if days else None


def buckets(days: Days | None) -> DayBuckets:
    """Return a chart's days as the source of a counter."""
    return DayBuckets(days or {}, charted=days is not None)
