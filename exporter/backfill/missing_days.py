"""Reads from the platform's charts the counts of days that the daemon's counters leave out.

The counters of the daemon are called live counters here. A live counter begins on a certain UTC day. Of an earlier
day, it contains only what the platform added to the count of that day afterwards.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import chain
from typing import Any

from exporter.backfill.openmetrics import PastSeries
from exporter.collectors import dns_statistics, shield_rate_limits
from exporter.collectors.collector import Collector, Context, PollResult, TargetCollector
from exporter.counters.counting import CountedFamily, Series, oldest_day
from exporter.counters.days import DaySeries
from exporter.counters.rows import StateRow, unpack
from exporter.label_values import label_value
from exporter.metric import DayBuckets, FamilyInfo, Kind, LabelValues, Source
from exporter.platform.api import dns
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Client
from exporter.platform.operation import Answer, Caller, Request
from exporter.targets.registry import Registry
from exporter.targets.target import Inventory, PollKey, Target

# The collectors with charts of days, except the collectors of configured endpoints.
BUILT_IN = (dns_statistics.COLLECTOR, shield_rate_limits.COLLECTOR)
# The most days that a request for DNS statistics asks for. By default, the platform shows 30 whole days before today;
# it is unknown whether it can show more.
WINDOW_DAYS = 30
# The chart of breaches covers this many days, including today, and omits days without a breach.
BREACH_DAYS = 28
# For how many seconds failed calls of a poll may be repeated. The wait for the budget is a part of this time.
RETRY_SECONDS = 600.0

# A counter's family, and its label values without the target's → ordinal of a UTC day → the count in the chart.
Shown = dict[tuple[FamilyInfo, LabelValues], dict[int, float]]


def counters_of(collector: TargetCollector[Any]) -> tuple[FamilyInfo, ...]:
    """Return the families of a collector that are counters."""
    return tuple(info for info in collector.families if info.kind is Kind.COUNTER)


@dataclass(frozen=True, slots=True)
class Windowed:
    """A caller that requests DNS statistics for `days` (ordinals), and passes on other requests unchanged."""

    caller: Caller
    days: range

    async def call(self, request: Request[Any]) -> Answer[Any]:
        """Send a request, and return the answer; raises PlatformError."""
        if request.operation is dns.STATISTICS:
            # The window ends at the midnight after the last day. So the last day is included even if the platform
            # ignores the time of day.
            begin, end = date.fromordinal(self.days.start), date.fromordinal(self.days.stop)
            window = {"dateFrom": f"{begin}T00:00:00Z", "dateTo": f"{end}T00:00:00Z"}
            request = replace(request, query={**(request.query or {}), **window})
        return await self.caller.call(request)


@dataclass(frozen=True, slots=True)
class AccountCharts:
    """Reads the charts of one account's targets.

    Attributes:
        registry: the targets, also of other accounts; `discover` adds the targets that it finds.
        rows: the stored state of the live counters.
        failures: the messages about lists and targets that could not be read.
    """

    account: str
    client: Client
    registry: Registry
    rows: Mapping[PollKey, StateRow]
    failures: list[str] = field(default_factory=list)

    @property
    def today(self) -> int:
        """The ordinal of the current UTC day, by the platform's time or, if that is unknown, this machine's."""
        return self.client.utc_now().toordinal()

    async def discover(self, collectors: Iterable[Collector]) -> None:
        """Poll the collectors that discover targets; the registry gets the targets, and `failures` the errors."""
        accounts = self.registry.targets("account", every_shard=True)  # another shard may poll the account
        account = next(target for target in accounts if target.account == self.account)
        for collector in collectors:
            if collector.discovers:
                polled = await self._poll(collector, account)
                # A naming error counts, too: without the name, the history may have other labels than the live series.
                fault = polled.error or polled.naming_error
                if fault is not None:
                    self.failures.append(f"{self.account}: a list of resources is incomplete: {fault}")

    async def read(self, collectors: Iterable[TargetCollector[Any]], days: range) -> list[PastSeries]:
        """Return the counts of `days` (ordinals) that the charts show and the live counters do not contain.

        Reads the charts of the account's targets in the registry. An error of a target is added to `failures`.
        """
        # Not all targets at once: `RETRY_SECONDS` would pass while most of the polls wait for the budget.
        in_flight = asyncio.Semaphore(self.client.rate_limiter.max_in_flight)
        reading = [
            self._try_read(in_flight, collector, target, days)
            for collector in collectors
            for target in self.registry.polled(self.account, collector.polls).values()
        ]
        return list(chain.from_iterable(await asyncio.gather(*reading)))

    async def _try_read(
        self, in_flight: asyncio.Semaphore, collector: TargetCollector[Any], target: Target, days: range
    ) -> list[PastSeries]:
        async with in_flight:
            try:
                return await self._past_series(collector, target, days)
            except PlatformError as error:
                fault = str(error)
            except ValueError as error:
                fault = f"the stored row is damaged: {error}"
        name = f" ({target.name})" if target.name else ""
        self.failures.append(f"{self.account}: {target.key.label}{name}: {fault}")
        return []

    async def _past_series(self, collector: TargetCollector[Any], target: Target, days: range) -> list[PastSeries]:
        row = self.rows.get(PollKey(target.key, collector.name))
        live = {} if row is None else unpack(row.data)
        first_live_days = {info: self._first_day(live.get(info.name)) for info in counters_of(collector)}
        # On the latest of these days, all live counters of the target have begun, so only earlier days are read.
        days_to_read = range(days.start, min(days.stop, max(first_live_days.values())))
        shown = await self._read_charts(collector, target, days_to_read)
        # The live series are labelled with the name in the row. The labels need no payload, only the target.
        named = target if row is None else replace(target, name=row.name)
        target_labels = tuple(label_value(label.value(named, None)) for label in collector.labels)
        past: list[PastSeries] = []
        for (info, own_labels), counts in shown.items():
            family = live.get(info.name)
            series = None if family is None else family.series.get(own_labels)
            kept = {day: _uncounted(series, day, count) for day, count in counts.items() if day < first_live_days[info]}
            if kept:
                past.append(PastSeries(info, target_labels + own_labels, kept))
        return past

    def _first_day(self, live: CountedFamily | None) -> int:
        """Return the ordinal of the day on which a live counter began; today if the state does not have the counter."""
        if live is None:
            return self.today
        # `live.full_from` alone is not enough, because it may be moved to a later day when a series is dropped.
        first_days = [series.first_day for series in live.series.values() if isinstance(series, DaySeries)]
        return min([live.full_from, *first_days])

    async def _read_charts(self, collector: TargetCollector[Any], target: Target, days: range) -> Shown:
        # Only DNS statistics can be requested for certain days; the days of another chart are read with one poll.
        size = WINDOW_DAYS if collector is dns_statistics.COLLECTOR else max(1, len(days))  # `range` refuses the step 0
        shown: Shown = {}
        for begin in range(0, len(days), size):
            window = days[begin : begin + size]
            polled = await self._poll(collector, target, window)
            if polled.error is not None:
                raise polled.error
            outcome_of_target, *_ = polled.outcomes
            for counter in outcome_of_target.counts:
                oldest = oldest_day(dict(counter.sources))
                for own_labels, source in counter.sources:
                    ended = self._ended_days(collector, source, window, oldest)
                    shown.setdefault((counter.info, own_labels), {}).update(ended)
        return shown

    def _ended_days(
        self, collector: TargetCollector[Any], source: Source, window: range, oldest: int
    ) -> dict[int, float]:
        if not isinstance(source, DayBuckets):
            return {}
        whole = self._whole_days(collector, source, oldest)
        return {day: count for day, count in whole.items() if day in window and day < self.today}

    def _whole_days(self, collector: TargetCollector[Any], source: DayBuckets, oldest: int) -> Mapping[int, float]:
        """Return ordinal → count of the days that a chart covers from their beginning; today may be one of them."""
        if collector is dns_statistics.COLLECTOR:
            # The requested window begins at midnight (`Windowed`).
            return source.days
        if collector is shield_rate_limits.COLLECTOR:
            covered = range(self.today - BREACH_DAYS + 1, self.today) if source.has_chart else ()
            # A day that the chart omits has no breaches.
            return {**dict.fromkeys(covered, 0.0), **source.days}
        # The window of a configured endpoint may begin in the middle of the oldest day that the family has.
        return {day: count for day, count in source.days.items() if day > oldest}

    async def _poll(self, collector: Collector, target: Target, days: range | None = None) -> PollResult:
        """Poll a target once. DNS statistics are requested for the days; if `days` is None, for the default window."""
        calls = self.client.calls_until(self.client.clocks.monotonic() + RETRY_SECONDS)
        caller = calls if days is None else Windowed(calls, days)
        context = Context(caller, self.registry, self.client.utc_now(), self._apply_found)
        return await collector.try_poll(context, target)

    async def _apply_found(self, found: Inventory) -> None:
        self.registry.apply(self.account, found)


def _uncounted(series: Series | None, day: int, count: float) -> float:
    """Return what the live counter lacks of a day's count: the baseline, or the whole count if none is known."""
    baseline = series.baseline(day) if isinstance(series, DaySeries) else None
    # After a correction, the count may be less than the baseline.
    return count if baseline is None else min(count, baseline)
