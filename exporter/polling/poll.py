"""Polls a target that is due: makes the calls, counts what came back, and publishes it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from typing import Any

from structlog.typing import FilteringBoundLogger

from exporter.clock import Clocks
from exporter.collectors.bound import bound
from exporter.collectors.collector import Collector, Context, Outcome, Polled, failed
from exporter.counters.ledger import Entry, Ledger
from exporter.exposition.store import GONE, Store
from exporter.log import logger
from exporter.platform.errors import NotAvailable, NotFound, PlatformError
from exporter.platform.http.client import Observer
from exporter.polling.failure_log import FailureLog
from exporter.polling.timetable import Account, DueTimes, KeptDueTimes
from exporter.targets.registry import Registry
from exporter.targets.target import Inventory, PollKey, Target
from exporter.telemetry import Telemetry

# The results that may wait for the ledger at once. While it is slower, workers wait, so that memory has a bound.
MOST_COUNTING = 500
# Tolerance for a late poll: a part of its interval, and the time between two ticks of the scheduler.
UP_SLACK = 1.5
UP_UNEVENNESS = 1.0


@dataclass(frozen=True, slots=True)
class DuePoll:
    """A poll that is due. Times are on the monotonic clock.

    Attributes:
        until: when the next poll of the same target is due.
    """

    collector: Collector
    target: Target
    until: float


class AccountObserver(Observer):
    """Counts the calls of one account.

    Args:
        telemetry: the metrics in which they are counted.
        account: the account's name.
        clock: a monotonic clock in seconds.

    Attributes:
        authenticated: the time of the last authenticated answer, on that clock; None if there was none.
        failed: the time of the last refused or unanswered call, on that clock; None if there was none.
    """

    def __init__(self, telemetry: Telemetry, account: str, clock: Callable[[], float]) -> None:
        self._telemetry = telemetry
        # Finding a series by its labels takes longer than to count in it.
        self._series: Callable[..., Any] = cache(lambda family, *labels: family.labels(account, *labels))
        self._clock = clock
        self.authenticated: float | None = None
        self.failed: float | None = None

    def is_up(self, interval: float, timeout: float) -> bool:
        """Return whether an authenticated answer came within an interval.

        Args:
            interval: seconds between two polls.
            timeout: seconds that an answer may take.
        """
        if self.authenticated is None:
            return False
        # A slow answer may take its timeout; after a refused or lost call, only the tolerance for a late poll is added.
        is_failing = self.failed is not None and self.failed > self.authenticated
        patience = min(timeout, interval + UP_UNEVENNESS) if is_failing else timeout
        return self._clock() - self.authenticated <= interval * UP_SLACK + patience

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Count an attempt of a call, its duration and, if it failed, its reason."""
        self._series(self._telemetry.requests, operation, code).inc()
        self._series(self._telemetry.durations, operation).observe(seconds)
        if reason is not None:
            self._series(self._telemetry.failures, operation, reason).inc()
            # A fault of one resource does not mean that the account is down.
            if not code.startswith(("2", "404")):
                self.failed = self._clock()
        elif code.startswith("2"):
            self.authenticated = self._clock()

    def retried(self, operation: str) -> None:
        """Count a retry of a call."""
        self._series(self._telemetry.retries, operation).inc()

    def unexpected(self, operation: str, field: str) -> None:
        """Count an unknown value of a field."""
        self._series(self._telemetry.unexpected, operation, field).inc()

    def throttled(self, seconds: float) -> None:
        """Count the seconds that calls waited for the account's budget."""
        self._series(self._telemetry.throttled).inc(seconds)


