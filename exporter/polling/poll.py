"""Polls a target that is due: makes the calls, measures the answer, records the counters, and publishes."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from structlog.typing import FilteringBoundLogger

from exporter.clock import Clocks
from exporter.collectors.collector import Collector, Context, Outcome, PollResult, failed
from exporter.counters.ledger import Ledger, PollRecord
from exporter.exposition.store import GONE, Store
from exporter.log import logger
from exporter.metric import bounded
from exporter.platform.errors import NotAvailable, NotFound, PlatformError
from exporter.polling.failure_log import FailureLog
from exporter.polling.schedule import RunningPoll, Schedule
from exporter.targets.registry import Registry
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry


@dataclass(slots=True, eq=False)
class Poller:
    """Polls targets, each poll from its calls to its families.

    Attributes:
        schedule: decides what is polled next.
        registry: the targets; a removed one is not published.
        store: receives the families and the status of each target.
        ledger: counts the counters before they are published.
        max_label_values: the most label values of a metric for each target.
        failures: logs the beginnings and ends of failures.
        unavailable: the targets for which the platform does not have what a collector asks for.
    """

    schedule: Schedule
    registry: Registry
    store: Store
    ledger: Ledger
    telemetry: Telemetry
    clocks: Clocks
    failures: FailureLog
    max_label_values: int = 1000
    unavailable: set[PollKey] = field(default_factory=set)
    _log: FilteringBoundLogger = field(default_factory=logger)

    async def poll(self, due: RunningPoll) -> None:
        """Poll a target that is due. A fault of ours ends with this poll: its target fails, and nothing else."""
        began = self.clocks.monotonic()
        try:
            polled = await self._fetch(due)
            await self._note(due, polled)
        except Exception as error:  # noqa: BLE001 - the boundary of a poll
            polled = failed(due.target, self._broken(due, due.target, error))
        finally:
            self.schedule.answered(due)
        name, seconds = due.plan.collector.name, self.clocks.monotonic() - began
        self.schedule.durations[name] = seconds
        self.telemetry.duration.labels(name).set(seconds)
        now = polled.date or self.clocks.utc()
        ending = [self._end(due, outcome, now, seconds) for outcome in polled.outcomes]
        if len(ending) == 1:
            # Most polls are of one target, for which another task would be in vain.
            await ending[0]
        else:
            await asyncio.gather(*ending)

    async def _fetch(self, due: RunningPoll) -> PollResult:
        """Make the calls of a poll, and measure the answer; an error of the platform is part of the result."""
        collector, client = due.plan.collector, due.account.client
        # While it was due, its name may have become known.
        target = self.registry.by_key.get(due.target.key, due.target)
        calls = client.until(due.until)
        context = Context(calls, self.registry, client.present(), partial(self.schedule.found, target.account))
        polled = await collector.result(context, target)
        if polled.error is None:
            due.account.pace.note(collector.name, calls.number, calls.seconds)
        return polled

    async def _note(self, due: RunningPoll, polled: PollResult) -> None:
        """Take over what a discovery has found."""
        collector, target = due.plan.collector, due.target
        if not self.schedule.is_in_force(due):
            return
        if collector.discovers:
            self.schedule.discovery_ended(collector, target, polled)
        if polled.found is not None:
            await self.schedule.found(target.account, polled.found)
        is_own = target.key in self.registry.by_key
        if collector.discovers or not is_own:
            error = polled.unnamed or (None if is_own else polled.error)
            failure = (error.reason, str(error)) if error else None
            self.failures.lists(collector.name, target.account, failure)

    async def _end(self, due: RunningPoll, outcome: Outcome, now: datetime, seconds: float) -> None:
        """Record the counts of a target and publish it, or publish its failure; what is not in force any more goes."""
        collector, target, error = due.plan.collector, outcome.target, outcome.error
        try:
            if error is None:
                await self._record_and_publish(due, outcome, now, seconds)
        except Exception as fault:  # noqa: BLE001 - the boundary of a target
            error = self._broken(due, target, fault)
        if error is not None and self._is_in_force(due, target):
            self._fail(collector, outcome._replace(error=error), error, seconds)

    async def _record_and_publish(self, due: RunningPoll, outcome: Outcome, now: datetime, seconds: float) -> None:
        collector, target, limit = due.plan.collector, outcome.target, self.max_label_values
        if not self._is_in_force(due, target):
            return
        if collector.owns_target:
            self.schedule.gone.discard(target)
        key, address = PollKey(target.key, collector.name), due.account.client.base_url
        entry = PollRecord(key, target.name, self.clocks.wall(), outcome.counts, now, address, limit)
        counters, without_place = await self.ledger.record(entry)
        if not self._is_in_force(due, target):
            return
        gauges, left_out = bounded(outcome.families, limit)
        left_out |= without_place
        lifetime = self.schedule.lifetime(collector.name, target)
        self.schedule.succeeded(key)
        if target in self.schedule.gone and not collector.owns_target:
            # Another collector's call has shown that this resource no longer exists: nothing is published.
            self.store.publish(collector.name, Outcome(target), lifetime, duration=seconds, note=GONE)
            return
        status = self.store.find(key)
        if status is not None and not status.up:
            self.failures.recovers(_facts(collector.name, target))
        self.unavailable.discard(key)
        outcome = outcome._replace(families=(*gauges, *counters))
        self.store.publish(collector.name, outcome, lifetime, duration=seconds, left_out=left_out)

    def _is_in_force(self, due: RunningPoll, target: Target) -> bool:
        """Return whether what a poll began with is still in use, and the target still polled in the same way."""
        polled = self.registry.by_key.get(target.key)
        if not self.schedule.is_in_force(due):
            return False
        if target != due.target:
            # An answer of a list contains targets that are not listed yet, and some that other shards poll.
            return polled is not None or self.registry.admits(target)
        return polled is not None and polled.is_polled_as(due.target)

    def _broken(self, due: RunningPoll, target: Target, error: Exception) -> PlatformError:
        """Log an unexpected exception, and return it as the failure of its target."""
        facts = {"collector": due.plan.collector.name, "target": target.key.label, "error": repr(error)}
        self._log.error("poll broke", **facts, exc_info=error)
        return PlatformError(f"internal error: {type(error).__name__}")

    def _fail(self, collector: Collector, outcome: Outcome, error: PlatformError, seconds: float) -> None:
        """Publish a failure; families of earlier polls stay until they expire, unless the outcome has some."""
        name, target = collector.name, outcome.target
        key, facts, lifetime = PollKey(target.key, name), _facts(name, target), self.schedule.lifetime(name, target)
        if isinstance(error, NotAvailable):
            # The zone does not have this resource: not a failure, but an answer without samples, which is logged once.
            if key not in self.unavailable:
                self.unavailable.add(key)
                self._log.info("not available", **facts, error_key=error.error_key)
            self.store.publish(name, Outcome(target), lifetime, duration=seconds, note=str(error))
            return
        self.schedule.failed(collector, target, error)
        status = self.store.find(key)
        # Its values may have expired since a poll that succeeded.
        if status is None or status.up or not status.reason:
            self.failures.fails(facts, error.reason, str(error))
        self.store.fail(name, outcome, lifetime, error.reason, str(error), duration=seconds)
        if isinstance(error, NotFound):
            self.store.clear(name, target)
            if collector.owns_target:
                self.schedule.gone.add(target)
                for other in self.schedule.plans.values():
                    if other.collector.polls == target.kind:
                        self.store.clear(other.collector.name, target)

    def forget_removed(self) -> None:
        """Forget removed targets, so that one that returns is treated as new."""
        polled = self.registry.by_key
        self.schedule.gone = {target for target in self.schedule.gone if target.key in polled}
        self.unavailable = {key for key in self.unavailable if key.target in polled}


def _facts(collector: str, target: Target) -> dict[str, str]:
    return {"collector": collector, "account": target.account, "target": target.key.label, "name": target.name}
