"""Polls a target that is due: makes the calls, measures the answer, records the counters, and publishes."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from structlog.typing import FilteringBoundLogger

from exporter.clock import Clocks
from exporter.collectors.collector import Collector, Context, Outcome, PollResult, failed
from exporter.counters.ledger import Counters, Ledger, PollRecord
from exporter.exposition.store import GONE, Store
from exporter.label_values import limit_label_values
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
    """Polls targets: makes the calls of a poll, and publishes its families.

    Attributes:
        schedule: decides what is polled next.
        registry: the targets; a removed one is not published.
        store: receives the families and the status of each target.
        ledger: counts the counters before they are published.
        failures: logs the beginnings and ends of failures.
        max_label_values: the most label values of a metric for each target.
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
        """Begin the polls that are due once a second from now on."""
        self._scheduler.add_job(self.tick, ticks.Every(TICK_SECONDS))
        self._scheduler.start()

    async def stop(self) -> None:
        """Stop ticking, and cancel the polls that run."""
        if self._scheduler.running:
            self._scheduler.remove_all_jobs()
            # A submitted tick must begin before it is cancelled.
            await asyncio.sleep(0)
            self._scheduler.shutdown(wait=False)
        tasks = self.schedule.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def tick(self) -> None:
        """Begin the polls that are due."""
        self.schedule.refresh()
        for account in self.schedule.accounts:
            self._begin(account)

    def _begin(self, account: str) -> None:
        """Begin the polls of an account that are due, as many as may call its platform at once."""
        while (due := self.schedule.take(account)) is not None:
            due.task = asyncio.create_task(self.poll(due), name="poll")
            due.task.add_done_callback(partial(self._ended, due))

    def _ended(self, due: RunningPoll, _task: "asyncio.Task[None]") -> None:
        # Here, because a poll that is cancelled before it begins runs none of its own lines.
        self.schedule.ended(due)
        self._begin(due.target.client_name)

    async def poll(self, due: RunningPoll) -> None:
        """Poll a target that is due. An unexpected exception fails this target, and nothing else."""
        began = self.clocks.monotonic()
        try:
            polled = await self._fetch(due)
        except Exception as error:  # noqa: BLE001 - the boundary of a poll
            polled = failed(due.target, self._broken(due, due.target, error))
        finally:
            self.schedule.answered(due)
            self._begin(due.target.client_name)
        seconds = self.clocks.monotonic() - began
        self._note(due, polled, seconds)
        now = polled.date or self.clocks.utc()
        await asyncio.gather(*(self._end(due, outcome, now, seconds) for outcome in polled.outcomes))

    async def _fetch(self, due: RunningPoll) -> PollResult:
        """Make the calls of a poll, and measure the answer; an error of the platform is part of the result."""
        collector, client = due.plan.collector, due.account.client
        # While it was due, its name may have become known.
        target = self.registry.by_key.get(due.target.key, due.target)
        calls = client.until(due.until)
        context = Context(calls, self.registry, client.present(), partial(self._found, due))
        polled = await collector.result(context, target)
        if polled.error is None:
            due.account.pace.note(collector.name, calls.number)
        return polled

    async def _found(self, due: RunningPoll, found: Inventory) -> None:
        """Take in what a discovery has found, unless it is not in force any more, and poll new targets."""
        if not self.schedule.is_in_force(due):
            return
        account = due.target.account
        for target in self.registry.apply(account, found):
            self._log.info("target removed", account=target.account, target=target.key.label, name=target.name)
            self.store.remove(target)
        if found.is_named:
            self.schedule.discovered(account)
        # To apply a long list, and to schedule its targets, takes long: other tasks may run in between.
        await asyncio.sleep(0)
        await self.tick()

    def _note(self, due: RunningPoll, polled: PollResult, seconds: float) -> None:
        """Record in the schedule how a poll has ended; a failed one is repeated soon.

        Failures that no series shows are logged here: of names, and of a list for an account of another shard.
        """
        collector, target, fault = due.plan.collector, due.target, polled.error or polled.unnamed
        self.schedule.durations[collector.name] = seconds
        self.telemetry.duration.labels(collector.name).set(seconds)
        if not self.schedule.is_in_force(due):
            return
        if collector.supplies_names:
            self.schedule.discovered(target.account, fault)
        if fault is None:
            self.schedule.succeeded(PollKey(target.key, collector.name))
        else:
            self.schedule.failed(collector, target, fault)
        is_own = target.key in self.registry.by_key
        if collector.discovers or not is_own:
            # Of a target of this shard, a series shows the error of the poll itself.
            self.failures.note_list(collector.name, target.account, polled.unnamed if is_own else fault)

    async def _end(self, due: RunningPoll, outcome: Outcome, now: datetime, seconds: float) -> None:
        """Count a poll's outcome for one target, and publish it; what is not in force any more is dropped."""
        collector, target, counted = due.plan.collector, outcome.target, Counters()
        try:
            if outcome.error is None and self._is_in_force(due, target):
                counted = await self._count(due, outcome, now)
            # A reload may have come while the commit was awaited.
            if self._is_in_force(due, target):
                self._publish(collector, outcome, counted, seconds)
        except Exception as fault:  # noqa: BLE001 - the boundary of a target
            broken = Outcome(target, error=self._broken(due, target, fault))
            if self._is_in_force(due, target):
                self._publish(collector, broken, Counters(), seconds)

    async def _count(self, due: RunningPoll, outcome: Outcome, now: datetime) -> Counters:
        """Count the answer of a target, and return its counters when they are committed."""
        target, address = outcome.target, due.account.client.base_url
        if due.plan.collector.owns_target:
            # At once: what another collector's poll waits for may be committed first.
            self.store.gone.discard(target.key)
        key = PollKey(target.key, due.plan.collector.name)
        entry = PollRecord(key, target.name, self.clocks.wall(), outcome.counts, now, address, self.max_label_values)
        counted = await self.ledger.record(entry)
        for family, number in counted.corrections.items():
            self.telemetry.corrections.labels(family).inc(number)
        return counted

    def _publish(self, collector: Collector, outcome: Outcome, counted: Counters, seconds: float) -> None:
        """Publish an outcome and its counters; after a failure, families of earlier polls stay until they expire."""
        name, target, error = collector.name, outcome.target, outcome.error
        status = self.store.find(PollKey(target.key, name))
        facts = {"collector": name, "account": target.account, "target": target.key.label, "name": target.name}
        if error is not None:
            # Its values may have expired since a poll that succeeded.
            if status is None or status.up or not status.reason:
                self.failures.fails(facts, error.reason, str(error))
            self.store.fail(name, outcome, duration=seconds)
            if isinstance(error, NotFound):
                self._clear(collector, target)
        elif target.key in self.store.gone:
            # Another collector's call has shown that this resource no longer exists: nothing is published.
            self.store.publish(name, Outcome(target, note=GONE), duration=seconds)
        else:
            if status is not None and not status.up:
                self.failures.recovers(facts)
            gauges, left_out = limit_label_values(outcome.families, self.max_label_values)
            limited = outcome._replace(families=(*gauges, *counted.families))
            self.store.publish(name, limited, duration=seconds, left_out={**left_out, **counted.left_out})

    def _clear(self, collector: Collector, target: Target) -> None:
        """Clear the values of a target that was not found; if the collector owns it, those of all collectors."""
        self.store.clear(collector.name, target)
        if collector.owns_target:
            self.store.gone.add(target.key)
            for other in self.schedule.plans.values():
                if other.collector.polls == target.kind:
                    self.store.clear(other.collector.name, target)

    def _is_in_force(self, due: RunningPoll, target: Target) -> bool:
        """Return whether the plan and account of a poll are still those in use, and the target is polled as before."""
        if not self.schedule.is_in_force(due):
            return False
        if target != due.target:
            # An answer of a list contains targets that are not listed yet, and some that other shards poll.
            return self.registry.admits(target)
        polled = self.registry.by_key.get(target.key)
        return polled is not None and polled.is_polled_as(due.target)

    def _broken(self, due: RunningPoll, target: Target, error: Exception) -> PlatformError:
        """Log an unexpected exception, and return it as the failure of its target."""
        facts = {"collector": due.plan.collector.name, "target": target.key.label, "error": repr(error)}
        self._log.error("poll broke", **facts, exc_info=error)
        return PlatformError(f"internal error: {type(error).__name__}")
