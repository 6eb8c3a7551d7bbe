"""Decides when each target is polled.

The three rules:

1. A collector's polls of an account are spread evenly over the interval, in the order in which the configuration and
   the lists name the targets. If that is the order of ids, targets that the exposition compresses together change at
   about the same time, so less is compressed again. New targets are polled as soon as the budget allows. New targets
   whose series may need names from a discovery wait for the discovery, at most `NAMES_SECONDS`.
2. After a failure, a target is due again within a minute, and a list within ten seconds. Each further failure doubles
   this time. A regular time that is earlier has priority; an answer can ask to wait longer. If the key cannot be used,
   or the budget is too small for the configured intervals, the target waits for its regular time.
3. If the budget of an account is too small for the configured intervals, all intervals of the account become longer
   (`pace.py`).
"""

import asyncio
import heapq
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from exporter.clock import Clocks
from exporter.collectors.collector import Collector
from exporter.log import logger
from exporter.platform.errors import CredentialError, PlatformError, TransportError, Unauthorized, asks_to_wait
from exporter.polling.pace import Account, Plan
from exporter.targets.registry import Registry
from exporter.targets.target import DATABASE_PREFIX, NAMED_BY_SEARCH, PollKey, Target, TargetKey
from exporter.telemetry import Telemetry

TICK_SECONDS = 1.0
# No further polls begin while this many polls have their answers and wait for the ledger. The number limits the
# memory that answers take, if the ledger is slower than the platforms.
MOST_RECORDING = 150
# After its first failure, a target waits for between half of this time and all of it, in seconds. The time doubles with
# each further failure, at most `MOST_DOUBLINGS` times, because a number that doubles for ever would overflow.
FIRST_WAIT = 60.0
FIRST_WAIT_OF_LISTS = 10.0
MOST_DOUBLINGS = 20
# The values of a poll expire after this many effective intervals, unless `stale_after` is configured.
STALE_INTERVALS = 3
# The longest time that a new target waits for names that a discovery supplies, in seconds.
NAMES_SECONDS = 30.0


class DueEntry(NamedTuple):
    """The time at which a collector polls a target next.

    Attributes:
        at: the time, on the monotonic clock.
        number: grows with each new entry, so that of two entries with equal times the older is first.
    """

    at: float
    number: int
    collector: str
    target: Target

    @property
    def key(self) -> PollKey:
        """The target's key and the collector's name."""
        return PollKey(self.target.key, self.collector)


@dataclass(slots=True, eq=False)
class RunningPoll:
    """A running poll, and the plan, the target and the account at its beginning.

    Attributes:
        account: the account or the database of the target.
        until: when the collector's next regular poll of this target is due, on the monotonic clock.
        is_answered: whether the poll's calls have ended; then the poll no longer counts for the limit of calls at once.
    """

    plan: Plan
    target: Target
    account: Account
    until: float
    is_answered: bool = False
    task: "asyncio.Task[None] | None" = None


