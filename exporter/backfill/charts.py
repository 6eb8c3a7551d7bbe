"""What the platform's charts show of a target's past days, asked for in windows as the platform allows."""

from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from exporter.backfill.samples import day_of, midnight
from exporter.collectors import dns_statistics
from exporter.collectors.collector import Collector, Polled
from exporter.metric import DayBuckets, LabelValues
from exporter.platform.api import dns
from exporter.platform.operation import Answer, Caller, Request

# What the platform shows when it is not asked for certain days; that it answers for more at once is not known.
WINDOW_DAYS = 30
# Breaches are shown for these days, today among them, and a day without any is left out.
BREACH_DAYS = 28

SeriesKey = tuple[str, LabelValues]
# Family and label values beyond the target's own → day → count.
Shown = dict[SeriesKey, dict[int, float]]
# Restricts a caller to certain days.
Within = Callable[[Caller], Caller]
Poll = Callable[[Within], Awaitable[Polled]]


def as_it_is(caller: Caller) -> Caller:
    """Ask for the days that the platform shows by itself."""
    return caller


@dataclass(frozen=True, slots=True)
class _Windowed:
    """A caller that asks for the statistics of certain days, so that the collector reads them as it reads its own."""

    caller: Caller
    first: int
    last: int

    async def call(self, request: Request[Any]) -> Answer[Any]:
        """See `exporter.platform.operation.Caller`."""
        if request.operation is dns.STATISTICS:
            # Up to the next midnight: whether the platform takes it for a moment or for a day, the last day is whole.
            query = {**(request.query or {}), "dateFrom": _wire(self.first), "dateTo": _wire(self.last + 1)}
            request = replace(request, query=query)
        return await self.caller.call(request)

    async def find(self, request: Request[Any]) -> Answer[Any]:
        """See `exporter.platform.operation.Caller`."""
        return await self.caller.find(request)


async def days(collector: Collector, poll: Poll, wanted: Collection[int], now: datetime) -> Shown:
    """Read what is shown of the wanted days, and perhaps of others.

    Args:
        collector: whose answers are read.
        poll: polls the target, with a restriction of its calls to certain days.
        wanted: the days, as ordinals.
        now: the time where an answer does not carry it.

    Raises:
        PlatformError: there is no usable answer.
    """
    if not wanted:
        return {}
    if collector is not dns_statistics.COLLECTOR:
        return _breaches(await poll(as_it_is), now)
    shown: Shown = {}
    for first, last in _windows(min(wanted), max(wanted)):
        for key, source in _buckets(await poll(partial(_Windowed, first=first, last=last))):
            held = {day: count for day, count in source.days.items() if first <= day <= last}
            shown.setdefault(key, {}).update(held)
    return shown


def _windows(first: int, last: int) -> Iterator[tuple[int, int]]:
    for begin in range(first, last + 1, WINDOW_DAYS):
        yield begin, min(begin + WINDOW_DAYS - 1, last)


def _breaches(polled: Polled, now: datetime) -> Shown:
    today = day_of(polled.date or now)
    window = dict.fromkeys(range(today - BREACH_DAYS + 1, today + 1), 0.0)
    return {key: {**window, **source.days} for key, source in _buckets(polled) if source.charted}


def _buckets(polled: Polled) -> Iterator[tuple[SeriesKey, DayBuckets]]:
    """The day counters of the polled target."""
    for count in polled.outcomes[0].counts:
        for labels, source in count.sources:
            if isinstance(source, DayBuckets):
                yield (count.info.name, labels), source


def _wire(ordinal: int) -> str:
    return datetime.fromtimestamp(midnight(ordinal) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
