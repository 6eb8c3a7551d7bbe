"""Schedules polls: ticks enqueue the targets that are due, and a fixed number of workers of each account polls them."""

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED
from structlog.typing import FilteringBoundLogger

from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.counters.ledger import Ledger
from exporter.exposition.store import Store
from exporter.log import logger
from exporter.polling import ticks
from exporter.polling.first_discovery import FIRST_RETRY_SECONDS, FirstDiscovery, tells_names, waits_for_names
from exporter.polling.poll import DuePoll, PollMemory, Polls
from exporter.polling.timetable import Account, DueTimes, Plan
from exporter.targets.registry import Change, Registry
from exporter.targets.target import DATABASE_PREFIX, Inventory, PollKey, Target
from exporter.telemetry import Telemetry

TICKS_AN_INTERVAL = 60
SHORTEST_TICK = 0.5
LONGEST_TICK = 5.0
CAPACITY_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class WorkerPool:
    """The queue and the workers of one account. Accounts share nothing, so a slow one delays only itself.

    Polls begin by turns of their collectors, see `turn`. If they began in the order of their arrival, thousands of new
    targets of one collector would delay those of other collectors, and series with short intervals would become stale.

    Attributes:
        starts: shared by the pools of a process, so that workers begin polls one after another.
        busy: targets that are queued or being polled; each is there at most once.
    """

    workers: int
    run: Callable[[DuePoll], Awaitable[None]]
    starts: asyncio.Lock
    busy: set[PollKey] = field(default_factory=set)
    # Collector → the time planned for its next poll, if it is still to come; and the same times in order.
    _turns: dict[str, float] = field(default_factory=dict)
    _ordered_turns: list[tuple[float, str]] = field(default_factory=list)
    # When a poll should begin, a number that keeps the order of equal times, and the poll.
    _queue: asyncio.PriorityQueue[tuple[float, int, DuePoll]] = field(default_factory=asyncio.PriorityQueue)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        """Start the workers."""
        self._tasks = [asyncio.create_task(self._work(), name="poll") for _ in range(self.workers)]

    async def stop(self) -> set[PollKey]:
        """Stop the workers at once; return the polls that were queued or running."""
        unfinished = set(self.busy)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.busy.clear()
        return unfinished

    def offer(self, run: DuePoll, begin_by: float) -> bool:
        """Queue a poll; return False if a poll of the same target by the same collector is queued or running.

        The one with the earliest `begin_by`, on the monotonic clock, begins first.
        """
        key = PollKey(run.target.key, run.collector.name)
        if key in self.busy:
            return False
        self.busy.add(key)
        self._queue.put_nowait((begin_by, next(self._numbers), run))
        return True

    def turn(self, collector: str, now: float, each: float) -> float:
        """Return when a poll should begin, so that collectors with waiting polls share the account's capacity evenly.

        So a collector with few targets does not wait for one with thousands in the first round of polls.

        Args:
            collector: the collector that polls.
            now: the present, on the monotonic clock.
            each: the seconds that the account's capacity takes for a request.
        """
        while self._ordered_turns and self._ordered_turns[0][0] <= now:
            at, name = heapq.heappop(self._ordered_turns)
            if self._turns.get(name) == at:
                del self._turns[name]
        turn = self._turns.get(collector, now)
        sharing = len(self._turns) + (collector not in self._turns)
        self._turns[collector] = turn + sharing * each
        heapq.heappush(self._ordered_turns, (self._turns[collector], collector))
        return turn

    async def _work(self) -> None:
        while True:
            _, _, run = await self._queue.get()
            try:
                # Without this, all polls of a tick would begin at once, and a scrape would wait for all of them.
                async with self.starts:
                    await asyncio.sleep(0)
                await self.run(run)
            finally:
                self.busy.discard(PollKey(run.target.key, run.collector.name))