class Schedule:
    """Keeps the times at which targets are due.

    Args:
        random: returns a number in [0, 1).

    Attributes:
        plans: collector → its plan.
        accounts: `Target.client_name` → account or database.
        last_tick: the time of the last `refresh` on the monotonic clock; at first, the time of the creation.
        running: target and collector → the running poll; polls that `use` has cancelled are left out.
        durations: collector → how many seconds its last poll took, without the commit of the counters.
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
        # Collector → target → the current entry. Account → a heap of entries, including outdated ones.
        self._due: dict[str, dict[TargetKey, DueEntry]] = {}
        self._heaps: dict[str, list[DueEntry]] = {}
        self._numbers = itertools.count()
        # Collector → target → the place of the regular polls in the interval: 0 is the beginning, 1 the end.
        self._places: dict[str, dict[TargetKey, float]] = {}
        # The version of the registry whose targets have entries; None: the next refresh makes the entries again.
        self._version: int | None = None
        # Account → the polls that supply names, as collector and target.
        self._discoveries: dict[str, list[tuple[str, Target]]] = {}
        # Account → the polls that wait for the names of a discovery.
        self._unnamed: dict[str, list[PollKey]] = {}
        # The accounts for which `discovered` was called.
        self._discovered: set[str] = set()
        # Poll → failures since the last success, except those while the key was unusable or the budget too small.
        self._failures: dict[PollKey, int] = {}
        # Account → the number of polls whose calls have not ended.
        self._calling: dict[str, int] = {}
        # The number of polls, in all accounts, that have their answers and have not ended.
        self._recording = 0
        self._is_closed = False
        self._log = logger()

    def use(self, plans: Mapping[str, Plan], accounts: Mapping[str, Account]) -> None:
        """Use these plans and accounts; the next `refresh` schedules the targets.

        Targets with a new plan or account object are scheduled as new targets, and so are the targets of an account
        whose key has a problem. Running polls that are no longer in force are cancelled.
        """
        self._due = {name: due for name, due in self._due.items() if plans.get(name) is self.plans[name]}
        self._version = None
        # An account whose key has a problem is tried at once, because the reload may have mended the key.
        self._forget(
            name
            for name, account in self.accounts.items()
            if accounts.get(name) is not account or account.client.credential.problem
        )
        self.plans, self.accounts = plans, accounts
        for key, poll in list(self.running.items()):
            if poll.task is not None and not self.is_in_force(poll):
                poll.task.cancel()
                del self.running[key]
        for name in plans:
            # Create the series with the value 0, so that the first missed poll is an increase.
            self._telemetry.missed.labels(name)

    def _forget(self, accounts: Iterable[str]) -> None:
        """Forget the due times of the targets of these accounts; for `refresh`, they are then new targets."""
        names = set(accounts)
        self._discovered -= names
        for name in names:
            self._heaps.pop(name, None)
            self._unnamed.pop(name, None)
        for collector, entries in self._due.items():
            kept = {key: entry for key, entry in entries.items() if entry.target.client_name not in names}
            self._due[collector] = kept

    def is_in_force(self, poll: RunningPoll) -> bool:
        """Return whether the plan and the account with which a poll began are in use, and its target is unchanged."""
        target = self._registry.by_key.get(poll.target.key, poll.target)
        is_planned = self.plans.get(poll.plan.collector.name) is poll.plan and target.is_polled_as(poll.target)
        return is_planned and self.accounts.get(poll.target.client_name) is poll.account

    def refresh(self) -> None:
        """Apply changes of keys and targets, and calculate the intervals that the budgets allow."""
        self.last_tick = self._clocks.monotonic()
        self._apply_new_keys()
        self._schedule_changed_targets()
        self._update_paces()

    def take(self, client_name: str) -> RunningPoll | None:
        """Add the next due poll of an account to `running`, and return it; None if no poll is due or may begin."""
        account, now = self.accounts.get(client_name), self._clocks.monotonic()
        if account is None or self._is_closed:
            return None
        most = account.client.rate_limiter.max_in_flight
        if self._calling.get(client_name, 0) >= most or self._recording >= MOST_RECORDING:
            return None
        while (entry := self._next_entry(client_name)) is not None and entry.at <= now:
            plan, target, key = self.plans[entry.collector], entry.target, entry.key
            if pause := account.client.rate_limiter.paused_for(*(one.name for one in plan.collector.operations)):
                self._put(entry.collector, target, now + pause)
                continue
            interval = account.pace.interval(plan, target)
            until = self._regular_time(key, interval, now)
            self._put(entry.collector, target, until)
            # One missed poll for each whole interval since `entry.at`, and this poll if the previous one still runs.
            missed = int((now - entry.at) // interval) + (1 if key in self.running else 0)
            if missed:
                self._telemetry.missed.labels(entry.collector).inc(missed)
            if key not in self.running:
                self._calling[client_name] = self._calling.get(client_name, 0) + 1
                self.running[key] = RunningPoll(plan, target, account, until)
                return self.running[key]
        return None

    def answered(self, poll: RunningPoll) -> None:
        """Record that the calls of a poll have ended."""
        if not poll.is_answered:
            poll.is_answered = True
            self._calling[poll.target.client_name] -= 1
            self._recording += 1

    def ended(self, poll: RunningPoll) -> None:
        """Record that a poll has ended."""
        self.answered(poll)
        self._recording -= 1
        key = PollKey(poll.target.key, poll.plan.collector.name)
        # If this poll was cancelled, another poll with this key may run already.
        if self.running.get(key) is poll:
            del self.running[key]

    def close(self) -> list["asyncio.Task[None]"]:
        """Make `take` return no further polls, and return the tasks of the running polls."""
        self._is_closed = True
        return [poll.task for poll in self.running.values() if poll.task is not None]

    def _regular_time(self, key: PollKey, interval: float, now: float) -> float:
        """Return the first regular time that is at least half an interval after `now`, the beginning of a poll."""
        # Regular times are the multiples of the interval on the monotonic clock, plus this offset in seconds.
        offset = self._places[key.collector][key.target] * interval
        return offset + math.ceil((now + interval / 2 - offset) / interval) * interval

    def _next_entry(self, client_name: str) -> DueEntry | None:
        """Return the earliest entry of an account or a database, and remove the outdated entries before it."""
        heap = self._heaps.get(client_name, [])
        while heap and not self._is_current(heap[0]):
            heapq.heappop(heap)
        return heap[0] if heap else None

    def _is_current(self, entry: DueEntry) -> bool:
        """Return whether this is the latest entry of its target and collector, and the target is still polled."""
        return self._entry(entry.key) is entry

    def _entry(self, key: PollKey) -> DueEntry | None:
        """Return the entry of a target; None if the collector does not poll the target."""
        return self._due.get(key.collector, {}).get(key.target)

    def _put(self, collector: str, target: Target, at: float) -> None:
        entry = DueEntry(at, next(self._numbers), collector, target)
        self._due.setdefault(collector, {})[target.key] = entry
        heapq.heappush(self._heaps.setdefault(target.client_name, []), entry)

    def succeeded(self, key: PollKey) -> None:
        """Record that a poll has succeeded."""
        self._failures.pop(key, None)

    def failed(self, collector: Collector, target: Target, error: PlatformError) -> None:
        """Move the next poll of a target after a failure: earlier, or as late as the answer asks (rule 2 above)."""
        key = PollKey(target.key, collector.name)
        entry, account = self._entry(key), self.accounts.get(target.client_name)
        # The target or the account may have been removed during the poll.
        if entry is None or account is None:
            return
        now, at = self._clocks.monotonic(), entry.at
        is_budget_enough = account.pace.stretch <= 1.0
        is_key_usable = not account.client.credential.problem
        if is_budget_enough and is_key_usable:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            first = FIRST_WAIT_OF_LISTS if collector.discovers else FIRST_WAIT
            wait = first * 2.0 ** min(failures - 1, MOST_DOUBLINGS)
            # With jitter: between half of `wait` and all of it.
            at = min(at, now + wait * (1 + self._random()) / 2)
        if asks_to_wait(error):
            at = max(at, now + (error.retry_after or 0.0))
        if at != entry.at:
            self._put(entry.collector, entry.target, at)

    def _apply_new_keys(self) -> None:
        for account in self.accounts.values():
            if account.client.credential.problem:
                account.client.credential.start_refresh()
        renewed = [name for name, account in self.accounts.items() if account.client.credential.is_replaced()]
        for name in renewed:
            self.accounts[name].client.credential.problem = ""
            self._log.info("key has changed, polling at once", account=name)
        if renewed:
            self._version = None
            self._forget(renewed)

    def _schedule_changed_targets(self) -> None:
        """If targets have changed, keep known targets' due times, and schedule new ones, the collectors in turns."""
        if self._version == self._registry.version:
            return
        self._version = self._registry.version
        self._discoveries = {account: [] for account in self.accounts}
        for each in self.accounts.values():
            # This also removes the rates of collectors that are off now.
            each.pace.poll_rates.clear()
        # Account → for each collector, the polls of its new targets, as collector and target.
        new: dict[str, list[list[tuple[str, Target]]]] = {account: [] for account in self.accounts}
        for name, plan in self.plans.items():
            former = self._due.get(name, {})
            self._due[name], self._places[name] = {}, {}
            for account, targets in self._targets_by_account(plan).items():
                self.accounts[account].pace.note_targets(plan, targets)
                self._places[name].update(_spread(f"{name}|{account}", targets))
                if plan.collector.supplies_names:
                    self._discoveries[account] += [(name, target) for target in targets]
                self._keep_due_times(former, targets)
                new[account].append([(name, target) for target in targets if target.key not in self._due[name]])
        for account, by_collector in new.items():
            self._schedule_new(account, _in_turns(by_collector))
        self._failures = {key: number for key, number in self._failures.items() if self._entry(key) is not None}

    def _keep_due_times(self, former: Mapping[TargetKey, DueEntry], targets: Iterable[Target]) -> None:
        for target in targets:
            entry = former.get(target.key)
            if entry is None or not target.is_polled_as(entry.target):
                # The caller schedules this one as a new target.
                continue
            if entry.target is target:
                # The heap already contains this entry.
                self._due[entry.collector][target.key] = entry
            else:
                self._put(entry.collector, target, entry.at)

    def _schedule_new(self, account: str, polls: Iterable[tuple[str, Target]]) -> None:
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
            # The discoveries that supply the missing names are polled soon, unless they run already.
            waited_for = [(name, one) for name, one in discoveries if PollKey(one.key, name) not in self.running]
            self._poll_soon(account, waited_for)

    def _poll_soon(self, account: str, polls: Iterable[tuple[str, Target]]) -> None:
        pace, now, ahead = self.accounts[account].pace, self._clocks.monotonic(), 0.0
        for name, target in polls:
            # At each tick, as many polls are due as the budget allows until the next tick.
            self._put(name, target, now + ahead // TICK_SECONDS * TICK_SECONDS)
            ahead += pace.cost(name) / pace.rate

    def _lacks_name(self, collector: str, target: Target) -> bool:
        # The series of a list contain no names of targets.
        if self.plans[collector].collector.discovers:
            return False
        if target.kind == "account":
            # The answer for an account may contain other targets, and the names of these may be missing.
            return target.account not in self._discovered
        return target.kind in NAMED_BY_SEARCH and not target.name

    def discovered(self, account: str, error: PlatformError | None = None) -> None:
        """Record that a discovery of an account has ended, or has reported all names that it finds.

        Targets that waited for names are due now, as fast as the budget allows. If the discovery ended with an error of
        transport or of the key, the targets wait for another discovery, at most `NAMES_SECONDS` in sum.
        """
        self._discovered.add(account)
        if isinstance(error, TransportError | Unauthorized | CredentialError):
            return
        waiting = [entry for key in self._unnamed.pop(account, ()) if (entry := self._entry(key)) is not None]
        self._poll_soon(account, [(entry.collector, entry.target) for entry in waiting])

    def all_discovered(self) -> bool:
        """Return whether `discovered` was called for every account that has a discovery."""
        return all(name in self._discovered or not self._discoveries.get(name) for name in self.accounts)

    def _targets_by_account(self, plan: Plan) -> dict[str, list[Target]]:
        collector = plan.collector
        targets: dict[str, list[Target]] = {account: [] for account in self.accounts}
        for target in self._registry.targets(collector.polls, every_shard=collector.every_shard):
            if target.client_name in targets and collector.wants(target):
                targets[target.client_name].append(target)
        return targets

    def _update_paces(self) -> None:
        for name, account in self.accounts.items():
            pace, rate = account.pace, account.client.rate_limiter.effective_rate
            pace.update(rate)
            if not name.startswith(DATABASE_PREFIX):
                self._telemetry.demand.labels(name).set(pace.demand)
                self._telemetry.budget.labels(name).set(rate)
        for name in self.plans:
            self._telemetry.interval.labels(name).set(self.longest_interval(name))

    def poll_again(self, keys: Collection[PollKey]) -> None:
        """Make these polls due now."""
        for key in keys:
            if (entry := self._entry(key)) is not None:
                self._put(key.collector, entry.target, self._clocks.monotonic())

    def lifetime(self, collector: str, target: Target) -> float:
        """Return for how many seconds values of a poll are valid; 0 if the collector or the account is not in use."""
        plan, account = self.plans.get(collector), self.accounts.get(target.client_name)
        if plan is None or account is None:
            return 0.0
        return STALE_INTERVALS * account.pace.interval(plan, target) if plan.stale_after is None else plan.stale_after

    def longest_interval(self, collector: str) -> float:
        """Return the longest effective interval of a collector in an account; targets' own intervals are ignored."""
        plan = self.plans[collector]
        paces = (account.pace for account in self.accounts.values())
        stretches = (pace.stretch for pace in paces if collector in pace.poll_rates)
        return plan.interval * max(stretches, default=1.0)

    def due_at(self, key: PollKey) -> float | None:
        """Return when a poll is due next, on the monotonic clock; None if the collector does not poll the target."""
        entry = self._entry(key)
        return None if entry is None else entry.at

    def next_due(self, collector: str) -> float:
        """Return when a collector polls next (monotonic clock); without targets, an interval after `last_tick`."""
        entries = self._due.get(collector, {}).values()
        return min((entry.at for entry in entries), default=self.last_tick + self.plans[collector].interval)

    def polled(self) -> set[PollKey]:
        """Return the pairs of target and collector that are polled."""
        return {PollKey(key, name) for name, entries in self._due.items() for key in entries}


def _in_turns(by_collector: Iterable[Sequence[tuple[str, Target]]]) -> list[tuple[str, Target]]:
    """Return the polls of collectors in turns: a collector with few polls does not wait for one with many polls."""
    turns = itertools.zip_longest(*by_collector)
    return [poll for poll in itertools.chain.from_iterable(turns) if poll is not None]


def _spread(seed: str, targets: Sequence[Target]) -> Iterator[tuple[TargetKey, float]]:
    """Yield each target's key and place in the interval (0 to 1), evenly spread; `seed` decides the first place."""
    begin = crc32(seed.encode()) / 2**32
    return ((target.key, (begin + rank / len(targets)) % 1.0) for rank, target in enumerate(targets))
