"""When each target is polled, and the one boundary at which a poll's failure ends."""

import asyncio
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from apscheduler.events import EVENT_JOB_MAX_INSTANCES, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler

from exporter.collector import Context, Inventory, Outcome, Polled, Target
from exporter.due import Due, next_slot, phase
from exporter.intervals import DATABASE_PREFIX, Account, Intervals, Plan, account_of
from exporter.lane import Lane, Run
from exporter.ledger import Ledger
from exporter.log import logger
from exporter.platform.budget import LONGEST_HONOURED_PAUSE
from exporter.platform.errors import (
    CredentialError,
    PlatformError,
    RateLimited,
    ServerError,
    TransportError,
    Unauthorized,
)
from exporter.settlement import Settlement
from exporter.store import Store
from exporter.targets import Change, Registry
from exporter.telemetry import Telemetry

TICKS_AN_INTERVAL = 60
SHORTEST_TICK = 0.5
LONGEST_TICK = 5.0
PACE_SECONDS = 1.0
# Where nobody answers the first discovery, as a platform that is down or a key that is wrong, it is tried again so
# often before anything is polled without the names that it would have told.
FIRST_TRIES = 5
FIRST_RETRY_SECONDS = 10.0
NAMED_BY_DISCOVERY = frozenset({"dns_zone", "script", "shield_zone"})


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of the scheduler, injected so that tests turn them."""

    wall: Callable[[], float]
    monotonic: Callable[[], float]
    utc: Callable[[], datetime]


def _waits_for_names(target: Target) -> bool:
    """Whether labels of a target carry names that the first discovery tells: its own, or those of what it lists."""
    return target.kind == "account" or (target.kind in NAMED_BY_DISCOVERY and not target.name)


class Schedule:
    """Enqueues what is due, and polls it.

    Args:
        plans: the collectors that are run.
        accounts: by the name that `account_of` gives.
        registry: which targets there are.
        store: where polls are published.
        ledger: where counters are counted.
        telemetry: where the program's own metrics are kept.
        clocks: the clocks.
        call_soon: hands a call over to the event loop, from any thread.
        changed: told when the targets have changed.
        predecessor: the schedule that this one takes over from, which has stopped: a reload polls nothing before its
            time but what it cut off.
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
        predecessor: "Schedule | None" = None,
    ) -> None:
        self.plans = {plan.collector.name: plan for plan in plans}
        self.discovered: set[str] = set()
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
        self._due = {name: Due() for name in self.plans}
        self._paced = self.last_tick
        self._settlement = Settlement(
            registry, store, ledger, wall=clocks.wall, monotonic=clocks.monotonic, call_soon=call_soon
        )
        self._tries: dict[str, int] = {}
        self._unfinished: set[tuple[str, Target]] = set()
        # Accounts of whose first discovery a part was answered.
        self._begun: set[str] = set()
        self.intervals = Intervals(self.plans, self._accounts, registry.shard)
        starts = asyncio.Lock()
        self._lanes = {
            name: Lane(account.pace.max_in_flight, self._run, starts) for name, account in self._accounts.items()
        }
        if predecessor is not None:
            self._inherit(predecessor)
        self._settlement.running = self.plans.keys()
        self._scheduler = AsyncIOScheduler(job_defaults={"misfire_grace_time": None, "coalesce": True})
        self._scheduler.add_listener(self._tick_lost, EVENT_JOB_MISSED | EVENT_JOB_MAX_INSTANCES)

    @property
    def accounts(self) -> Mapping[str, Account]:
        """The accounts and databases that are polled."""
        return self._accounts

    def _inherit(self, predecessor: "Schedule") -> None:
        # Its own kind: what a schedule keeps to itself it does not keep from its successor.
        self.discovered = set(predecessor.discovered)
        self.durations = {name: seconds for name, seconds in predecessor.durations.items() if name in self.plans}
        self._settlement = predecessor._settlement  # noqa: SLF001
        self._settlement.forget_removed()
        # Whoever reloads after a key was refused has mended it.
        refused = {name for name, account in predecessor.accounts.items() if account.client.credential.is_refused()}
        for name in refused:
            self._forget_discovery(name)
        for name, plan in self.plans.items():
            former = predecessor.plans.get(name)
            if former is not None and former.interval == plan.interval:
                known = predecessor._due[name].known  # noqa: SLF001
                self._due[name].known = {
                    target: when
                    for target, when in known.items()
                    if account_of(target) not in refused and (name, target) not in predecessor._unfinished  # noqa: SLF001
                }

    def start(self) -> None:
        """Poll everything at once, limited by the budgets only, and go on by the intervals."""
        for plan in self.plans.values():
            seconds = min(LONGEST_TICK, max(SHORTEST_TICK, plan.interval / TICKS_AN_INTERVAL))
            name = plan.collector.name
            self._scheduler.add_job(self._tick_on_loop, "interval", seconds=seconds, args=(name,), id=name)
        self._scheduler.start()
        self.open()

    def open(self) -> None:
        """Set the workers to work, and enqueue the first round."""
        self._telemetry.declare_collectors(self.plans)
        for lane in self._lanes.values():
            lane.start()
        for name in self.plans:
            self.tick(name)

    async def drained(self) -> None:
        """Wait until nothing is queued or under way."""
        for lane in self._lanes.values():
            await lane.drained()

    async def stop(self) -> None:
        """Stop ticking, and stop the polls that are under way."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        for lane in self._lanes.values():
            self._unfinished |= await lane.stop()
        self._settlement.chronicle.sum_up(end=True)

    def _tick_lost(self, event: JobExecutionEvent) -> None:
        self._telemetry.missed.labels(event.job_id).inc()

    async def _tick_on_loop(self, name: str) -> None:
        """Tick. APScheduler runs a job that is no coroutine on a thread, and nothing here is made for that."""
        self.tick(name)

    def tick(self, name: str) -> None:
        """Enqueue the targets of a collector that are due."""
        now = self._clocks.monotonic()
        self.last_tick = now
        plan, due = self.plans[name], self._due[name]
        if due.version != self._registry.version:
            self._take_targets(plan, due, now)
        undiscovered = self._undiscovered() if name != "discovery" else set[str]()
        waiting: list[tuple[float, int, Target]] = []
        for at, turn, target in due.pop(now):
            # Its labels carry names that the account's first discovery will tell.
            if target.account in undiscovered and _waits_for_names(target):
                waiting.append((at, turn, target))
            else:
                self._enqueue(plan, due, target, at, now)
        due.put_back(waiting)
        earliest = due.earliest()
        self.next_due[name] = now + plan.interval if earliest is None else earliest
        if now - self._paced >= PACE_SECONDS:
            self._show_pace(now)
            self._greet_renewed(now)
            self._settlement.chronicle.sum_up()

    def _greet_renewed(self, now: float) -> None:
        """Poll what an account has at once where its key was refused and is another one now."""
        for name, account in self._accounts.items():
            if account.client.credential.is_renewed():
                self._log.info("key has changed, polling at once", account=name)
                self._forget_discovery(name)
                for due in self._due.values():
                    for target in [target for target in due.known if account_of(target) == name]:
                        due.put(target, now, next(self._sequence))

    def _forget_discovery(self, account: str) -> None:
        # A discovery that was refused has told no names, and what is shown before it has none for ever.
        self.discovered.discard(account)
        self._begun.discard(account)
        self._tries.pop(account, None)

    def _undiscovered(self) -> set[str]:
        plan = self.plans.get("discovery")
        if plan is None:
            return set()
        targets = self._registry.targets("account")
        return {target.account for target in targets if plan.collector.wants(target)} - self.discovered

    def all_discovered(self, silent: Collection[str] = ()) -> bool:
        """Whether each account's first discovery has ended, well or not.

        Args:
            silent: accounts that do not answer. Of these it has ended with the first try, though others follow: one
                account that is down must not keep the rest from being ready.
        """
        return self._undiscovered() <= self._tries.keys() & set(silent)

    def _take_targets(self, plan: Plan, due: Due, now: float) -> None:
        due.version = self._registry.version
        targets = {
            target: target for target in self._registry.targets(plan.collector.polls) if plan.collector.wants(target)
        }
        for target in due.replace(targets):
            due.put(target, now, next(self._sequence))
        self.intervals.note(plan, targets)
        self._show_pace(now)

    def _enqueue(self, plan: Plan, due: Due, target: Target, at: float, now: float) -> None:
        interval = self.intervals.effective(plan, target)
        following = self._next_slot(plan, target, interval, now)
        due.put(target, following, next(self._sequence))
        missed = int((now - at) // interval)
        if not self._lanes[account_of(target)].offer(Run(plan.collector, target, following)):
            missed += 1
        if missed:
            self._telemetry.missed.labels(plan.collector.name).inc(missed)

    def _next_slot(self, plan: Plan, target: Target, interval: float, now: float) -> float:
        """The first of the target's own slots that is at least half an interval away."""
        offset = phase(plan.collector.name, target, interval)
        if target.scouted:
            # Not all shards at once.
            offset = (offset + self._registry.shard.index / self._registry.shard.total * interval) % interval
        return next_slot(offset, interval, now)

    def _show_pace(self, now: float) -> None:
        self._paced = now
        for name, account in self._accounts.items():
            account.pace.rate = account.client.budget.effective_rate
            if not name.startswith(DATABASE_PREFIX):
                self._telemetry.demand.labels(name).set(self.intervals.demand(name))
                self._telemetry.budget.labels(name).set(account.client.budget.effective_rate)
        for name in self.plans:
            self._telemetry.interval.labels(name).set(self.intervals.slowest(name))

    async def _run(self, run: Run) -> None:
        """Poll a target once; whatever happens stays here."""
        began = self._clocks.monotonic()
        try:
            polled = await self._poll(run)
            self._settle(run, polled, self._clocks.monotonic() - began)
        except Exception as error:  # noqa: BLE001 - the one boundary: a fault of ours in one poll ends with that poll
            name, target = run.collector.name, run.target
            self._log.error("poll broke", collector=name, target=target.key, error=repr(error), exc_info=True)
            fault = PlatformError(f"internal error: {type(error).__name__}")
            self._settle(run, Polled((Outcome(target, error=fault),)), self._clocks.monotonic() - began)

    async def _poll(self, run: Run) -> Polled:
        began = self._clocks.monotonic()
        account = self._accounts[account_of(run.target)]
        caller = account.client.until(run.until)
        context = Context(
            caller,
            self._registry,
            self._clocks.utc(),
            self._clocks.monotonic,
            owns=self._registry.owns,
            tell=partial(self._found, run.target.account),
        )
        try:
            polled = await run.collector.poll(context, run.target)
        except PlatformError as error:
            polled = Polled((Outcome(run.target, error=error),))
        account.pace.note(run.collector.name, caller.calls, self._clocks.monotonic() - began)
        return polled

    def _settle(self, run: Run, polled: Polled, seconds: float) -> None:
        self.durations[run.collector.name] = seconds
        self._telemetry.duration.labels(run.collector.name).set(seconds)
        plan = self.plans[run.collector.name]
        if run.collector.name == "discovery":
            self._note_discovery(run.target, polled)
        if polled.found is not None:
            self._found(run.target.account, polled.found)
        now = polled.date or self._clocks.utc()
        if run.target.scouted:
            error = polled.outcomes[0].error
            told = (error.reason, str(error)) if error is not None else None
            self._settlement.chronicle.lists(run.collector.name, run.target.account, told)
        for outcome in polled.outcomes:
            is_own = outcome.target == run.target
            # Targets may have been removed while they were polled, and listings tell of some that are not ours.
            if not (self._registry.holds(run.target) if is_own else self._registry.admits(outcome.target)):
                continue
            self._registry.show(outcome.target)
            self._settle_one(plan, outcome, now, seconds)

    def _note_discovery(self, target: Target, polled: Polled) -> None:
        """Note that an account's first discovery has ended, unless nobody answered it and it is tried again soon."""
        account, error = target.account, polled.outcomes[0].error
        is_unanswered = isinstance(error, TransportError | Unauthorized | CredentialError)
        is_unanswered = is_unanswered and account not in self._begun
        if account in self.discovered or not is_unanswered or self._tries.get(account, 0) >= FIRST_TRIES:
            self.discovered.add(account)
            return
        self._tries[account] = self._tries.get(account, 0) + 1
        self._due["discovery"].put(target, self._clocks.monotonic() + FIRST_RETRY_SECONDS, next(self._sequence))

    def _found(self, account: str, found: Inventory) -> None:
        """Take over which resources an account has, and poll what is new."""
        if found.names_follow:
            self._begun.add(account)
        elif found.rolls:
            self.discovered.add(account)
        change = self._registry.apply(account, found)
        for target in change.removed:
            self._log.info("target removed", account=target.account, target=target.key, name=target.name)
        if change.removed:
            self._settlement.forget_removed()
        self._changed(change)
        for name in self.plans:
            self.tick(name)

    def _settle_one(self, plan: Plan, outcome: Outcome, now: datetime, seconds: float) -> None:
        target, error = outcome.target, outcome.error
        lifetime = self.intervals.lifetime(plan, target)
        if error is None:
            self._settlement.succeeded(plan.collector, outcome, now, lifetime=lifetime, duration=seconds)
            return
        others = [other.collector for other in self.plans.values() if other.collector.polls == target.kind]
        self._settlement.failed(plan.collector, outcome, error, others, lifetime=lifetime, duration=seconds)
        if isinstance(error, RateLimited | ServerError) and error.retry_after is not None:
            self._defer(plan, target, min(error.retry_after, LONGEST_HONOURED_PAUSE))

    def _defer(self, plan: Plan, target: Target, seconds: float) -> None:
        """Leave a target alone for as long as the platform asked."""
        due = self._due[plan.collector.name]
        until = self._clocks.monotonic() + seconds
        if target in due.known and due.known[target][0] < until:
            due.put(target, until, next(self._sequence))

    def polls(self, collector: str, target: Target) -> bool:
        """Whether a collector polls a target."""
        return collector in self._due and target in self._due[collector].known
