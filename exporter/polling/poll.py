"""Polls a target that is due: makes the calls, measures the answer, records the counters, and publishes."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from structlog.typing import FilteringBoundLogger

from exporter.clock import Clocks
from exporter.collectors.collector import Collector, Context, Outcome, PollResult, failed
from exporter.counters.ledger import Ledger, PollRecord
from exporter.exposition.store import GONE, Store
from exporter.label_values import limit_label_values
from exporter.log import logger
from exporter.platform.errors import NotAvailable, NotFound, PlatformError
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
            if due.plan.collector.supplies_names and self.schedule.is_in_force(due):
                self.schedule.discovered(due.target.account, polled.error or polled.unnamed)
        except Exception as error:  # noqa: BLE001 - the boundary of a poll
            polled = failed(due.target, self._broken(due, due.target, error))
        finally:
            self.schedule.answered(due)
            self._begin(due.target.client_name)
        name, seconds = due.plan.collector.name, self.clocks.monotonic() - began
        self.schedule.durations[name] = seconds
        self.telemetry.duration.labels(name).set(seconds)
        self._note(due, polled)
        now = polled.date or self.clocks.utc()
        ending = [self._end(due, outcome, now, seconds) for outcome in polled.outcomes]
        if len(ending) == 1:
            # Most polls are of one target, which needs no task of its own.
            await ending[0]
        else:
            await asyncio.gather(*ending)

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

    async def _end(self, due: RunningPoll, outcome: Outcome, now: datetime, seconds: float) -> None:
        """Count a poll's outcome for one target, and publish it; what is not in force any more is dropped."""
        error = outcome.error
        try:
            if error is None and self._is_in_force(due, outcome.target):
                await self._count(due, outcome, now, seconds)
        except Exception as fault:  # noqa: BLE001 - the boundary of a target
            error = self._broken(due, outcome.target, fault)
        if error is None or not self._is_in_force(due, outcome.target):
            return
        if isinstance(error, NotAvailable):
            self._publish_absence(due.plan.collector, outcome.target, error, seconds)
        else:
            self._fail(due.plan.collector, outcome, error, seconds)

    async def _count(self, due: RunningPoll, outcome: Outcome, now: datetime, seconds: float) -> None:
        """Count the answer of a target, and publish it when its counters are committed."""
        collector, target, limit = due.plan.collector, outcome.target, self.max_label_values
        if collector.owns_target:
            # At once: what another collector's poll waits for may be committed first.
            self.store.gone.discard(target.key)
        key, address = PollKey(target.key, collector.name), due.account.client.base_url
        entry = PollRecord(key, target.name, self.clocks.wall(), outcome.counts, now, address, limit)
        counters, without_place, corrections = await self.ledger.record(entry)
        for family, number in corrections.items():
            self.telemetry.corrections.labels(family).inc(number)
        gauges, left_out = limit_label_values(outcome.families, limit)
        if self._is_in_force(due, target):
            counted = outcome._replace(families=(*gauges, *counters))
            self._publish(collector, counted, seconds, {**left_out, **without_place})

    def _publish(self, collector: Collector, outcome: Outcome, seconds: float, left_out: Mapping[str, int]) -> None:
        """Publish a success."""
        name, target = collector.name, outcome.target
        key, lifetime = PollKey(target.key, name), self.schedule.lifetime(name, target)
        if target.key in self.store.gone:
            # Another collector's call has shown that this resource no longer exists: nothing is published.
            self.store.publish(name, Outcome(target), lifetime, duration=seconds, note=GONE)
            return
        status = self.store.find(key)
        if status is not None and not status.up:
            self.failures.recovers(_facts(name, target))
        self.store.publish(name, outcome, lifetime, duration=seconds, left_out=left_out)

    def _publish_absence(self, collector: Collector, target: Target, error: NotAvailable, seconds: float) -> None:
        """Publish that a zone does not have a resource: an answer without samples, which is logged once."""
        name = collector.name
        status = self.store.find(PollKey(target.key, name))
        if status is None or status.message != str(error):
            self._log.info("not available", **_facts(name, target), error_key=error.error_key)
        lifetime = self.schedule.lifetime(name, target)
        self.store.publish(name, Outcome(target), lifetime, duration=seconds, note=str(error))

    def _fail(self, collector: Collector, outcome: Outcome, error: PlatformError, seconds: float) -> None:
        """Publish a failure; families of earlier polls stay until they expire, unless the outcome has some."""
        name, target = collector.name, outcome.target
        facts, lifetime = _facts(name, target), self.schedule.lifetime(name, target)
        status = self.store.find(PollKey(target.key, name))
        # Its values may have expired since a poll that succeeded.
        if status is None or status.up or not status.reason:
            self.failures.fails(facts, error.reason, str(error))
        self.store.fail(name, outcome, lifetime, error.reason, str(error), duration=seconds)
        if isinstance(error, NotFound):
            self._clear(collector, target)

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
        polled = self.registry.by_key.get(target.key)
        if not self.schedule.is_in_force(due):
            return False
        if target != due.target:
            # An answer of a list contains targets that are not listed yet, and some that other shards poll.
            return self.registry.admits(target)
        return polled is not None and polled.is_polled_as(due.target)

    def _broken(self, due: RunningPoll, target: Target, error: Exception) -> PlatformError:
        """Log an unexpected exception, and return it as the failure of its target."""
        facts = {"collector": due.plan.collector.name, "target": target.key.label, "error": repr(error)}
        self._log.error("poll broke", **facts, exc_info=error)
        return PlatformError(f"internal error: {type(error).__name__}")

    def _note(self, due: RunningPoll, polled: PollResult) -> None:
        """Record in the schedule whether a poll succeeded; a failed one is repeated soon.

        Failures that no series shows are logged here: of names, and of a list for an account of another shard.
        """
        collector, target = due.plan.collector, due.target
        if not self.schedule.is_in_force(due):
            return
        fault = polled.error or polled.unnamed
        if fault is None:
            self.schedule.succeeded(PollKey(target.key, collector.name))
        elif not isinstance(fault, NotAvailable):
            self.schedule.failed(collector, target, fault)
        is_own = target.key in self.registry.by_key
        if collector.discovers or not is_own:
            # Of a target of this shard, a series shows the error of the poll itself.
            unseen = polled.unnamed if is_own else polled.unnamed or polled.error
            failure = None if unseen is None else (unseen.reason, str(unseen))
            self.failures.lists(collector.name, target.account, failure)


def _facts(collector: str, target: Target) -> dict[str, str]:
    return {"collector": collector, "account": target.account, "target": target.key.label, "name": target.name}
