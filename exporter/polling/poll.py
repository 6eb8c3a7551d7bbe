"""Runs polls, from the calls to the commit of the counters and the publication of the families."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from structlog.typing import FilteringBoundLogger

from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.collectors.collector import Collector, Context, Outcome, PollResult
from exporter.counters.ledger import Counters, Ledger, PollRecord
from exporter.exposition.store import GONE, Store
from exporter.label_values import limit_gauges
from exporter.log import logger
from exporter.platform.errors import NotFound, PlatformError
from exporter.polling import ticks
from exporter.polling.failure_log import FailureLog
from exporter.polling.schedule import TICK_SECONDS, RunningPoll, Schedule
from exporter.targets.registry import Registry
from exporter.targets.target import Inventory, PollKey, Target
from exporter.telemetry import Telemetry


@dataclass(slots=True, eq=False)
class Poller:
    """Begins the polls that are due, and runs them.

    Attributes:
        max_label_values: the highest number of label values that a metric of one target may have.
    """

    schedule: Schedule
    registry: Registry
    store: Store
    ledger: Ledger
    telemetry: Telemetry
    clocks: Clocks
    failures: FailureLog
    max_label_values: int = 1000
    _scheduler: AsyncIOScheduler = field(init=False)
    _log: FilteringBoundLogger = field(default_factory=logger)

    def __post_init__(self) -> None:
        self._scheduler = ticks.scheduler(self.clocks.monotonic)

    def start(self) -> None:
        """Start ticking: once a second, the polls that are due begin."""
        self._scheduler.add_job(self.tick, ticks.Every(TICK_SECONDS))
        self._scheduler.start()

    async def stop(self) -> None:
        """Stop ticking, cancel the running polls, and wait until they have ended."""
        # Without jobs, the scheduler does nothing more. `shutdown` would cancel a submitted tick, and log a traceback.
        self._scheduler.remove_all_jobs()
        tasks = self.schedule.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def tick(self) -> None:
        """Refresh the schedule, and begin the polls that are due."""
        # A coroutine, because APScheduler runs other functions on threads.
        self.schedule.refresh()
        for client_name in self.schedule.accounts:
            self._begin_due(client_name)

    def _begin_due(self, client_name: str) -> None:
        while (poll := self.schedule.take(client_name)) is not None:
            poll.task = asyncio.create_task(self.poll(poll), name="poll")
            poll.task.add_done_callback(partial(self._ended, poll))

    def _ended(self, poll: RunningPoll, _task: "asyncio.Task[None]") -> None:
        # Also called if the task was cancelled before its beginning: a `finally` in `poll` would not run then.
        self.schedule.ended(poll)
        self._begin_due(poll.target.client_name)

    async def poll(self, poll: RunningPoll) -> None:
        """Make the calls of a poll; then count and publish its outcomes."""
        began = self.clocks.monotonic()
        try:
            polled = await self._fetch(poll)
        except Exception as error:  # noqa: BLE001 - the boundary of a poll
            fault = self._log_unexpected(poll, poll.target, error)
            if discovery.has_status(poll.plan.collector, poll.target):
                polled = PollResult((Outcome(poll.target, error=fault),))
            else:
                polled = PollResult((), naming_error=fault)
        finally:
            self.schedule.answered(poll)
            self._begin_due(poll.target.client_name)
        seconds = self.clocks.monotonic() - began
        self._record_result(poll, polled, seconds)
        now = polled.date or self.clocks.utc()
        finishing = [self._finish(poll, outcome, now, seconds) for outcome in polled.outcomes]
        if len(finishing) == 1:
            # Most polls have one outcome, which needs no further task.
            await finishing[0]
        else:
            # At the same time, so that one commit writes the counters of all outcomes.
            await asyncio.gather(*finishing)

    async def _fetch(self, poll: RunningPoll) -> PollResult:
        collector, client = poll.plan.collector, poll.account.client
        # The target's name may have become known after the poll was scheduled.
        target = self.registry.by_key.get(poll.target.key, poll.target)
        calls = client.calls_until(poll.until)
        context = Context(calls, self.registry, client.utc_now(), partial(self._apply_found, poll))
        polled = await collector.try_poll(context, target)
        if polled.error is None:
            poll.account.pace.note_calls(collector.name, calls.call_count)
        return polled

    async def _apply_found(self, poll: RunningPoll, found: Inventory) -> None:
        account = poll.target.account
        for target in self.registry.apply(account, found):
            self._log.info("target removed", account=target.account, target=target.key.label, name=target.name)
            self.store.remove(target, self.schedule.plans)
        if found.is_named:
            self.schedule.discovered(account)
        # Other tasks may run here: applying a long list takes long, and scheduling the listed targets does, too.
        await asyncio.sleep(0)
        await self.tick()

    def _record_result(self, poll: RunningPoll, polled: PollResult, seconds: float) -> None:
        collector, target = poll.plan.collector, poll.target
        fault = polled.error or polled.naming_error
        self.schedule.durations[collector.name] = seconds
        self.telemetry.duration.labels(collector.name).set(seconds)
        if collector.supplies_names:
            self.schedule.discovered(target.account, fault)
        if fault is None:
            self.schedule.succeeded(PollKey(target.key, collector.name))
        else:
            self.schedule.failed(collector, target, fault)
        is_own = target.key in self.registry.by_key
        if collector.every_shard:
            # If the target belongs to this shard, `_publish` logs `polled.error`. Only `naming_error` is left to log.
            self.failures.note_list(collector.name, target.account, polled.naming_error if is_own else fault)

    async def _finish(self, poll: RunningPoll, outcome: Outcome, now: datetime, seconds: float) -> None:
        collector, target, counted = poll.plan.collector, outcome.target, Counters()
        try:
            if outcome.error is None and self._may_publish(poll, target):
                counted = await self._count(poll, outcome, now)
            # The configuration may have been reloaded during the commit.
            if self._may_publish(poll, target):
                self._publish(collector, outcome, counted, seconds)
        except Exception as fault:  # noqa: BLE001 - the boundary of a target
            broken = Outcome(target, error=self._log_unexpected(poll, target, fault))
            if self._may_publish(poll, target):
                self._publish(collector, broken, Counters(), seconds)

    async def _count(self, poll: RunningPoll, outcome: Outcome, now: datetime) -> Counters:
        target, address = outcome.target, poll.account.client.base_url
        if poll.plan.collector.owns_target:
            # The answer shows that the target exists. `gone` is changed before the commit, because the poll of another
            # collector may end during the commit.
            self.store.gone.discard(target.key)
        key = PollKey(target.key, poll.plan.collector.name)
        entry = PollRecord(key, target.name, self.clocks.wall(), outcome.counts, now, address, self.max_label_values)
        counted = await self.ledger.record(entry)
        for family, number in counted.corrections.items():
            self.telemetry.corrections.labels(family).inc(number)
        return counted

    def _publish(self, collector: Collector, outcome: Outcome, counted: Counters, seconds: float) -> None:
        name, target, error = collector.name, outcome.target, outcome.error
        status = self.store.statuses.get(PollKey(target.key, name))
        facts = {"collector": name, "account": target.account, "target": target.key.label, "name": target.name}
        # Not `status.up`, which is also False if the values have expired without a failure.
        was_failing = status is not None and bool(status.reason)
        if error is not None and not was_failing:
            self.failures.fails(facts, error.reason, str(error))
        elif error is None and was_failing:
            self.failures.recovers(facts)
        if error is not None:
            self.store.fail(name, outcome, error, duration=seconds)
            # If the outcome has families, `fail` has published them in spite of the error, and they stay.
            if isinstance(error, NotFound) and not outcome.families:
                self._end_series_of_missing(collector, target)
        elif target.key in self.store.gone:
            # The collector that owns the target has found that the target no longer exists.
            self.store.publish(name, Outcome(target, note=GONE), duration=seconds)
        else:
            gauges, left_out = limit_gauges(outcome.families, self.max_label_values)
            limited = outcome._replace(families=(*gauges, *counted.families))
            self.store.publish(name, limited, duration=seconds, left_out={**left_out, **counted.left_out})

    def _end_series_of_missing(self, collector: Collector, target: Target) -> None:
        """End the series of a target that a collector has not found; if it owns the target, those of all collectors."""
        self.store.clear(PollKey(target.key, collector.name))
        if not collector.owns_target:
            return
        self.store.gone.add(target.key)
        for plan in self.schedule.plans.values():
            if plan.collector.polls == target.kind:
                self.store.clear(PollKey(target.key, plan.collector.name))

    def _may_publish(self, poll: RunningPoll, target: Target) -> bool:
        # A reload cancels polls with an old plan or account, but a library may swallow the cancellation. The counts of
        # such a poll would restart counters.
        if not self.schedule.is_in_force(poll):
            return False
        if target != poll.target:
            # An answer for an account may contain targets that are not registered yet, or that other shards poll.
            return self.registry.would_poll(target)
        return target.key in self.registry.by_key

    def _log_unexpected(self, poll: RunningPoll, target: Target, error: Exception) -> PlatformError:
        """Log an unexpected exception, and return the error to publish for the target."""
        facts = {"collector": poll.plan.collector.name, "target": target.key.label, "error": repr(error)}
        self._log.error("unexpected error in a poll", **facts, exc_info=error)
        return PlatformError(f"internal error: {type(error).__name__}")
