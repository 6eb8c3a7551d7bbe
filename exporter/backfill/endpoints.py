"""Finds which counters of configured endpoints have a history, and how its days are requested."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from exporter.backfill.charts import Asking, History
from exporter.collectors.collector import TargetCollector
from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.collectors.endpoints.path import Path


def history_of(endpoint: Endpoint, collector: TargetCollector[Any]) -> History | None:
    """Return how the days of an endpoint's charts are requested; None if it has no charts or no past days.

    A path with dates relative to the present is requested as on an earlier day.

    Args:
        endpoint: the endpoint.
        collector: the collector of the endpoint.
    """
    if not any(metric.days for metric in endpoint.metrics) or _names_one_day(endpoint.path):
        return None
    if not endpoint.path.days_ago:
        return History(collector)
    newest = _newest(endpoint.path)

    def asking(_first: int, last: int) -> Asking:
        # The end is the next midnight, which includes the whole last day, whether the platform reads it as a time or a
        # date.
        return Asking(now=datetime.fromordinal(last + 1 + newest).replace(tzinfo=UTC))

    return History(collector, max(endpoint.path.days_ago) - newest, asking)


def limits_of(endpoint: Endpoint) -> Iterator[str]:
    """Yield a sentence for the counters of an endpoint that have no history or only a part, with the reason."""
    charted = ", ".join(metric.name for metric in endpoint.metrics if metric.days)
    monthly = ", ".join(metric.name for metric in endpoint.metrics if metric.month)
    if charted and _names_one_day(endpoint.path):
        yield f"no history of {charted}: the path names one day, and no span such as {{days_ago:30}} to {{today}}"
    elif charted and not endpoint.path.days_ago:
        days = "only the days in the answer, because the path has no dates such as {days_ago:30}"
        yield f"of {charted}, the history has {days}"
    if monthly:
        yield f"no history of {monthly}: a month-to-date value has no past days"


def _newest(path: Path) -> int:
    """Return how many days ago the newest day of a path is; 0 if the path does not name an end."""
    return 0 if path.names_today or len(path.days_ago) == 1 else min(path.days_ago)


def _names_one_day(path: Path) -> bool:
    """Return whether a path names a single day and not a span of days."""
    return max(path.days_ago, default=0) <= _newest(path) if path.names_today or path.days_ago else False
