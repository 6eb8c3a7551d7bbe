"""Requests the past days of a target from the platform's charts, in windows that the platform allows."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from exporter.backfill.samples import Span, day_of, midnight
from exporter.collectors import dns_statistics, shield_rate_limits
from exporter.collectors.collector import Polled, TargetCollector
from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.collectors.endpoints.path import Path
from exporter.metric import DayBuckets, FamilyInfo, Kind, LabelValues
from exporter.platform.api import dns
from exporter.platform.operation import Answer, Caller, Request

# The platform's charts show this many days by default. It is unknown whether they can show more.
WINDOW_DAYS = 30
# The map of breaches covers this many days, including today; days without a breach are missing.
BREACH_DAYS = 28

SeriesKey = tuple[str, LabelValues]
# Family and label values beyond the target's own → day → count.
Shown = dict[SeriesKey, dict[int, float]]


@dataclass(frozen=True, slots=True)
class History:
    """How the past days of a collector's counters are requested.

    Attributes:
        window_days: how many days one call can request; 0 if a call cannot choose its days.
        zero_days: a missing day counts 0 if it is one of the last `zero_days` days. Any other missing
            day is unknown.
        newest: where dates in the path are relative to the present, how many days ago the newest day is. Such a path
            is requested as on an earlier day.
    """

    collector: TargetCollector[Any]
    window_days: int = 0
    zero_days: int = 0
    newest: int | None = None


@dataclass(frozen=True, slots=True)
class Windowed:
    """A caller that adds certain days to requests for statistics; the collector reads the answer as usual."""

    caller: Caller
    span: Span

    async def call(self, request: Request[Any]) -> Answer[Any]:
        """Send a request; statistics are requested for the days of the history."""
        if request.operation is dns.STATISTICS:
            # The end is the next midnight, which includes the whole last day, whether the platform reads it as a time
            # or a date.
            query = {**(request.query or {}), "dateFrom": _wire(self.span.first), "dateTo": _wire(self.span.last + 1)}
            request = replace(request, query=query)
        return await self.caller.call(request)


# Polls a target, for the days of a span or as if it were another time.
Poll = Callable[[Span | None, datetime | None], Awaitable[Polled]]

# The collectors of the catalogue that have a history.
BUILT_IN = (
    History(dns_statistics.COLLECTOR, WINDOW_DAYS),
    History(shield_rate_limits.COLLECTOR, zero_days=BREACH_DAYS),
)


def history_of(endpoint: Endpoint, collector: TargetCollector[Any]) -> History | None:
    """Return how the days of an endpoint's charts are requested; None if it has no charts or no past days."""
    if not any(metric.days for metric in endpoint.metrics) or _names_one_day(endpoint.path):
        return None
    if not endpoint.path.days_ago:
        return History(collector)
    newest = _newest(endpoint.path)
    return History(collector, max(endpoint.path.days_ago) - newest, newest=newest)


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


def families(histories: Iterable[History]) -> tuple[FamilyInfo, ...]:
    """Return the counters that have a history."""
    return tuple(info for one in histories for info in one.collector.families if info.kind is Kind.COUNTER)


async def days(history: History, poll: Poll, wanted: Collection[int], now: datetime) -> Shown:
    """Return what the platform shows of the wanted days (ordinals), and perhaps of others; raises PlatformError.

    `now` is the time for answers without a date.
    """
    if not wanted:
        return {}
    if not history.window_days:
        return _shown_by_itself(await poll(None, None), history.zero_days, now)
    shown: Shown = {}
    for first in range(min(wanted), max(wanted) + 1, history.window_days):
        last = min(first + history.window_days - 1, max(wanted))
        if history.newest is None:
            polled = await poll(Span(first, last), None)
        else:
            # As above, the end is the next midnight.
            polled = await poll(None, datetime.fromordinal(last + 1 + history.newest).replace(tzinfo=UTC))
        for key, source in _buckets(polled):
            held = {day: count for day, count in source.days.items() if first <= day <= last}
            shown.setdefault(key, {}).update(held)
    return shown


def _shown_by_itself(polled: Polled, zero_days: int, now: datetime) -> Shown:
    today = day_of(polled.date or now)
    zeros = dict.fromkeys(range(today - zero_days + 1, today + 1), 0.0)
    charts = {key: source.days for key, source in _buckets(polled) if source.charted}
    if zero_days:
        return {key: {**zeros, **shown} for key, shown in charts.items()}
    # The oldest day may be incomplete, because the window can begin in the middle of it.
    return {key: {day: shown[day] for day in sorted(shown)[1:]} for key, shown in charts.items()}


def _buckets(polled: Polled) -> Iterator[tuple[SeriesKey, DayBuckets]]:
    """Yield the day counters of the polled target."""
    for count in polled.outcomes[0].counts:
        for labels, source in count.sources:
            if isinstance(source, DayBuckets):
                yield (count.info.name, labels), source


def _wire(ordinal: int) -> str:
    return datetime.fromtimestamp(midnight(ordinal) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
