"""Requests the past days of a target from the platform's charts, in windows that the platform allows."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from exporter.backfill.samples import day_of, midnight
from exporter.collectors import dns_statistics, shield_rate_limits
from exporter.collectors.collector import Polled, TargetCollector
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


def unchanged(caller: Caller) -> Caller:
    """Return the caller unchanged, for the days that the platform shows by default."""
    return caller


@dataclass(frozen=True, slots=True)
class Asking:
    """How a poll requests certain days.

    Attributes:
        within: restricts the calls to these days.
        now: the time that the poll uses as the present, from which a path computes its dates; None for the real one.
    """

    within: Callable[[Caller], Caller] = unchanged
    now: datetime | None = None


Poll = Callable[[Asking], Awaitable[Polled]]


@dataclass(frozen=True, slots=True)
class History:
    """How the past days of a collector's counters are requested.

    Attributes:
        collector: the collector whose series get a history.
        window_days: how many days one call can request; 0 if a call cannot choose its days.
        asking: returns how the days of a window are requested, from its first and last day.
        zero_days: a missing day counts 0 if it is one of the last `zero_days` days. Any other missing
            day is unknown.
    """

    collector: TargetCollector[Any]
    window_days: int = 0
    asking: Callable[[int, int], Asking] = lambda _first, _last: Asking()
    zero_days: int = 0


@dataclass(frozen=True, slots=True)
class _Windowed:
    """A caller that adds certain days to requests for statistics; the collector reads the answer as usual."""

    caller: Caller
    first: int
    last: int

    async def call(self, request: Request[Any]) -> Answer[Any]:
        """Send a request; statistics are requested for the days of the history."""
        if request.operation is dns.STATISTICS:
            # The end is the next midnight, which includes the whole last day, whether the platform reads it as a time
            # or a date.
            query = {**(request.query or {}), "dateFrom": _wire(self.first), "dateTo": _wire(self.last + 1)}
            request = replace(request, query=query)
        return await self.caller.call(request)


# The collectors of the catalogue that have a history.
BUILT_IN = (
    History(
        dns_statistics.COLLECTOR,
        WINDOW_DAYS,
        lambda first, last: Asking(within=lambda caller: _Windowed(caller, first, last)),
    ),
    History(shield_rate_limits.COLLECTOR, zero_days=BREACH_DAYS),
)


def families(histories: Iterable[History]) -> tuple[FamilyInfo, ...]:
    """Return the counters that have a history."""
    return tuple(info for one in histories for info in one.collector.families if info.kind is Kind.COUNTER)


async def days(history: History, poll: Poll, wanted: Collection[int], now: datetime) -> Shown:
    """Return what the platform shows of the requested days; the answer may hold other days, too.

    Args:
        history: the collector, and how its days are requested.
        poll: polls the target.
        wanted: the days, as ordinals.
        now: the time, for answers without a date.

    Raises:
        PlatformError: there is no usable answer.
    """
    if not wanted:
        return {}
    if not history.window_days:
        return _shown_by_itself(await poll(Asking()), history.zero_days, now)
    shown: Shown = {}
    for first, last in _windows(min(wanted), max(wanted), history.window_days):
        for key, source in _buckets(await poll(history.asking(first, last))):
            held = {day: count for day, count in source.days.items() if first <= day <= last}
            shown.setdefault(key, {}).update(held)
    return shown


def _windows(first: int, last: int, length: int) -> Iterator[tuple[int, int]]:
    for begin in range(first, last + 1, length):
        yield begin, min(begin + length - 1, last)


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
