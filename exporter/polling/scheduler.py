"""Decides when each target is polled, and catches every unexpected exception of a poll."""

import asyncio
import itertools
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.collectors.collector import Polled
from exporter.collectors.poll import Poller, failed
from exporter.cooperative import at_once, in_slices
from exporter.counters.ledger import Ledger
from exporter.exposition.store import Store
from exporter.log import logger
from exporter.platform.errors import (
    PlatformError,
    RateLimited,
    ServerError,
)
from exporter.polling.backoff import Backoff
from exporter.polling.first_discovery import FIRST_RETRY_SECONDS, FirstDiscovery, tells_names, waits_for_names
from exporter.polling.intervals import Account, Intervals
from exporter.polling.plan import Plan
from exporter.polling.results import ResultRecorder
from exporter.polling.timetable import Timetable, next_slot
from exporter.polling.worker_pool import Run, WorkerPool
from exporter.targets.registry import Change, Registry
from exporter.targets.target import DATABASE_PREFIX, Inventory, PollKey, Target, account_of
from exporter.telemetry import Telemetry

TICKS_AN_INTERVAL = 60
SHORTEST_TICK = 0.5
LONGEST_TICK = 5.0
CAPACITY_SECONDS = 1.0
# A regular poll is at most this many intervals away.
LATEST_SLOT = 1.5


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """The state that a schedule passes on to the one that replaces it at a reload.

    Attributes:
        results: records the results of polls; the new schedule uses it, too.
        discovered: accounts whose first discovery has ended, except those whose key was refused, because the reload may
            change the key.
        durations: collector → duration of its last poll in seconds.
        due: collector → its interval, and when each target is due, without the polls that the reload interrupted.
        deferred: the targets, by collector, whose next poll was delayed because the platform asked for it.
    """

    results: ResultRecorder
    discovered: frozenset[str]
    durations: Mapping[str, float]
    due: Mapping[str, tuple[float, Mapping[Target, tuple[float, int]]]]
    deferred: frozenset[PollKey]


