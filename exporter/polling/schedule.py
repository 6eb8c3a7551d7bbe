"""Decides when each target is polled, and begins its polls.

Three rules decide when:

1. The polls of an account are spread evenly over the interval, in the order of the exposition: targets that change at
   the same time are in the same segments. New targets are polled at once, as the budget allows.
2. After a failure a target is polled sooner: after a minute, then two, four and so on, with jitter, but never before
   the time that the platform asked for. With a refused key, or if the budget is used up, it waits for its regular poll.
3. The interval is the longer of the configured one and the one at which the targets' polls fit into the budget.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any
from zlib import crc32

from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.collectors.collector import Collector, PollResult
from exporter.log import logger
from exporter.platform.errors import PlatformError, asks_to_wait
from exporter.polling import ticks
from exporter.polling.due_times import DueTimes
from exporter.polling.first_discovery import FIRST_RETRY_SECONDS, FirstDiscovery, tells_names, waits_for_names
from exporter.polling.pace import STALE_INTERVALS, Account, Plan
from exporter.targets.registry import Registry
from exporter.targets.target import DATABASE_PREFIX, Inventory, PollKey, Target, TargetKey
from exporter.telemetry import Telemetry

TICK_SECONDS = 1.0
# The polls that may run at once beside those that call the platform: they wait for the ledger. While it is slower than
# the platform, no further polls begin, so that memory has a bound.
MOST_RECORDING = 150
# The seconds before the first repeat of a failed poll; each further repeat waits twice as long as the one before.
FIRST_WAIT = 60.0
MOST_DOUBLINGS = 20


@dataclass(slots=True, eq=False)
class RunningPoll:
    """A poll that is due, with all that it may assume.

    Attributes:
        plan: how its collector is run.
        target: the target.
        account: the account or the database of the target.
        until: when the next poll of the same target is due, on the monotonic clock.
        is_answered: whether the platform has answered, so that another poll of the account may call it.
        task: runs the poll.
    """

    plan: Plan
    target: Target
    account: Account
    until: float
    is_answered: bool = False
    task: "asyncio.Task[None] | None" = None


class Schedule:
    """Begins the polls of targets that are due. A reload gives it other plans and accounts; what is equal goes on.

    Args:
        registry: the targets.
        clocks: the clocks.
        random: returns a number in [0, 1).
        changed: called with the targets that are removed when a discovery has ended.

    Attributes:
        plans: collector → how it is run.
        accounts: the accounts and databases, by their targets' `client_name`.
        last_tick: when a tick last began, on the monotonic clock.
        running: the polls that run; at most one for each target and collector.
        durations: collector → duration of its last poll in seconds.
        gone: the targets that no longer exist, as their own answers have said.
    """

    def __init__(
        self,
        registry: Registry,
        telemetry: Telemetry,
        clocks: Clocks,
        random: Callable[[], float],
        changed: Callable[[Collection[Target]], None],
    ) -> None:
        self.plans: Mapping[str, Plan] = {}
        self.accounts: Mapping[str, Account] = {}
        self.last_tick = clocks.monotonic()
        self.running: dict[PollKey, RunningPoll] = {}
        self.durations: dict[str, float] = {}
        self.gone: set[Target] = set()
        self._registry = registry
        self._telemetry = telemetry
        self._clocks = clocks
        self._random = random
        self._changed = changed
        self._due = DueTimes()
        # Collector → target → its place in the interval, from 0 to 1.
        self._places: dict[str, dict[TargetKey, float]] = {}
        # How often in a row the polls of a target by a collector have failed; a success removes the entry.
        self._failures: dict[PollKey, int] = {}
        # Account → how many of its polls have no answer yet.
        self._calling: dict[str, int] = {}
        # The version of the registry and the accounts without names from which the targets were taken; None if they are
        # not those of the plans and accounts in use.
        self._taken_from: tuple[int, set[str]] | None = None
        self._names_by = 0.0
        self._first_discovery = FirstDiscovery(self._discovered_accounts)
        self._scheduler = ticks.scheduler(clocks.monotonic)
        self._log = logger()

    def use(self, plans: Mapping[str, Plan], accounts: Mapping[str, Account], anew: Collection[str] = ()) -> None:
        """Run these plans for these accounts from the next tick on; those that are the same objects go on.

        Polls of others are cancelled, and begin again. All targets of accounts `anew`, and of those whose key is
        refused, are polled at once; names that are lacking are looked up at once.
        """
        refused = {name for name, account in self.accounts.items() if account.client.credential.is_refused()}
        renewed, unnamed = refused | set(anew), {name for name in self.accounts if self._registry.lacking(name)}
        kept = {
            name for name, plan in plans.items() if name in self.plans and plan.interval == self.plans[name].interval
        }
        for account in renewed | unnamed | self.accounts.keys() - accounts.keys():
            self._first_discovery.forget(account)
        self.plans, self.accounts, self._taken_from = plans, accounts, None
        self._due.keep(kept, accounts.keys())
        now = self._clocks.monotonic()
        for key, due in list(self.running.items()):
            if due.task is not None and not self.is_in_force(due):
                due.task.cancel()
                del self.running[key]
                if self._due.find(key) is not None:
                    self._due.put(key.collector, due.target, now)
        self._await_names()
        for name in plans:
            # The series starts at 0, so that its first event is an increase.
            self._telemetry.missed.labels(name)

        def starts_again(plan: Plan, target: Target) -> bool:
            # Where discovery is off, a reload looks up the names again.
            is_lacking = target.client_name in unnamed or discovery.NAMES in target.watched
            return target.client_name in renewed or (tells_names(plan.collector) and is_lacking)

        self._make_due(starts_again)

    def _make_due(self, wanted: Callable[[Plan, Target], bool]) -> None:
        """Make the targets of plans due now that are wanted."""
        now = self._clocks.monotonic()
        for name, plan in self.plans.items():
            for target in [entry.target for entry in self._due.of(name).values() if wanted(plan, entry.target)]:
                self._due.put(name, target, now)

    def is_in_force(self, due: RunningPoll) -> bool:
        """Return whether the plan and the account with which a poll began are still those in use."""
        is_planned = self.plans.get(due.plan.collector.name) is due.plan
        return is_planned and self.accounts.get(due.target.client_name) is due.account

    async def start(self, poll: Callable[[RunningPoll], Coroutine[Any, Any, None]]) -> None:
        """Poll everything now, limited only by the budgets, and then at the intervals; `poll` never fails."""
        self.poll = poll
        await self.tick()
        self._scheduler.add_job(self.tick, ticks.Every(TICK_SECONDS))
        self._scheduler.start()

    async def stop(self) -> None:
        """Stop ticking, and cancel the polls that run."""
        if self._scheduler.running:
            self._scheduler.remove_all_jobs()
            # A submitted tick must begin before it is cancelled.
            await asyncio.sleep(0)
            self._scheduler.shutdown(wait=False)
        # No further poll begins when one ends.
        self._taken_from = None
        tasks = [due.task for due in self.running.values() if due.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def tick(self) -> None:
        """Compare keys and targets with those that are known, and begin the polls that are due."""
        self.last_tick = self._clocks.monotonic()
        self._compare_keys()
        self._take_targets()
        self._measure()
        for account in self.accounts:
            self._begin(account)

    def _begin(self, name: str) -> None:
        """Begin the polls of an account that are due, as many as may call its platform at once."""
        account, now = self.accounts.get(name), self._clocks.monotonic()
        if account is None or self._taken_from is None:
            return
        most_calling = account.pace.max_in_flight
        while self._calling.get(name, 0) < most_calling and len(self.running) < most_calling + MOST_RECORDING:
            entry = self._due.first(name)
            if entry is None or entry.at > now:
                return
            plan, target, key = self.plans[entry.collector], entry.target, entry.key
            if left := account.client.rate_limiter.pause(*(one.name for one in plan.collector.operations)):
                self._due.put(entry.collector, target, now + left)
                continue
            interval = account.pace.interval(plan, target)
            until = self._regular(key, interval, now)
            self._due.put(entry.collector, target, until)
            missed = int((now - entry.at) // interval) + (key in self.running)
            if missed:
                self._telemetry.missed.labels(entry.collector).inc(missed)
            if key not in self.running:
                self._calling[name] = self._calling.get(name, 0) + 1
                due = self.running[key] = RunningPoll(plan, target, account, until)
                due.task = asyncio.create_task(self.poll(due), name="poll")
                due.task.add_done_callback(partial(self._ended, key, due))

    def answered(self, due: RunningPoll) -> None:
        """Record that the platform has answered, or that the poll has ended: another poll may call it."""
        if not due.is_answered:
            due.is_answered = True
            self._calling[due.target.client_name] -= 1
        self._begin(due.target.client_name)

    def _ended(self, key: PollKey, due: RunningPoll, _task: "asyncio.Task[None]") -> None:
        # A cancelled poll may have a successor here.
        if self.running.get(key) is due:
            del self.running[key]
        self.answered(due)

    def _regular(self, key: PollKey, interval: float, now: float) -> float:
        """Return the first regular poll of a target that is at least half an interval away."""
        place = self._places[key.collector].get(key.target, 0.0) * interval
        return place + -(-(now + interval / 2 - place) // interval) * interval

    def succeeded(self, key: PollKey) -> None:
        """Record that a poll has succeeded."""
        self._failures.pop(key, None)

    def failed(self, collector: Collector, target: Target, error: PlatformError) -> None:
        """Poll a target again soon after a failure, but not earlier than the platform asked."""
        key = PollKey(target.key, collector.name)
        entry, account = self._due.find(key), self.accounts.get(target.client_name)
        if entry is None or account is None:
            return
        now, at = self._clocks.monotonic(), entry.at
        # A refused key is not tried more often; after a change of the key all targets are polled at once.
        if account.pace.stretch <= 1.0 and not account.client.credential.is_refused():
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            wait = FIRST_WAIT * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
            at = min(at, now + wait * (1 + self._random()) / 2)
        if asks_to_wait(error):
            at = max(at, now + (error.retry_after or 0.0))
        if at != entry.at:
            self._due.put(entry.collector, entry.target, at)

    def _take_targets(self) -> None:
        """Take over the targets if they have changed; new ones are due one after another, as the budget allows."""
        # The first discovery of these accounts will supply names for the labels of targets.
        missing = self._first_discovery.missing()
        taken_from = self._registry.version, missing
        if self._taken_from == taken_from:
            return
        # Account → new targets, with their number among the new ones of their collector.
        fresh: dict[str, list[tuple[int, str, Target]]] = {}
        for name, plan in self.plans.items():
            targets: dict[str, list[Target]] = {account: [] for account in self.accounts}
            for target in self._targets(plan):
                targets[target.client_name].append(target)
            places = self._places[name] = {}
            for account, own in targets.items():
                self.accounts[account].pace.note_targets(plan, own)
                # Collectors and accounts begin at different moments.
                begin = crc32(f"{name}|{account}".encode()) / 2**32
                places.update((one.key, (begin + number / len(own)) % 1.0) for number, one in enumerate(own))
            known = [one for own in targets.values() for one in own if not self._waits(plan, one, missing)]
            for number, target in enumerate(self._due.replace(name, known)):
                fresh.setdefault(target.client_name, []).append((number, name, target))
        self._taken_from = taken_from
        now = self._clocks.monotonic()
        for account, polls in fresh.items():
            pace, ahead = self.accounts[account].pace, 0.0
            # In turns, so that the few of one collector do not wait behind the many of another.
            for _, name, target in sorted(polls, key=itemgetter(0)):
                # What the budget allows before the next tick is due at once.
                self._due.put(name, target, now + ahead // TICK_SECONDS * TICK_SECONDS)
                ahead += pace.cost(name) / pace.rate
        for key in [key for key in self._failures if self._due.find(key) is None]:
            del self._failures[key]

    def _waits(self, plan: Plan, target: Target, missing: Collection[str]) -> bool:
        """Return whether a target is not polled yet, because a first discovery will tell its name."""
        return target.account in missing and not plan.collector.discovers and waits_for_names(target)

    def _targets(self, plan: Plan) -> Iterator[Target]:
        """Yield the targets of a collector."""
        collector = plan.collector
        found = self._registry.targets(collector.polls, every_shard=collector.every_shard)
        return (target for target in found if target.client_name in self.accounts and collector.wants(target))

    def _compare_keys(self) -> None:
        """Poll the targets of accounts at once whose key was refused and has been replaced."""
        for name, account in self.accounts.items():
            if account.client.credential.take_renewal():
                self._log.info("key has changed, polling at once", account=name)
                self._first_discovery.forget(name)
                self._await_names()
                self._make_due(partial(_is_of, name))

    def _measure(self) -> None:
        """Update pace and budget metrics."""
        for name, account in self.accounts.items():
            pace, rate = account.pace, account.client.rate_limiter.effective_rate
            pace.measure(rate)
            if not name.startswith(DATABASE_PREFIX):
                self._telemetry.demand.labels(name).set(pace.demand)
                for limit, allowed in pace.limits().items():
                    self._telemetry.capacity.labels(name, limit).set(allowed)
                self._telemetry.budget.labels(name).set(rate)
        for name in self.plans:
            self._telemetry.interval.labels(name).set(self.slowest(name))

    async def poll_again(self, keys: Collection[PollKey]) -> None:
        """Poll targets at once, within the budgets."""
        for key in keys:
            if (entry := self._due.find(key)) is not None:
                self._due.put(key.collector, entry.target, self._clocks.monotonic())
        await self.tick()

    async def found(self, account: str, found: Inventory) -> None:
        """Update the registry with what a discovery has found, and poll new targets."""
        removed = self._registry.apply(account, found)
        self._first_discovery.found(account, found)
        for target in removed:
            self._log.info("target removed", account=target.account, target=target.key.label, name=target.name)
        self._changed(removed)
        await asyncio.sleep(0)
        await self.tick()

    def discovery_ended(self, collector: Collector, target: Target, polled: PollResult) -> None:
        """Record that a discovery has ended; a first one without an answer is repeated soon."""
        ended = self._first_discovery.ended
        if tells_names(collector) and ended(target.account, polled.error, polled.unnamed):
            self._due.put(collector.name, target, self._clocks.monotonic() + FIRST_RETRY_SECONDS)

    def _await_names(self) -> None:
        """Wait for a while for the names of configured ids, and no longer: they are polled without a name, too."""
        self._names_by = self._clocks.monotonic() + FIRST_RETRY_SECONDS

    def _discovered_accounts(self) -> set[str]:
        waits = self._clocks.monotonic() < self._names_by
        return {
            target.account
            for plan in self.plans.values()
            if tells_names(plan.collector)
            for target in self._registry.targets(plan.collector.polls, every_shard=True)
            if plan.collector.wants(target) and (waits or discovery.NAMES not in target.watched)
        }

    def all_discovered(self, silent: Collection[str] = ()) -> bool:
        """Return whether the first discovery of each account has ended; arguments as for `FirstDiscovery.are_over`."""
        return self._first_discovery.are_over(silent)

    def is_gone(self, target: Target) -> bool:
        """Return whether a target's own answer has said that it no longer exists."""
        return target in self.gone

    def lifetime(self, collector: str, target: Target) -> float:
        """Return the seconds for which the values of a poll are valid, at the current interval; 0 if it is not run."""
        plan, account = self.plans.get(collector), self.accounts.get(target.client_name)
        if plan is None or account is None:
            return 0.0
        return STALE_INTERVALS * account.pace.interval(plan, target) if plan.stale_after is None else plan.stale_after

    def slowest(self, collector: str) -> float:
        """Return the effective interval of a collector, in the account that stretches it most."""
        plan = self.plans[collector]
        paces = (account.pace for account in self.accounts.values())
        stretches = (pace.stretch_of(plan.collector) for pace in paces if collector in pace.polls)
        return plan.interval * max(stretches, default=1.0)

    def due_at(self, key: PollKey) -> float | None:
        """Return when a target is due by a collector, on the monotonic clock; None if it is not polled by itself."""
        entry = self._due.find(key)
        return None if entry is None else entry.at

    def next_due(self, collector: str) -> float:
        """Return when the next target of a collector is due, on the monotonic clock."""
        entries = self._due.of(collector).values()
        return min((entry.at for entry in entries), default=self.last_tick + self.plans[collector].interval)

    def polled(self) -> set[PollKey]:
        """Return the polled targets, once for each of their collectors."""
        return {PollKey(one.key, name) for name, plan in self.plans.items() for one in self._targets(plan)}


def _is_of(account: str, _plan: Plan, target: Target) -> bool:
    return target.client_name == account