@dataclass(slots=True)
class PollMemory:
    """What is known of polls beyond a reload of the configuration.

    Attributes:
        failures: logs the beginnings and ends of failures.
        durations: collector → duration of its last poll in seconds.
        collectors: the collectors in use, by name.
        accounts: the accounts and databases in use, by their targets' `client_name`.
        unavailable: the targets for which the platform does not have what a collector asks for.
        gone: the targets that no longer exist, as an answer said.
        counting: the successful polls that wait for the ledger; at most one for each target and collector.
        room: how many more may wait.
        discovered: accounts whose first discovery has ended, except those whose key was refused, because the reload may
            change the key.
        due: when each target is due, without the polls that the reload interrupted.
        deferred: the targets, by collector, whose next poll was delayed because the platform asked for it.
    """

    failures: FailureLog
    durations: dict[str, float] = field(default_factory=dict)
    collectors: Mapping[str, Collector] = field(default_factory=dict)
    accounts: Mapping[str, Account] = field(default_factory=dict)
    unavailable: set[PollKey] = field(default_factory=set)
    gone: set[Target] = field(default_factory=set)
    counting: dict[PollKey, asyncio.Task[None]] = field(default_factory=dict)
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_COUNTING))
    discovered: frozenset[str] = frozenset()
    due: KeptDueTimes = field(default_factory=dict)
    deferred: set[PollKey] = field(default_factory=set)

    def forget_removed(self, registry: Registry) -> None:
        """Forget removed targets, so that one that returns is treated as new."""
        self.gone = {target for target in self.gone if target.key in registry.by_key}
        self.unavailable = {key for key in self.unavailable if key.target in registry.by_key}

    def counted(self, key: PollKey, _task: "asyncio.Task[None]") -> None:
        """Make room for another result, when the task of one has ended."""
        del self.counting[key]
        self.room.release()


