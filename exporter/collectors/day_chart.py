"""Charts of UTC days: what the metrics of such a chart are made of."""

from collections.abc import Mapping
from datetime import UTC, datetime

from exporter.metric import DayBuckets
from exporter.platform.api.charts import daily

# The ordinal of a UTC day → its count.
Days = Mapping[int, float]


def days_of(chart: Mapping[str, float | None] | None) -> Days | None:
    """A chart's days; None for a chart of which nothing can be read, as for none.

    Raises:
        WrongShape: the buckets are longer than a day.
    """
    days = None if chart is None else daily(chart)
    return None if chart and not days else days


def newest(days: Days | None) -> float | None:
    """The count of a chart's newest day."""
    return days[max(days)] if days else None


def newest_start(days: Days | None) -> float | None:
    """When a chart's newest day began, as unix seconds."""
    return datetime.fromordinal(max(days)).replace(tzinfo=UTC).timestamp() if days else None


def buckets(days: Days | None) -> DayBuckets:
    """A chart's days as a counter's source."""
    return DayBuckets(days or {}, charted=days is not None)