@dataclass(eq=False, repr=False)
class Schedule:
    """Enqueues the targets that are due.

    Attributes:
        plans: collector → how it is run.
        accounts: the accounts and databases, by their targets' `client_name`.
        changed: called when the targets have changed.
        memory: what is known of polls beyond a reload. Due times are kept; only interrupted polls are repeated at once.
        max_label_values: the most label values of a metric for each target.
        due_times: when each target is polled next.
        intervals: the seconds between two polls of each target.
        durations: collector → duration of its last poll in seconds.
        last_tick: when a tick last began, on the monotonic clock.
        pools: account → its workers, and the polls that are queued or running.
    """

    plans: Mapping[str, Plan]
    accounts: Mapping[str, Account]
    registry: Registry
    store: Store
    ledger: Ledger
    telemetry: Telemetry
    clocks: Clocks
    changed: Callable[[Change], None]
    memory: PollMemory
    max_label_values: int
    due_times: DueTimes = field(init=False)
    last_tick: float = field(init=False)
    pools: dict[str, WorkerPool] = field(init=False)
    _unfinished: set[PollKey] = field(default_factory=set)
    _log: FilteringBoundLogger = field(default_factory=logger)

    def __post_init__(self) -> None:
        accounts, registry, store = self.accounts, self.registry, self.store
        clocks, memory = self.clocks, self.memory
        self._naming = [plan.collector for plan in self.plans.values() if tells_names(plan.collector)]
        self.last_tick = self._capacity_shown = clocks.monotonic()
        self._await_names()
        memory.collectors = {name: plan.collector for name, plan in self.plans.items()}
        memory.accounts = accounts
        memory.forget_removed(registry)
        self._first_discovery = first = FirstDiscovery(self._discovered_accounts, memory.discovered)
        self.due_times = due_times = DueTimes(
            self.plans, accounts, registry, first, clocks.monotonic, due=memory.due, deferred=memory.deferred
        )
        memory.due = {}
        self.intervals, self.durations = due_times.intervals, memory.durations
        polls = Polls(
            accounts,
            due_times,
            self._found,
            registry,
            store,
            self.ledger,
            self.telemetry,
            clocks,
            memory,
            self.max_label_values,
        )
        starts = asyncio.Lock()
        self.pools = {
            name: WorkerPool(account.client.rate_limiter.max_in_flight, polls.run, starts)
            for name, account in accounts.items()
        }
        self._scheduler = ticks.scheduler(clocks.monotonic)
        self._scheduler.add_listener(
            lambda lost: self.telemetry.missed.labels(lost.job_id).inc(), EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES
        )

    def hand_over(self, moved: Collection[str] = ()) -> PollMemory:
        """Return what the schedule that replaces this one takes over; accounts that have `moved` are polled at once."""
        refused = {name for name, account in self.accounts.items() if account.client.credential.is_refused()}
        refused.update(moved)
        # The new settings may contain ids without a name.
        unnamed = {name for name in self.accounts if self.registry.lacking(name)}
        naming = {collector.name for collector in self._naming}

        def starts_again(name: str, target: Target) -> bool:
            again = refused | unnamed if name in naming else refused
            # Where discovery is off, a reload looks up the names again.
            is_named = name in naming and discovery.NAMES in target.watched
            return is_named or target.client_name in again or PollKey(target.key, name) in self._unfinished

        self.memory.discovered = frozenset(self._first_discovery.over - refused - unnamed)
        self.memory.due = self.due_times.kept(starts_again)
        return self.memory

    def start(self) -> None:
        """Poll everything now, limited only by the budgets, and then at the intervals."""
        for name, plan in self.plans.items():
            seconds = min(LONGEST_TICK, max(SHORTEST_TICK, plan.interval / TICKS_AN_INTERVAL))
            self._scheduler.add_job(self._tick_on_loop, ticks.Every(seconds), args=(name,), id=name)
        self._scheduler.start()
        self.open()

    def open(self) -> None:
        """Start the workers, and enqueue the first round."""
        for pool in self.pools.values():
            pool.start()
        for name in self.plans:
            # The series starts at 0, so that its first event is an increase.
            self.telemetry.missed.labels(name)
            self.tick(name)
        self._show_capacity(self.last_tick)

    async def targets_changed(self) -> None:
        """Poll new targets at once."""
        for name in self.plans:
            self.tick(name)
            # With thousands of new targets a tick takes long; others run between those of two collectors.
            await asyncio.sleep(0)
        self._show_capacity(self.last_tick)

    async def poll_again(self, keys: Collection[PollKey]) -> None:
        """Poll targets at once, within the budgets."""
        for name in self.plans:
            own = {key.target for key in keys if key.collector == name}
            self.due_times.make_due(name, lambda target, own=own: target.key in own)  # type: ignore[misc] # of this round
            self.tick(name)
            await asyncio.sleep(0)

    async def stop(self) -> None:
        """Stop ticking, and cancel the polls that are running; those that wait for the ledger continue."""
        if self._scheduler.running:
            self._scheduler.remove_all_jobs()
            # A submitted tick must begin before it is cancelled.
            await asyncio.sleep(0)
            self._scheduler.shutdown(wait=False)
        for pool in self.pools.values():
            self._unfinished |= await pool.stop()
        self.memory.failures.sum_up(end=True)

    async def _tick_on_loop(self, name: str) -> None:
        """Enqueue due targets on the event loop; APScheduler would run a job that is not a coroutine on a thread."""
        self.tick(name)

    def tick(self, name: str) -> None:
        """Enqueue the targets of a collector that are due."""
        now = self.clocks.monotonic()
        self.last_tick = now
        plan, timetable = self.plans[name], self.due_times.timetables[name]
        if timetable.version != self.registry.version:
            self.due_times.take_targets(plan, now)
        # The first discovery of these accounts will supply names for the labels of targets.
        missing = self._first_discovery.missing() if self._naming and not plan.collector.discovers else set[str]()
        for at, target in timetable.pop(now, lambda target: target.account in missing and waits_for_names(target)):
            self._enqueue(plan, target, at, now)
        if now - self._capacity_shown >= CAPACITY_SECONDS:
            self._show_capacity(now)
            self.due_times.catch_up(now)
            for account, entry in self.accounts.items():
                if entry.client.credential.is_renewed():
                    self._repoll(account)
            if now >= self.memory.failures.sum_up_at:
                self.memory.failures.sum_up()

    def _enqueue(self, plan: Plan, target: Target, at: float, now: float) -> None:
        """Enqueue a poll that has been due since `at`, and count the runs that were missed."""
        account = target.client_name
        pool, capacity = self.pools[account], self.accounts[account].capacity
        interval = self.intervals.effective(plan, target)
        following = self.due_times.begun(plan, target, interval, now)
        begin_by = min(following, pool.turn(plan.collector.name, now, 1 / min(capacity.limits().values())))
        missed = int((now - at) // interval)
        if not pool.offer(DuePoll(plan.collector, target, following), begin_by):
            missed += 1
        if missed:
            self.telemetry.missed.labels(plan.collector.name).inc(missed)

    def _show_capacity(self, now: float) -> None:
        self._capacity_shown = now
        self.intervals.measure()
        for name, account in self.accounts.items():
            account.capacity.rate = account.client.rate_limiter.effective_rate
            if not name.startswith(DATABASE_PREFIX):
                if (offset := self.ledger.platform_time(name).offset) is not None:
                    self.telemetry.clock_offset.labels(name).set(offset)
                self.telemetry.demand.labels(name).set(self.intervals.demand.get(name, 0.0))
                for limit, rate in account.capacity.limits().items():
                    self.telemetry.capacity.labels(name, limit).set(rate)
                self.telemetry.budget.labels(name).set(account.client.rate_limiter.effective_rate)
        for name in self.plans:
            self.telemetry.interval.labels(name).set(self.intervals.slowest(name))

    def _repoll(self, account: str) -> None:
        """Poll the targets of an account at once, because its key was refused and has been replaced."""
        self._log.info("key has changed, polling at once", account=account)
        self._first_discovery.forget(account)
        self._await_names()
        self.due_times.make_account_due(account)

    async def _found(self, account: str, found: Inventory) -> None:
        """Update the registry with what a discovery has found, and poll new targets."""
        change = self.registry.apply(account, found)
        self._first_discovery.found(account, found)
        for target in change.removed:
            self._log.info("target removed", account=target.account, target=target.key.label, name=target.name)
        if change.removed:
            self.memory.forget_removed(self.registry)
        self.changed(change)
        await asyncio.sleep(0)
        await self.targets_changed()

    def _await_names(self) -> None:
        """Wait for a while for the names of configured ids, and no longer: they are polled without a name, too."""
        self._names_by = self.clocks.monotonic() + FIRST_RETRY_SECONDS

    def _discovered_accounts(self) -> set[str]:
        waits = self.clocks.monotonic() < self._names_by
        return {
            target.account
            for collector in self._naming
            for target in self.registry.targets(collector.polls, every_shard=True)
            if collector.wants(target) and (waits or discovery.NAMES not in target.watched)
        }

    def next_due(self, collector: str) -> float:
        """Return when the next target of a collector is due, on the monotonic clock."""
        earliest = self.due_times.timetables[collector].earliest()
        return self.last_tick + self.plans[collector].interval if earliest is None else earliest

    def all_discovered(self, silent: Collection[str] = ()) -> bool:
        """Return whether the first discovery of each account has ended; arguments as for `FirstDiscovery.are_over`."""
        return self._first_discovery.are_over(silent)

    def is_gone(self, target: Target) -> bool:
        """Return whether a target's own answer has said that it no longer exists."""
        return target in self.memory.gone
