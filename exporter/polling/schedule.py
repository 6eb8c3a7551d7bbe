"""Decides when each target is polled.

Three rules decide when:

1. The polls of an account are spread evenly over the interval, in the order of the exposition: what changes at the same
   time is compressed together. New targets are polled at once, as the budget allows; one that lacks a name is polled
   when its account's discovery has ended, or after a while.
2. After a failure a target is polled sooner: after a minute (a list after ten seconds), then twice that and so on, with
   jitter, but never before the time that the platform asked for. With a refused key, or if the budget is used up, it
   waits for its regular poll.
3. The interval is the longer of the configured one and the one at which the targets' polls fit into the budget
   (`pace.py`).
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple
from zlib import crc32

from exporter.clock import Clocks
from exporter.collectors.collector import Collector
from exporter.log import logger
from exporter.platform.errors import CredentialError, PlatformError, TransportError, Unauthorized, asks_to_wait
from exporter.polling.pace import STALE_INTERVALS, Account, Plan
from exporter.targets.registry import Registry
from exporter.targets.target import DATABASE_PREFIX, NAMED_BY_SEARCH, PollKey, Target, TargetKey
from exporter.telemetry import Telemetry

TICK_SECONDS = 1.0
# The polls that may be answered and not ended: they wait for the ledger. While it is slower than the platforms, no
# further polls begin, so that memory has a bound.
MOST_RECORDING = 150
# The seconds before the first repeat of a failed poll; each further repeat waits twice as long as the one before.
FIRST_WAIT = 60.0
FIRST_WAIT_OF_LISTS = 10.0
MOST_DOUBLINGS = 20
# How long a target without a name waits for a discovery to supply it.
NAMES_SECONDS = 30.0


class DueEntry(NamedTuple):
    """A poll and when it is due; `number` keeps the order of equal times, which are on the monotonic clock."""

    at: float
    number: int
    collector: str
    target: Target

    @property
    def key(self) -> PollKey:
        """The target and its collector."""
        return PollKey(self.target.key, self.collector)


@dataclass(slots=True, eq=False)
class RunningPoll:
    """A poll that is due, with the plan, the target and the account that it uses.

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
    """Keeps when each target is due. A reload gives it other plans and accounts; what is equal goes on.

    Args:
        registry: the targets.
        clocks: the clocks.
        random: returns a number in [0, 1).

    Attributes:
        plans: collector → how it is run.
        accounts: the accounts and databases, by their targets' `client_name`.
        last_tick: when it was last refreshed, on the monotonic clock.
        running: the polls that run; at most one for each target and collector.
        durations: collector → duration of its last poll in seconds.
    """

    def __init__(self, registry: Registry, telemetry: Telemetry, clocks: Clocks, random: Callable[[], float]) -> None:
        self.plans: Mapping[str, Plan] = {}
        self.accounts: Mapping[str, Account] = {}
        self.last_tick = clocks.monotonic()
        self.running: dict[PollKey, RunningPoll] = {}
        self.durations: dict[str, float] = {}
        self._registry = registry
        self._telemetry = telemetry
        self._clocks = clocks
        self._random = random
        # Collector → target → its entry; account → a heap of all entries, also those that were replaced since.
        self._due: dict[str, dict[TargetKey, DueEntry]] = {}
        self._heaps: dict[str, list[DueEntry]] = {}
        self._numbers = itertools.count()
        # Collector → target → its place in the interval, from 0 to 1.
        self._places: dict[str, dict[TargetKey, float]] = {}
        # The version of the registry from which the targets were taken; None if others are to be taken.
        self._taken_from: int | None = None
        # Account → what supplies its names, as collector and target.
        self._discoveries: dict[str, list[tuple[str, Target]]] = {}
        # Account → the polls that wait for the names of a discovery.
        self._unnamed: dict[str, list[PollKey]] = {}
        # The accounts of which a discovery has ended.
        self._discovered: set[str] = set()
        # How often in a row the polls of a target by a collector have failed; a success removes the entry.
        self._failures: dict[PollKey, int] = {}
        # Account → how many of its polls have no answer yet; how many polls of all accounts have one.
        self._calling: dict[str, int] = {}
        self._recording = 0
        self._log = logger()

    def use(self, plans: Mapping[str, Plan], accounts: Mapping[str, Account]) -> None:
        """Run these plans for these accounts from the next refresh on.

        Those that are the same objects go on. The targets of all others, and of accounts whose key is refused, are
        polled at once, as new ones are.
        """
        self._due = {name: due for name, due in self._due.items() if plans.get(name) is self.plans[name]}
        self._forget(
            name
            for name, account in self.accounts.items()
            if accounts.get(name) is not account or account.client.credential.is_refused()
        )
        self.plans, self.accounts = plans, accounts
        for key, due in list(self.running.items()):
            if due.task is not None and not self.is_in_force(due):
                due.task.cancel()
                del self.running[key]
        for name in plans:
            # The series starts at 0, so that its first event is an increase.
            self._telemetry.missed.labels(name)

    def _forget(self, accounts: Iterable[str]) -> None:
        """Let the next refresh take the targets of these accounts as new ones, which are polled at once."""
        names, self._taken_from = set(accounts), None
        self._discovered -= names
        for name in names:
            self._heaps.pop(name, None)
            self._unnamed.pop(name, None)
        for collector, entries in self._due.items():
            kept = {key: entry for key, entry in entries.items() if entry.target.client_name not in names}
            self._due[collector] = kept

    def is_in_force(self, due: RunningPoll) -> bool:
        """Return whether the plan and the account with which a poll began are still those in use."""
        is_planned = self.plans.get(due.plan.collector.name) is due.plan
        return is_planned and self.accounts.get(due.target.client_name) is due.account

    def refresh(self) -> None:
        """Compare keys and targets with those that are known, and measure what the budgets allow."""
        self.last_tick = self._clocks.monotonic()
        self._compare_keys()
        self._take_targets()
        self._measure()

    def take(self, name: str) -> RunningPoll | None:
        """Return the next poll of an account that is to begin now; None if none is due, or if no more may run."""
        account, now = self.accounts.get(name), self._clocks.monotonic()
        if account is None or self._taken_from is None:
            return None
        most = account.client.rate_limiter.max_in_flight
        if self._calling.get(name, 0) >= most or self._recording >= MOST_RECORDING:
            return None
        while (entry := self._first(name)) is not None and entry.at <= now:
            plan, target, key = self.plans[entry.collector], entry.target, entry.key
            if left := account.client.rate_limiter.pause(*(one.name for one in plan.collector.operations)):
                self._put(entry.collector, target, now + left)
                continue
            interval = account.pace.interval(plan, target)
            until = self._regular(key, interval, now)
            self._put(entry.collector, target, until)
            missed = int((now - entry.at) // interval) + (1 if key in self.running else 0)
            if missed:
                self._telemetry.missed.labels(entry.collector).inc(missed)
            if key not in self.running:
                self._calling[name] = self._calling.get(name, 0) + 1
                self.running[key] = RunningPoll(plan, target, account, until)
                return self.running[key]
        return None

    def answered(self, due: RunningPoll) -> None:
        """Record that the platform has answered a poll, so that another one may call it."""
        if not due.is_answered:
            due.is_answered = True
            self._calling[due.target.client_name] -= 1
            self._recording += 1

    def ended(self, due: RunningPoll) -> None:
        """Record that a poll has ended."""
        self.answered(due)
        self._recording -= 1
        key = PollKey(due.target.key, due.plan.collector.name)
        # A cancelled poll may have a successor here.
        if self.running.get(key) is due:
            del self.running[key]

    def close(self) -> list["asyncio.Task[None]"]:
        """Let no further poll begin; return the tasks of those that run."""
        self._taken_from = None
        return [due.task for due in self.running.values() if due.task is not None]

    def _regular(self, key: PollKey, interval: float, now: float) -> float:
        """Return the first regular poll of a target that is at least half an interval away."""
        place = self._places[key.collector].get(key.target, 0.0) * interval
        return place + -(-(now + interval / 2 - place) // interval) * interval

    def _first(self, account: str) -> DueEntry | None:
        """Return the entry of an account that is due first; None without targets."""
        heap = self._heaps.get(account, [])
        while heap and self._find(heap[0].key) is not heap[0]:
            heapq.heappop(heap)
        return heap[0] if heap else None

    def _find(self, key: PollKey) -> DueEntry | None:
        return self._due.get(key.collector, {}).get(key.target)

    def _put(self, collector: str, target: Target, at: float) -> None:
        """Set when a target is due; an earlier entry of it becomes invalid."""
        entry = DueEntry(at, next(self._numbers), collector, target)
        self._due.setdefault(collector, {})[target.key] = entry
        heapq.heappush(self._heaps.setdefault(target.client_name, []), entry)

    def succeeded(self, key: PollKey) -> None:
        """Record that a poll has succeeded."""
        self._failures.pop(key, None)

    def failed(self, collector: Collector, target: Target, error: PlatformError) -> None:
        """Poll a target again soon after a failure, but not earlier than the platform asked."""
        key = PollKey(target.key, collector.name)
        entry, account = self._find(key), self.accounts.get(target.client_name)
        if entry is None or account is None:
            return
        now, at = self._clocks.monotonic(), entry.at
        # A refused key is not tried more often; after a change of the key all targets are polled at once.
        if account.pace.stretch <= 1.0 and not account.client.credential.is_refused():
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            first = FIRST_WAIT_OF_LISTS if collector.discovers else FIRST_WAIT
            wait = first * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
            at = min(at, now + wait * (1 + self._random()) / 2)
        if asks_to_wait(error):
            at = max(at, now + (error.retry_after or 0.0))
        if at != entry.at:
            self._put(entry.collector, entry.target, at)

    def _compare_keys(self) -> None:
        """Poll the targets of accounts as new ones whose key was refused and has been replaced."""
        renewed = [name for name, account in self.accounts.items() if account.client.credential.is_replaced()]
        for name in renewed:
            self.accounts[name].client.credential.refused = None
            self._log.info("key has changed, polling at once", account=name)
        if renewed:
            self._forget(renewed)

    def _take_targets(self) -> None:
        """Take over the targets if they have changed; due times are kept, and new targets are polled soon."""
        if self._taken_from == self._registry.version:
            return
        # Account → new targets, with their number among the new ones of their collector.
        fresh: dict[str, list[tuple[int, str, Target]]] = {account: [] for account in self.accounts}
        self._discoveries = {account: [] for account in self.accounts}
        for name, plan in self.plans.items():
            targets: dict[str, list[Target]] = {account: [] for account in self.accounts}
            for target in self._targets(plan):
                targets[target.client_name].append(target)
            former, self._due[name], self._places[name] = self._due.get(name, {}), {}, {}
            for account, own in targets.items():
                self.accounts[account].pace.note_targets(plan, own)
                self._discoveries[account] += [(name, target) for target in own if plan.collector.supplies_names]
                # Collectors and accounts begin at different moments.
                begin = crc32(f"{name}|{account}".encode()) / 2**32
                self._places[name].update((one.key, (begin + rank / len(own)) % 1.0) for rank, one in enumerate(own))
                unknown = list[Target]()
                for target in own:
                    entry = former.get(target.key)
                    if entry is not None and target.is_polled_as(entry.target):
                        self._keep(entry, target)
                    else:
                        unknown.append(target)
                fresh[account].extend((number, name, target) for number, target in enumerate(unknown))
        self._taken_from = self._registry.version
        for account, new in fresh.items():
            # In turns, so that the few of one collector do not wait behind the many of another.
            self._poll_new(account, [(name, target) for _, name, target in sorted(new, key=itemgetter(0))])
        for key in [key for key in self._failures if self._find(key) is None]:
            del self._failures[key]

    def _keep(self, entry: DueEntry, target: Target) -> None:
        """Keep the due time of a target whose request and interval have not changed."""
        if entry.target is target:
            self._due[entry.collector][target.key] = entry
        else:
            self._put(entry.collector, target, entry.at)

    def _poll_new(self, account: str, polls: Iterable[tuple[str, Target]]) -> None:
        """Make new targets due soon; those that lack a name wait for a discovery, which is due soon, too."""
        discoveries, now = self._discoveries[account], self._clocks.monotonic()
        soon = list[tuple[str, Target]]()
        unnamed = list[PollKey]()
        for name, target in polls:
            if discoveries and self._lacks_name(name, target):
                self._put(name, target, now + NAMES_SECONDS)
                unnamed.append(PollKey(target.key, name))
            else:
                soon.append((name, target))
        self._poll_soon(account, soon)
        if unnamed:
            self._unnamed.setdefault(account, []).extend(unnamed)
            self._poll_soon(account, [one for one in discoveries if PollKey(one[1].key, one[0]) not in self.running])

    def _poll_soon(self, account: str, polls: Iterable[tuple[str, Target]]) -> None:
        """Make targets due one after another, as the budget allows."""
        pace, now, ahead = self.accounts[account].pace, self._clocks.monotonic(), 0.0
        for name, target in polls:
            # What the budget allows before the next tick is due at once.
            self._put(name, target, now + ahead // TICK_SECONDS * TICK_SECONDS)
            ahead += pace.cost(name) / pace.rate

    def _lacks_name(self, collector: str, target: Target) -> bool:
        """Return whether a discovery may supply a name that the labels of a new target contain."""
        if self.plans[collector].collector.discovers:
            return False
        if target.kind == "account":
            # The answers for it contain other targets.
            return target.account not in self._discovered
        return target.kind in NAMED_BY_SEARCH and not target.name

    def discovered(self, account: str, error: PlatformError | None = None) -> None:
        """Record that a discovery of an account has ended, and poll what waited for its names.

        If there was no answer, this goes on waiting: the discovery is repeated soon.
        """
        self._discovered.add(account)
        if isinstance(error, TransportError | Unauthorized | CredentialError):
            return
        waiting = [entry for key in self._unnamed.pop(account, ()) if (entry := self._find(key)) is not None]
        self._poll_soon(account, [(entry.collector, entry.target) for entry in waiting])

    def all_discovered(self) -> bool:
        """Return whether a discovery of each account has ended, with or without success."""
        return all(name in self._discovered or not self._discoveries.get(name) for name in self.accounts)

    def _targets(self, plan: Plan) -> Iterator[Target]:
        """Yield the targets of a collector."""
        collector = plan.collector
        found = self._registry.targets(collector.polls, every_shard=collector.every_shard)
        return (target for target in found if target.client_name in self.accounts and collector.wants(target))

    def _measure(self) -> None:
        """Update pace and budget metrics."""
        for name, account in self.accounts.items():
            pace, rate = account.pace, account.client.rate_limiter.effective_rate
            pace.measure(rate)
            if not name.startswith(DATABASE_PREFIX):
                self._telemetry.demand.labels(name).set(pace.demand)
                self._telemetry.budget.labels(name).set(rate)
        for name in self.plans:
            self._telemetry.interval.labels(name).set(self.slowest(name))

    def poll_again(self, keys: Collection[PollKey]) -> None:
        """Make targets due at once."""
        for key in keys:
            if (entry := self._find(key)) is not None:
                self._put(key.collector, entry.target, self._clocks.monotonic())

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
        entry = self._find(key)
        return None if entry is None else entry.at

    def next_due(self, collector: str) -> float:
        """Return when the next target of a collector is due, on the monotonic clock."""
        entries = self._due.get(collector, {}).values()
        return min((entry.at for entry in entries), default=self.last_tick + self.plans[collector].interval)

    def polled(self) -> set[PollKey]:
        """Return the polled targets, once for each of their collectors."""
        return {PollKey(one.key, name) for name, plan in self.plans.items() for one in self._targets(plan)}
