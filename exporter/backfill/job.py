"""Writes the history of the day counters: the days that the platform shows and that the live counters exclude."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial

from exporter.backfill import charts
from exporter.backfill.baselines import BaselineError, Baselines, Beginning
from exporter.backfill.output import RefusedError, Spool
from exporter.backfill.samples import Span, day_of, lines, points
from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.collectors.collector import Collector, Context, Polled
from exporter.metric import label_value
from exporter.platform.errors import CredentialError, NotAvailable, PlatformError, Unauthorized
from exporter.platform.http.client import Client
from exporter.targets.registry import Registry
from exporter.targets.target import Target

# The time limit of a call, including retries and the wait for the budget.
CALL_SECONDS = 600.0
ATTEMPTS = 3
FIRST_WAIT = 5.0
LONGEST_WAIT = 300.0
DEFAULT_DAYS = 30

Work = tuple[charts.History, Target]


@dataclass(frozen=True, slots=True)
class Failure:
    """A target or an account that could not be read."""

    target: Target
    reason: str


@dataclass(slots=True)
class Report:
    """The progress and the result of a backfill.

    Attributes:
        done: how many targets are finished, with or without success, in this run or an earlier one.
        resumed: how many targets an earlier run finished.
        live: how many targets were counted live before the span began, so that there is nothing to add.
        failures: what could not be read.
        unknown: requested zones that no selected account has.
    """

    span: Span
    targets: int = 0
    done: int = 0
    resumed: int = 0
    live: int = 0
    failures: list[Failure] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Selected:
    """Selects targets.

    Attributes:
        accounts: names of accounts; empty for all.
        zones: ids or domains of DNS zones; empty for all.
    """

    accounts: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()

    def wants(self, target: Target) -> bool:
        """Return whether a target is selected."""
        if self.accounts and target.account not in self.accounts:
            return False
        return not self.zones or (target.kind == "dns_zone" and bool({target.id, target.name} & self.zones))


@dataclass(slots=True)
class Backfill:
    """Writes the history of all selected targets.

    Attributes:
        registry: the targets; discovery fills it.
        labels: labels that are added to every series.
        step: milliseconds between samples: one of `samples.STEPS`.
        progressed: called after each target.
        lists: the collectors that discover targets of configured endpoints.
    """

    registry: Registry
    clients: Mapping[str, Client]
    baselines: Baselines
    labels: Mapping[str, str]
    step: int
    selected: Selected
    clocks: Clocks
    progressed: Callable[[Report], None]
    histories: Sequence[charts.History] = charts.BUILT_IN
    lists: Sequence[Collector] = ()
    # By account and collector, because a key may have access to one part of the platform and not to another.
    _barred: dict[tuple[str, str], PlatformError] = field(default_factory=dict)
    _failures: list[Failure] = field(default_factory=list)
    _today: dict[str, int] = field(default_factory=dict)

    async def survey(self, first: int | None, last: int | None) -> Span:
        """Discover the targets, and return the days of the history by the platform's clock: by default 30 until today.

        Raises RefusedError if a day is in the future.
        """
        await asyncio.gather(*(self._discover(name) for name in self._accounts()))
        today = max(self._today.values(), default=day_of(self.clocks.utc()))
        end = today if last is None else last
        span = Span(end - DEFAULT_DAYS + 1 if first is None else first, end)
        if end > today or span.first > today:
            raise RefusedError(f"{span} reaches into the future: the platform has {date.fromordinal(today)}")
        return span

    def _accounts(self) -> list[str]:
        return [name for name in self.clients if not self.selected.accounts or name in self.selected.accounts]

    async def _discover(self, account: str) -> None:
        """Discover the targets of an account, and which day it is by the platform's clock."""
        targets = [target for target in self.registry.targets("account") if target.account == account]
        works = [(one, target) for one in (discovery.COLLECTOR, *self.lists) for target in targets if one.wants(target)]
        for collector, target in works:
            # After an error, too, these collectors return what they found.
            polled = await self._poll(collector, target)
            if polled.found is not None:
                self.registry.apply(account, polled.found)
            if polled.date is not None:
                self._today[account] = day_of(polled.date)
            if polled.error is not None:
                self._failures.append(Failure(target, f"the list of resources is incomplete: {polled.error}"))
        probe = next((work for work in self._chosen() if work[1].account == account), None)
        if account not in self._today and probe is not None:
            # An error is reported when the target itself is read.
            with suppress(PlatformError):
                polled = await self._poll(probe[0].collector, probe[1])
                if polled.date is not None:
                    self._today[account] = day_of(polled.date)

    async def run(self, span: Span, spool: Spool) -> Report:
        """Write the history of every target; a failure of one does not affect the others. Raises OSError."""
        report = Report(span, failures=list(self._failures))
        chosen = list(self._chosen())
        report.targets = len(chosen)
        report.unknown = sorted(
            self.selected.zones - {name for _, target in chosen for name in (target.id, target.name)}
        )
        open_work = [work for work in chosen if _mark(*work) not in spool.done]
        report.resumed = report.done = len(chosen) - len(open_work)
        tasks = []
        for account in self._accounts():
            own = iter([work for work in open_work if work[1].account == account])
            workers = self.clients[account].rate_limiter.max_in_flight
            tasks += [asyncio.create_task(self._work(own, spool, report)) for _ in range(workers)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for (account, name), error in self._barred.items():
            report.failures.append(Failure(Target(account, "account", account), f"{name}: {error}"))
        return report

    def _chosen(self) -> Iterator[Work]:
        for history in self.histories:
            for target in self.registry.targets(history.collector.polls):
                if self.selected.wants(target):
                    yield history, target

    async def _work(self, works: Iterator[Work], spool: Spool, report: Report) -> None:
        for history, target in works:
            part = (target.account, history.collector.name)
            try:
                if part not in self._barred:
                    await self._write(history, target, spool, report)
            except (Unauthorized, CredentialError) as error:
                self._barred[part] = error
            except (PlatformError, BaselineError) as error:
                report.failures.append(Failure(target, str(error)))
            report.done += 1
            self.progressed(report)

    async def _write(self, history: charts.History, target: Target, spool: Spool, report: Report) -> None:
        try:
            beginning, shown = await self._read(history, target, report.span)
        except NotAvailable:
            # The zone does not have this resource, so it has no history of it. This is not a failure.
            spool.add(_mark(history, target), {}, 0)
            return
        span = report.span
        if beginning is None:
            # Without a ledger, the part of today that a live counter will count is unknown.
            span = Span(span.first, min(span.last, self._day_of(target.account) - 1))
        elif beginning.series and all(series.first_day < span.first for series in beginning.series.values()):
            report.live += 1
        named = target if beginning is None else replace(target, name=beginning.name)
        infos = {info.name: info for info in history.collector.families}
        own = tuple(label_value(label.value(named, None)) for label in history.collector.labels)
        parts: dict[str, str] = {}
        samples = 0
        counted = shown if beginning is None else beginning.series
        for family, labels in sorted(key for key in counted if key[0] in infos):
            series = None if beginning is None else beginning.series[family, labels]
            past = points(series, shown.get((family, labels), {}), span, self.step)
            samples += len(past)
            text = "".join(lines(infos[family], self.labels, own + labels, past))
            parts[family] = parts.get(family, "") + text
        spool.add(_mark(history, target), parts, samples)

    async def _read(self, history: charts.History, target: Target, span: Span) -> tuple[Beginning | None, charts.Shown]:
        """Return where the live counters begin, and the platform's counts of earlier days that the ledger lacks."""
        account, collector = target.account, history.collector
        beginning = await self.baselines.of(collector, target, lambda: self._poll(collector, target))
        if beginning is None:
            wanted = set(range(span.first, min(span.last, self._day_of(account) - 1) + 1))
        else:
            wanted = {
                day
                for series in beginning.series.values()
                for day in range(span.first, min(span.last, series.first_day - 1) + 1)
                if series.uncounted(day) is None
            }
        shown = await charts.days(history, partial(self._poll, collector, target), wanted, self.clocks.utc())
        return beginning, {key: {day: held[day] for day in held if day in wanted} for key, held in shown.items()}

    async def _poll(
        self, collector: Collector, target: Target, span: Span | None = None, present: datetime | None = None
    ) -> Polled:
        """Poll a target, for the days of a span or as if it were another time; repeat it where that may help."""
        wait = FIRST_WAIT
        attempt = 0
        while True:
            attempt += 1
            calls = self.clients[target.account].until(self.clocks.monotonic() + CALL_SECONDS)
            caller = calls if span is None else charts.Windowed(calls, span)
            polled = await collector.result(Context(caller, self.registry, present or self.clocks.utc()), target)
            error = polled.error
            if error is None or polled.found is not None:
                return polled
            if attempt == ATTEMPTS or not error.retryable:
                raise error
            await self.clocks.sleep(min(LONGEST_WAIT, max(wait, error.retry_after or 0.0)))
            wait *= 2

    def _day_of(self, account: str) -> int:
        return self._today.get(account, day_of(self.clocks.utc()))


def _mark(history: charts.History, target: Target) -> str:
    return f"{history.collector.name}|{target.account}|{target.key.label}"