class Schedule:
    """Enqueues the targets that are due, and polls them.

    Args:
        plans: the collectors, and how they are run.
        accounts: the accounts and databases, by their names from `account_of`.
        registry: the targets.
        store: receives the results of polls.
        ledger: counts the counters.
        telemetry: the program's own metrics.
        clocks: the clocks.
        call_soon: passes a call to the event loop, from any thread.
        changed: called when the targets have changed.
        left: the state of the schedule before a reload. Due times are kept; only interrupted polls are repeated at
            once.

    Attributes:
        pools: account → its workers, and the polls that are queued or running.
    """

    def __init__(
        self,
        plans: Iterable[Plan],
        accounts: Mapping[str, Account],
        *,
        registry: Registry,
        store: Store,
        ledger: Ledger,
        telemetry: Telemetry,
        clocks: Clocks,
        call_soon: Callable[..., object],
        changed: Callable[[Change], None],
        left: "ScheduleState | None" = None,
    ) -> None:
        self.plans = {plan.collector.name: plan for plan in plans}
        self._naming = [plan.collector for plan in self.plans.values() if tells_names(plan.collector)]
        self.last_tick = clocks.monotonic()
        self.next_due: dict[str, float] = {}
        self.durations: dict[str, float] = {}
        self._accounts = dict(accounts)
        self._registry = registry
        self._telemetry = telemetry
        self._clocks = clocks
        self._changed = changed
        self._log = logger()
        self._sequence = itertools.count()
        self._due = {name: Timetable(name) for name in self.plans}
        self._capacity_shown = self.last_tick
        self._poller = Poller(registry, clocks)
        self._results = (
            ResultRecorder(registry, store, ledger, poller=self._poller, clocks=clocks, call_soon=call_soon)
            if left is None
            else left.results
        )
        self._unfinished: set[PollKey] = set()
        # The targets, by collector, whose next poll was delayed because the platform asked for it.
        self._deferred: set[PollKey] = set()
        # Collector and account → the longest stretch of the interval since it was last halved.
        self._stretched: dict[tuple[str, str], float] = {}
        # Account → collector → the time planned for its next poll, if it is still to come; and the same times in order.
        self._turns: dict[str, dict[str, float]] = {name: {} for name in self._accounts}
        self._ordered_turns: dict[str, list[tuple[float, str]]] = {name: [] for name in self._accounts}
        self._await_names()
        self._first_discovery = FirstDiscovery(self._discovered_accounts, () if left is None else left.discovered)
        self.intervals = Intervals(self.plans, self._accounts, registry.share)
        self._backoff = Backoff(self.intervals)
        starts = asyncio.Lock()
        self.pools = {
            name: WorkerPool(account.client.rate_limiter.most_in_flight, self._run, starts)
            for name, account in self._accounts.items()
        }
        if left is not None:
            self._inherit(left)
        self._results.running = {name: plan.collector for name, plan in self.plans.items()}
        self._scheduler = AsyncIOScheduler(job_defaults={"misfire_grace_time": None, "coalesce": True})
        self._scheduler.add_listener(self._tick_lost, EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES)

    def resize(self, share: float) -> None:
        """Use a part of the budget of each account; that of a database is not divided.

        Args:
            share: the part, above 0 and at most 1.
        """
        for name, account in self._accounts.items():
            if not name.startswith(DATABASE_PREFIX):
                account.client.rate_limiter.resize(share)
                account.capacity.max_in_flight = account.client.rate_limiter.max_in_flight
                account.capacity.rate = account.client.rate_limiter.effective_rate

    @property
    def accounts(self) -> Mapping[str, Account]:
        """The names of the accounts and databases that are polled."""
        return self._accounts

    def hand_over(self) -> "ScheduleState":
        """Return the state for the schedule that replaces this one; this one must have stopped."""
        refused = {name for name, account in self._accounts.items() if account.client.credential.is_refused()}
        # The new settings may contain ids without a name.
        unnamed = {name for name in self._accounts if self._registry.lacking(name)}
        due = {
            name: (
                self.plans[name].interval,
                {
                    target: when
                    for target, when in due.known.items()
                    if account_of(target) not in refused
                    and target.polled_by(name) not in self._unfinished
                    and not (tells_names(self.plans[name].collector) and target.account in unnamed)
                },
            )
            for name, due in self._due.items()
        }
        discovered = frozenset(self._first_discovery.over - refused - unnamed)
        return ScheduleState(self._results, discovered, dict(self.durations), due, frozenset(self._deferred))

    def _inherit(self, left: "ScheduleState") -> None:
        self._results.forget_removed()
        self._results.forget_answers()
        self._deferred = set(left.deferred)
        self.durations = {name: seconds for name, seconds in left.durations.items() if name in self.plans}
        for name, plan in self.plans.items():
            interval, known = left.due.get(name, (0.0, {}))
            if interval == plan.interval:
                # New sequence numbers: they decide the order of entries with the same time.
                self._due[name].known = {target: (at, next(self._sequence)) for target, (at, _) in known.items()}

    def start(self) -> None:
        """Poll everything now, limited only by the budgets, and then at the intervals."""
        for plan in self.plans.values():
            seconds = min(LONGEST_TICK, max(SHORTEST_TICK, plan.interval / TICKS_AN_INTERVAL))
            name = plan.collector.name
            self._scheduler.add_job(self._tick_on_loop, "interval", seconds=seconds, args=(name,), id=name)
        self._scheduler.start()
        self.open()

    def open(self) -> None:
        """Start the workers, and enqueue the first round."""
        self._telemetry.declare_collectors(self.plans)
        for pool in self.pools.values():
            pool.start()
        for name in self.plans:
            self.tick(name)
        self._show_capacity(self.last_tick)

    async def targets_changed(self, discover: Collection[str] = ()) -> None:
        """Poll new targets at once.

        Args:
            discover: accounts that are discovered again at once.
        """
        for name, plan in self.plans.items():
            if plan.collector.discovers:
                self.make_due(name, lambda target: target.account in discover)
            await in_slices(self._ticking(name), self._clocks.monotonic)
        self._show_capacity(self.last_tick)

    def make_due(self, name: str, wanted: Callable[[Target], bool] = lambda _target: True) -> None:
        """Make targets of a collector due now; the next tick enqueues them.

        Args:
            name: the collector's name.
            wanted: returns whether a target is made due; all are by default.
        """
        now, due = self._clocks.monotonic(), self._due[name]
        for target in [target for target in due.known if wanted(target)]:
            due.put(target, now, next(self._sequence))

    async def drained(self) -> None:
        """Wait until no poll is queued or running."""
        for pool in self.pools.values():
            await pool.drained()

    async def stop(self) -> None:
        """Stop ticking, and cancel the polls that are running."""
        if self._scheduler.running:
            self._scheduler.remove_all_jobs()
            # A submitted tick must begin before it is cancelled.
            await asyncio.sleep(0)
            self._scheduler.shutdown(wait=False)
        for pool in self.pools.values():
            self._unfinished |= await pool.stop()
        self._results.failure_log.sum_up(end=True)

    def _tick_lost(self, event: JobExecutionEvent) -> None:
        self._telemetry.missed.labels(event.job_id).inc()

    async def _tick_on_loop(self, name: str) -> None:
        """Enqueue due targets on the event loop; APScheduler would run a job that is not a coroutine on a thread."""
        # At its shutdown, APScheduler cancels running ticks, and would log a traceback for each.
        with suppress(asyncio.CancelledError):
            await in_slices(self._ticking(name), self._clocks.monotonic)

    def tick(self, name: str) -> None:
        """Enqueue the targets of a collector that are due."""
        at_once(self._ticking(name))

    def _ticking(self, name: str) -> Generator[None, None, None]:
        """Enqueue the due targets of a collector one by one; several of these generators may run at once."""
        now = self._clocks.monotonic()
        self.last_tick = now
        plan, due = self.plans[name], self._due[name]
        if due.version != self._registry.version:
            yield from self._take_targets(plan, due, now)
        undiscovered = set[str]() if plan.collector.discovers else self._first_discovery.missing()
        waiting: list[tuple[float, int, Target]] = []
        try:
            for at, turn, target in due.pop(now):
                # The first discovery of the account will supply names for the labels of this target.
                if target.account in undiscovered and waits_for_names(target):
                    waiting.append((at, turn, target))
                else:
                    self._enqueue(plan, due, target, at, now)
                yield
        finally:
            due.put_back(waiting)
        earliest = due.earliest()
        self.next_due[name] = now + plan.interval if earliest is None else earliest
        if now - self._capacity_shown >= CAPACITY_SECONDS:
            self._show_capacity(now)
            yield from self._catch_up(now)
            yield from self._repoll_renewed(now)
            self._results.failure_log.sum_up()

    def _catch_up(self, now: float) -> Generator[None, None, None]:
        """Advance polls that long intervals have delayed, when intervals are short again, for example after a pause."""
        for plan, account in itertools.product(self.plans.values(), self._accounts):
            mark = (plan.collector.name, account)
            stretch, longest = self.intervals.stretch(account, plan.collector.name), self._stretched.get(mark, 1.0)
            self._stretched[mark] = max(stretch, longest)
            if stretch <= longest / 2:
                self._stretched[mark] = stretch
                yield from self._bring_forward(plan, account, now)

    def _bring_forward(self, plan: Plan, account: str, now: float) -> Generator[None, None, None]:
        name, due = plan.collector.name, self._due[plan.collector.name]
        for target, when in list(due.known.items()):
            yield
            if due.known.get(target) != when:
                continue
            at, _ = when
            interval = self.intervals.effective(plan, target)
            is_late = at - now > LATEST_SLOT * interval
            if is_late and account_of(target) == account and target.polled_by(name) not in self._deferred:
                due.put(target, self._next_slot(plan, target, interval, now), next(self._sequence))

    def _repoll_renewed(self, now: float) -> Generator[None, None, None]:
        """Poll the targets of an account at once if its key was refused and has been replaced."""
        for name, account in self._accounts.items():
            if account.client.credential.is_renewed():
                self._log.info("key has changed, polling at once", account=name)
                self._first_discovery.forget(name)
                self._await_names()
                for due in self._due.values():
                    for target in [target for target in due.known if account_of(target) == name]:
                        if target in due.known:
                            due.put(target, now, next(self._sequence))
                        yield

    def _await_names(self) -> None:
        """Wait for a while for the names of configured ids, and no longer: they are polled without a name, too."""
        self._names_by = self._clocks.monotonic() + FIRST_RETRY_SECONDS

    def _discovered_accounts(self) -> set[str]:
        waits = self._clocks.monotonic() < self._names_by
        return {
            target.account
            for collector in self._naming
            for target in self._registry.targets(collector.polls)
            if collector.wants(target) and (waits or discovery.NAMES not in target.watched)
        }

    def all_discovered(self, silent: Collection[str] = ()) -> bool:
        """Return whether the first discovery of each account has ended; arguments as for `FirstDiscovery.are_over`."""
        return self._first_discovery.are_over(silent)

    def _take_targets(self, plan: Plan, due: Timetable, now: float) -> Generator[None, None, None]:
        version = self._registry.version
        targets: dict[Target, Target] = {}
        for target in tuple(self._registry.targets(plan.collector.polls)):
            if plan.collector.wants(target):
                targets[target] = target
            yield
        # If the targets have changed in the meantime, the tick after that change takes them.
        if self._registry.version != version:
            return
        due.version = version
        for target in due.replace(targets):
            if due.version != version:
                return
            # Another tick of the same collector may have added it in the meantime.
            if target not in due.known:
                due.put(target, now, next(self._sequence))
            yield
        self._backoff.forget_others(plan.collector.name, due.known)
        yield from self.intervals.noting(plan, targets)

    def _enqueue(self, plan: Plan, due: Timetable, target: Target, at: float, now: float) -> None:
        interval = self.intervals.effective(plan, target)
        self._deferred.discard(target.polled_by(plan.collector.name))
        following = self._next_slot(plan, target, interval, now)
        due.put(target, following, next(self._sequence))
        missed = int((now - at) // interval)
        account = account_of(target)
        begin_by = min(following, self._turn(plan.collector.name, account, now))
        if not self.pools[account].offer(Run(plan.collector, target, following, begin_by)):
            missed += 1
        if missed:
            self._telemetry.missed.labels(plan.collector.name).inc(missed)

    def _turn(self, collector: str, account: str, now: float) -> float:
        """Return when a poll should begin, so that collectors with waiting polls share the account's capacity evenly.

        So a collector with few targets does not wait for one with thousands in the first round of polls.
        """
        turns, ordered = self._turns[account], self._ordered_turns[account]
        while ordered and ordered[0][0] <= now:
            at, name = heappop(ordered)
            if turns.get(name) == at:
                del turns[name]
        turn = turns.get(collector, now)
        sharing = len(turns) + (collector not in turns)
        turns[collector] = turn + sharing / self._accounts[account].capacity.requests_per_second()
        heappush(ordered, (turns[collector], collector))
        return turn

    def _next_slot(self, plan: Plan, target: Target, interval: float, now: float) -> float:
        """Return the first regular poll of a target that is at least half an interval away."""
        offset = self._due[plan.collector.name].phase(target) * interval
        if target.scouted:
            # Not all shards list the account at the same time.
            share = self._registry.share
            offset = (offset + share.first / share.total * interval) % interval
        return next_slot(offset, interval, now)

    def _show_capacity(self, now: float) -> None:
        self._capacity_shown = now
        self.intervals.measure()
        for name, account in self._accounts.items():
            account.capacity.rate = account.client.rate_limiter.effective_rate
            if not name.startswith(DATABASE_PREFIX):
                self._telemetry.demand.labels(name).set(self.intervals.demand(name))
                for limit, rate in account.capacity.limits().items():
                    self._telemetry.capacity.labels(name, limit).set(rate)
                self._telemetry.budget.labels(name).set(account.client.rate_limiter.effective_rate)
        for name in self.plans:
            self._telemetry.interval.labels(name).set(self.intervals.slowest(name))

    async def _run(self, run: Run) -> None:
        """Poll a target once, record the result, and plan the next poll. No exception leaves this method."""
        run = replace(run, target=self._registry.current(run.target))
        began = self._clocks.monotonic()
        try:
            polled = await self._poll(run)
            await self._finish(run, polled, self._clocks.monotonic() - began)
        except Exception as error:  # noqa: BLE001 - the one boundary: a fault of ours in one poll ends with that poll
            name, target = run.collector.name, run.target
            self._log.error("poll broke", collector=name, target=target.key.label, error=repr(error), exc_info=True)
            fault = PlatformError(f"internal error: {type(error).__name__}")
            await self._finish(run, failed(target, fault), self._clocks.monotonic() - began)

    async def _poll(self, run: Run) -> Polled:
        account = self._accounts[account_of(run.target)]
        recognition = self._results.recognition(run.collector, run.target)
        caller = account.client.until(run.until, recognition)
        found = partial(self._found, run.target.account)
        polled = await self._poller.poll(run.collector, run.target, caller, found=found, recognition=recognition)
        if caller.unexpected:
            polled = polled.noting(caller.unexpected)
        account.capacity.note(run.collector.name, caller.calls, caller.seconds)
        return polled

    async def _finish(self, run: Run, polled: Polled, seconds: float) -> None:
        name = run.collector.name
        self.durations[name] = seconds
        self._telemetry.duration.labels(name).set(seconds)
        plan = self.plans[name]
        account, ended = run.target.account, self._first_discovery.ended
        if tells_names(plan.collector) and ended(account, polled.error, polled.unnamed):
            again = self._clocks.monotonic() + FIRST_RETRY_SECONDS
            self._due[name].put(run.target, again, next(self._sequence))
        if polled.found is not None:
            await self._found(run.target.account, polled.found)
        lifetime = partial(self.intervals.lifetime, plan)
        async for outcome in self._results.record(plan.collector, run.target, polled, lifetime, seconds):
            if outcome.error is None:
                self._backoff.succeeded(name, outcome.target)
            else:
                self._repeat(plan, outcome.target, outcome.error)

    async def _found(self, account: str, found: Inventory) -> None:
        """Update the registry with what a discovery has found, and poll new targets."""
        change = await in_slices(self._registry.applying(account, found), self._clocks.monotonic)
        self._first_discovery.found(account, found)
        for target in change.removed:
            self._log.info("target removed", account=target.account, target=target.key.label, name=target.name)
        if change.removed:
            self._results.forget_removed()
        self._changed(change)
        await self.targets_changed()

    def _repeat(self, plan: Plan, target: Target, error: PlatformError) -> None:
        """Poll a target again soon after a failure, but not earlier than the platform asked."""
        asked = (isinstance(error, RateLimited | ServerError) and error.retry_after) or 0.0
        name, now = plan.collector.name, self._clocks.monotonic()
        due = self._due[name]
        if target not in due.known:
            return
        slot = at = due.known[target][0]
        # A refused key is not tried more often; after a change of the key all targets are polled at once.
        if not self._accounts[account_of(target)].client.credential.is_refused():
            at = self._backoff.failed(name, target, now, slot)
        at = max(at, now + asked)
        if at != slot:
            due.put(target, at, next(self._sequence))
        if asked:
            self._deferred.add(target.polled_by(name))

    def lifetime(self, collector: str, target: Target) -> float:
        """Return the seconds for which the values of a target are valid; 0 for a collector that is not run."""
        plan = self.plans.get(collector)
        return 0.0 if plan is None else self.intervals.lifetime(plan, target)

    def due_at(self, collector: str, target: Target) -> float | None:
        """Return when a target is polled next, on the monotonic clock; None if the collector does not poll it."""
        due = self._due.get(collector)
        known = None if due is None else due.known.get(target)
        return None if known is None else known[0]

    def waits_for_discovery(self, target: Target) -> bool:
        """Return whether a target is not polled before its account's first discovery has ended."""
        return target.account in self._first_discovery.missing() and waits_for_names(target)

    def waits_for_ledger(self, key: PollKey) -> bool:
        """Return whether a successful poll of a target is not yet published by the ledger."""
        return self._results.waits_for_ledger(key)

    def polled(self) -> set[PollKey]:
        """Return the polled targets, once for each of their collectors."""
        return {target.polled_by(name) for name, due in self._due.items() for target in due.known}