@dataclass(slots=True, eq=False)
class Polls:
    """Polls targets for the workers.

    `run` makes the calls of a poll and records its failures. What the answer contains is counted and published by
    `_count_and_publish`, in a task of its own, so that no worker waits for a disk.

    Attributes:
        accounts: the accounts and databases, by their targets' `client_name`.
        due_times: when targets are polled next.
        found: takes over what a discovery has found in an account.
        registry: the targets; a removed one is not published.
        store: receives the families and the status of each target.
        ledger: counts the counters before they are published.
        memory: what is known of earlier polls.
        max_label_values: the most label values of a metric for each target.
    """

    accounts: Mapping[str, Account]
    due_times: DueTimes
    found: Callable[[str, Inventory], Awaitable[None]]
    registry: Registry
    store: Store
    ledger: Ledger
    telemetry: Telemetry
    clocks: Clocks
    memory: PollMemory
    max_label_values: int
    _log: FilteringBoundLogger = field(default_factory=logger)

    async def run(self, run: DuePoll) -> None:
        """Poll a target that is due. No exception leaves this method."""
        # While it was queued, the target's name may have become known.
        if (target := self.registry.by_key.get(run.target.key, run.target)) is not run.target:
            run = replace(run, target=target)
        began = self.clocks.monotonic()
        fault = await self._fault_of(run.collector, run.target, self.poll(run, began))
        if fault is not None:
            await self._record(run, failed(run.target, fault), self.clocks.monotonic() - began)

    async def _fault_of(
        self, collector: Collector, target: Target, work: Coroutine[Any, Any, object]
    ) -> PlatformError | None:
        """Do a part of a poll; log an unexpected exception, and return it as the failure of this poll alone."""
        try:
            await work
        except Exception as error:  # noqa: BLE001 - the one boundary: a fault of ours in one poll ends with that poll
            facts = {"collector": collector.name, "target": target.key.label, "error": repr(error)}
            self._log.error("poll broke", **facts, exc_info=True)
            return PlatformError(f"internal error: {type(error).__name__}")
        return None

    async def poll(self, run: DuePoll, began: float) -> Polled:
        """Make the calls of a poll that began at a time, measure the answer, and record the result."""
        collector, target = run.collector, run.target
        account = self.accounts[target.client_name]
        calls = account.client.until(run.until)
        context = Context(calls, self.registry, account.client.present(), partial(self.found, target.account))
        polled = await collector.result(context, target)
        account.capacity.note(collector.name, calls.number, calls.seconds)
        await self._record(run, polled, self.clocks.monotonic() - began)
        return polled

    async def _record(self, run: DuePoll, polled: Polled, seconds: float) -> None:
        """Record the result of a poll for each of its targets, and decide when those that failed are polled again."""
        collector, target = run.collector, run.target
        self.memory.durations[collector.name] = seconds
        self.telemetry.duration.labels(collector.name).set(seconds)
        if collector.discovers:
            self.due_times.ended(collector, target, polled)
        if polled.found is not None:
            await self.found(target.account, polled.found)
        is_own = target.key in self.registry.by_key
        if collector.discovers or not is_own:
            error = polled.unnamed or (None if is_own else polled.error)
            failure = (error.reason, str(error)) if error else None
            self.memory.failures.lists(collector.name, target.account, failure)
        now = polled.date or self.clocks.utc()
        for outcome in polled.outcomes:
            # The target may have been removed while it was polled, and a list contains some that other shards poll.
            is_polled = outcome.target.key in self.registry.by_key
            if not is_polled and (outcome.target == target or not self.registry.admits(outcome.target)):
                continue
            if outcome.error is not None:
                self._fail(collector, outcome, outcome.error, seconds)
                self.due_times.failed(collector, outcome.target, outcome.error)
            else:
                await self._begin_counting(collector, outcome, now, seconds)
                self.due_times.failures.pop(PollKey(outcome.target.key, collector.name), None)

    async def _begin_counting(self, collector: Collector, outcome: Outcome, now: datetime, seconds: float) -> None:
        """Start the task that counts and publishes an outcome, when there is room for it."""
        target, memory = outcome.target, self.memory
        key = PollKey(target.key, collector.name)
        if collector.owns_target:
            memory.gone.discard(target)
        while key in memory.counting:
            await asyncio.wait([memory.counting[key]])
        await memory.room.acquire()
        count = self._count(key, collector, outcome, now, seconds)
        memory.counting[key] = asyncio.create_task(count, name="count")
        memory.counting[key].add_done_callback(partial(memory.counted, key))

    async def _count(self, key: PollKey, collector: Collector, outcome: Outcome, now: datetime, seconds: float) -> None:
        work = self._count_and_publish(key, collector, outcome, now, seconds)
        fault = await self._fault_of(collector, outcome.target, work)
        if fault is not None:
            self._fail(collector, Outcome(outcome.target), fault, seconds)

    async def _count_and_publish(
        self, key: PollKey, collector: Collector, outcome: Outcome, now: datetime, seconds: float
    ) -> None:
        """Count an outcome of a poll, and publish it when what was counted is on disk, or could not be written."""
        name, target = collector.name, outcome.target
        address, limit = self.accounts[target.client_name].client.base_url, self.max_label_values
        bounded = bound(outcome.families, self.store.places(name, target), limit)
        places = tuple((family, values) for family, values in bounded.places if len(values) == limit)
        entry = Entry(key, target.name, self.clocks.wall(), outcome.counts, now, address, limit, places)
        counters = await self.ledger.record(entry)
        bounded = bounded._replace(left_out={**bounded.left_out, **self.ledger.left_out.get(key, {})})
        # While the ledger wrote, the target or the collector may have been removed, or other families exposed.
        is_polled = target.key in self.registry.by_key
        if not is_polled and (target.kind == collector.polls or not self.registry.admits(target)):
            return
        if name not in self.memory.collectors or address != self.memory.accounts[target.client_name].client.base_url:
            return
        lifetime = self.due_times.intervals.lifetime(name, target)
        if target in self.memory.gone and not collector.owns_target:
            # Another collector's call has shown that this resource no longer exists: nothing is published.
            self.store.publish(name, Outcome(target), (), lifetime, duration=seconds, note=GONE)
            return
        status = self.store.find(key)
        if status is not None and not status.up:
            self.memory.failures.recovers(_facts(name, target))
        self.memory.unavailable.discard(key)
        self.store.publish(name, outcome, counters, lifetime, duration=seconds, bounded=bounded)

    def _fail(self, collector: Collector, outcome: Outcome, error: PlatformError, seconds: float) -> None:
        """Record a failure; families of earlier polls stay until they expire, unless the outcome has some."""
        name, target = collector.name, outcome.target
        facts, lifetime = _facts(name, target), self.due_times.intervals.lifetime(name, target)
        if isinstance(error, NotAvailable):
            # The zone does not have this resource: not a failure, but an answer without samples, which is logged once.
            key = PollKey(target.key, name)
            if key not in self.memory.unavailable:
                self.memory.unavailable.add(key)
                self._log.info("not available", **facts, error_key=error.error_key)
            self.store.publish(name, Outcome(target), (), lifetime, duration=seconds, note=str(error))
            return
        status = self.store.find(PollKey(target.key, name))
        # Its values may have expired since a poll that succeeded.
        if status is None or status.up or not status.reason:
            self.memory.failures.fails(facts, error.reason, str(error))
        self.store.fail(name, outcome, lifetime, error.reason, str(error), duration=seconds)
        if isinstance(error, NotFound):
            self.store.clear(name, target)
            if collector.owns_target:
                self.memory.gone.add(target)
                for other in self.memory.collectors.values():
                    if other.polls == target.kind:
                        self.store.clear(other.name, target)


def _facts(collector: str, target: Target) -> dict[str, str]:
    return {"collector": collector, "account": target.account, "target": target.key.label, "name": target.name}
