"""Converts charts to UTC days, for metrics and counters."""

from collections.abc import Mapping
from datetime import UTC, datetime

from exporter.metric import DayBuckets
from exporter.platform.api.charts import daily

# The ordinal of a UTC day → its count.
Days = Mapping[int, float]


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
