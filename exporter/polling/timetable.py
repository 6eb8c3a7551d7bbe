"""Decides when each target is polled next, and how long what a poll returned is valid.

A target has its place in the interval of its collector. An account whose budget does not suffice stretches its
intervals; after a failure a target is polled sooner, and later if the platform asked for it.
"""

import heapq
import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from exporter.collectors import discovery
from exporter.collectors.collector import Collector, Polled
from exporter.platform.errors import PlatformError, RateLimited, ServerError
from exporter.polling.first_discovery import FIRST_RETRY_SECONDS, FirstDiscovery, tells_names
from exporter.targets.registry import Registry
from exporter.targets.target import PollKey, Target, TargetKey

if TYPE_CHECKING:
    # It imports httpx, which `check --offline` does without.
    from exporter.platform.http.client import Client

# The cost of a poll and the duration of an answer are averaged over about this many polls.
SMOOTHING = 0.1
# Intervals are stretched until polls use this share of the capacity; the rest is for retries.
SHARE = 0.95
STALE_INTERVALS = 3
# The upper limit for stretching discovery. Without it, with 100,000 zones and 10 calls a second, all intervals would be
# stretched to hours, and a new zone would be found hours later.
MOST_DISCOVERY_STRETCH = 3.0
# The seconds before the first repeat; each further repeat waits twice as long as the one before.
FIRST_WAIT = 60.0
MOST_DOUBLINGS = 20
# A regular poll is at most this many intervals away.
LATEST_SLOT = 1.5


@dataclass(frozen=True, slots=True)
class Plan:
    """How a collector is run.

    Attributes:
        interval: the configured seconds between two polls of a target.
        stale_after: seconds after which the values of a poll expire; None for three effective intervals.
    """

    collector: Collector
    interval: float
    stale_after: float | None = None


@dataclass(slots=True)
class Capacity:
    """The requests a second that one account allows, measured from its polls.

    Attributes:
        rate: the requests a second that the budget currently allows.
        max_in_flight: the number of calls at once.
        seconds: the recent duration of a call, without its wait for the rate limiter.
        calls: collector → the recent number of calls in one of its polls.
    """

    rate: float
    max_in_flight: int
    seconds: float = 0.0
    calls: dict[str, float] = field(default_factory=dict)

    def note(self, collector: str, calls: int, seconds: float) -> None:
        """Record the number of calls of a collector's poll, and their seconds without waits for the rate limiter."""
        if not calls:
            return
        known = self.calls.get(collector)
        self.calls[collector] = calls if known is None else known + SMOOTHING * (calls - known)
        each = seconds / calls
        self.seconds = each if not self.seconds else self.seconds + SMOOTHING * (each - self.seconds)

    def demand(self, polls: Mapping[str, float]) -> float:
        """Return the requests a second that polls need; `polls` has each collector's polls a second, as configured."""
        return sum(rate * max(1.0, self.calls.get(collector, 1.0)) for collector, rate in polls.items())

    def limits(self) -> dict[str, float]:
        """Return the requests a second that each limit of the budget allows, by its key in the configuration.

        The rate of `max_in_flight` depends on the duration of calls; before the first call it is left out.
        """
        limits = {"requests_per_second": self.rate}
        if self.seconds:
            limits["max_in_flight"] = self.max_in_flight / self.seconds
        return limits

    def stretch(self, demand: float) -> float:
        """Return the factor by which intervals must be longer than configured for a demand; 1 if they need not be."""
        return max(1.0, demand / (min(self.limits().values()) * SHARE))


@dataclass(frozen=True, slots=True)
class Account:
    """An account or a database of the scheduler: its client and its capacity."""

    client: "Client"
    capacity: Capacity

    @classmethod
    def of(cls, client: "Client") -> "Account":
        """Return the account with the capacity of a client's budget."""
        return cls(client, Capacity(client.rate_limiter.rate, client.rate_limiter.max_in_flight))


class Intervals:
    """The intervals of all collectors in all accounts; read by the event loop and by the renderer's thread.

    Args:
        plans: collector → how it is run.
        accounts: the accounts and databases, by their targets' `client_name`.

    Attributes:
        demand: account → requests a second that its targets need at the configured intervals. A sum over thousands of
            collectors is too slow for each poll.
    """

    def __init__(self, plans: Mapping[str, Plan], accounts: Mapping[str, Account]) -> None:
        self._plans = plans
        self._accounts = accounts
        # account → collector → polls a second at the configured intervals.
        self._polls: dict[str, dict[str, float]] = {}
        self.demand: dict[str, float] = {}

    def note(self, plan: Plan, targets: Iterable[Target]) -> None:
        """Record all targets of a collector."""
        name = plan.collector.name
        rates: dict[str, float] = {}
        for target in targets:
            account = target.client_name
            # Names are looked up once.
            if plan.collector.wants(discovery.without_names(target)):
                rates[account] = rates.get(account, 0.0) + 1 / self.configured(plan, target)
        for account in self._polls.keys() | rates.keys():
            polls = self._polls.setdefault(account, {})
            change = rates.get(account, 0.0) - polls.pop(name, 0.0)
            if account in rates:
                polls[name] = rates[account]
            if account in self._accounts:
                more = self._accounts[account].capacity.demand({name: change})
                self.demand[account] = self.demand.get(account, 0.0) + more

    def measure(self) -> None:
        """Calculate the demand of each account again, as the costs of polls change."""
        self.demand = {
            name: account.capacity.demand(self._polls.get(name, {})) for name, account in self._accounts.items()
        }

    def configured(self, plan: Plan, target: Target) -> float:
        """Return the configured seconds between two polls of a target."""
        return target.interval if target.interval is not None else plan.interval

    def effective(self, plan: Plan, target: Target) -> float:
        """Return the seconds between two polls of a target that its account's capacity allows."""
        return self.configured(plan, target) * self.stretch(target.client_name, plan.collector.name)

    def lifetime(self, collector: str, target: Target) -> float:
        """Return the seconds for which the values of a poll are valid, at the current interval; 0 if it is not run."""
        plan = self._plans.get(collector)
        if plan is None:
            return 0.0
        return STALE_INTERVALS * self.effective(plan, target) if plan.stale_after is None else plan.stale_after

    def spare_seconds(self, account: str, collector: str) -> float:
        """Return for how many seconds one more poll of a collector uses what the account's other polls leave."""
        capacity, demand = self._accounts[account].capacity, self.demand.get(account, 0.0)
        # At stretched intervals, at least the share for retries is left.
        spare = min(capacity.limits().values()) - demand / capacity.stretch(demand)
        return capacity.demand({collector: 1.0}) / spare

    def slowest(self, collector: str) -> float:
        """Return the effective interval of a collector, in the account that stretches it most."""
        stretches = (self.stretch(account, collector) for account, polls in self._polls.items() if collector in polls)
        return self._plans[collector].interval * max(stretches, default=1.0)

    def shortest(self, account: str) -> float:
        """Return the shortest effective interval of an account's polls; 0 without polls."""
        # A list, because the event loop may change the dictionary in the meantime.
        polls = list(self._polls.get(account, {}))
        return min((self._plans[name].interval for name in polls), default=0.0) * self.stretch(account)

    def stretch(self, account: str, collector: str = "") -> float:
        """Return the factor by which an account's capacity stretches intervals; it is limited for discovery."""
        known = self._accounts.get(account)
        stretch = known.capacity.stretch(self.demand.get(account, 0.0)) if known is not None else 1.0
        discovers = collector in self._plans and self._plans[collector].collector.discovers
        return min(stretch, MOST_DISCOVERY_STRETCH) if discovers else stretch


@dataclass(slots=True)
class Timetable:
    """The targets of one collector, the earliest due first.

    Attributes:
        collector: the collector's name.
        known: target → its entry of the heap: when it is due, a sequence number, and the target. A newer entry replaces
            an older one, which becomes invalid.
        version: the version of the registry from which the targets were taken.
        sequence: gives the sequence numbers, which decide the order of entries with the same time.
    """

    collector: str
    known: dict[Target, tuple[float, int, Target]] = field(default_factory=dict)
    version: int = -1
    sequence: Iterator[int] = field(default_factory=itertools.count)
    _heap: list[tuple[float, int, Target]] = field(default_factory=list)
    # Account → where its polls begin in the interval, and its targets, in the order of the exposition.
    _order: dict[str, tuple[float, list[TargetKey]]] = field(default_factory=dict)

    def put(self, target: Target, at: float) -> None:
        """Set the due time of a target, on the monotonic clock; its earlier entry becomes invalid."""
        entry = self.known[target] = (at, next(self.sequence), target)
        heapq.heappush(self._heap, entry)

    def replace(self, targets: dict[Target, Target]) -> list[Target]:
        """Replace the targets, and return those without a due time.

        Due times are kept, but not those of targets whose request or interval has changed.
        """
        for known in list(self.known):
            target = targets.get(known)
            if target is None or not target.is_polled_as(known):
                del self.known[known]
        self.known = {target: (at, turn, targets[target]) for target, (at, turn, _) in self.known.items()}
        self._heap = list(self.known.values())
        heapq.heapify(self._heap)
        self._order = {}
        for key in sorted(target.key for target in targets):
            if key.account not in self._order:
                digest = blake2b(f"{self.collector}|{key.account}".encode(), digest_size=8).digest()
                self._order[key.account] = int.from_bytes(digest) / 2**64, []
            self._order[key.account][1].append(key)
        return [target for target in targets if target not in self.known]

    def pop(self, now: float, waits: Callable[[Target], bool] = lambda _target: False) -> list[tuple[float, Target]]:
        """Remove the targets that are due, and return each with its due time on the monotonic clock.

        A target that `waits` stays due.
        """
        due, waiting = [], []
        while self._heap and self._heap[0][0] <= now:
            entry = heapq.heappop(self._heap)
            at, _, target = entry
            if self.known.get(target) is not entry:
                continue
            if waits(target):
                waiting.append(entry)
            else:
                due.append((at, target))
        for entry in waiting:
            heapq.heappush(self._heap, entry)
        return due

    def earliest(self) -> float | None:
        """Return when the next target is due; None without targets."""
        return self._heap[0][0] if self._heap else None

    def phase(self, target: Target) -> float:
        """Return the place of a target's polls in the interval, from 0 to 1.

        The targets of an account are spread evenly, in their order. The changes between two generations are then
        neighbours in the exposition and in the state, so that few other bytes are compressed and written again. Each
        collector of each account has a different start, so that they do not poll the same targets at once. The place is
        the same in every run.
        """
        begin, keys = self._order.get(target.account, (0.0, ()))
        return (begin + bisect_left(keys, target.key) / max(1, len(keys))) % 1.0


# Collector → its interval, and when each of its targets is due.
KeptDueTimes = Mapping[str, tuple[float, Mapping[Target, float]]]


@dataclass(eq=False, repr=False)
class DueTimes:
    """When each target of each collector is polled next.

    Repeats of failed polls use the capacity of an account that the regular polls leave. If many targets fail, repeats
    are spread to fit into it, and a repeat that would come after the regular poll is not made.

    Attributes:
        plans: collector → how it is run.
        accounts: the accounts and databases, by their targets' `client_name`.
        registry: the targets.
        first_discovery: is repeated soon if it gets no answer.
        monotonic: a clock in seconds.
        due: due times from before a reload.
        deferred: the targets, by collector, whose next poll was delayed because the platform asked for it.
        intervals: the seconds between two polls of a target.
        timetables: collector → its targets.
        failures: how often in a row the polls of a target by a collector have failed; a success removes the entry.
    """

    plans: Mapping[str, Plan]
    accounts: Mapping[str, Account]
    registry: Registry
    first_discovery: FirstDiscovery
    monotonic: Callable[[], float]
    _: KW_ONLY
    due: InitVar[KeptDueTimes | None] = None
    deferred: set[PollKey] = field(default_factory=set)
    intervals: Intervals = field(init=False)
    timetables: dict[str, Timetable] = field(init=False)
    failures: dict[PollKey, int] = field(default_factory=dict)
    # Account → the time until which repeats use its spare capacity.
    _booked: dict[str, float] = field(default_factory=dict)
    # Collector and account → the longest stretch of the interval since it was last halved.
    _stretched: dict[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self, due: KeptDueTimes | None) -> None:
        self.intervals = Intervals(self.plans, self.accounts)
        self.timetables = {name: Timetable(name) for name in self.plans}
        for name, plan in self.plans.items():
            interval, moments = (due or {}).get(name, (0.0, {}))
            if interval == plan.interval:
                # They are queued when the first tick has compared the targets.
                sequence = self.timetables[name].sequence
                self.timetables[name].known = {target: (at, next(sequence), target) for target, at in moments.items()}

    def kept(self, starts_again: Callable[[str, Target], bool]) -> KeptDueTimes:
        """Return the due times that a reload keeps; a target of a collector that `starts_again` is polled at once."""
        return {
            name: (
                self.plans[name].interval,
                {target: at for target, (at, _, _) in timetable.known.items() if not starts_again(name, target)},
            )
            for name, timetable in self.timetables.items()
        }

    def make_due(self, name: str, wanted: Callable[[Target], bool] = lambda _target: True) -> None:
        """Make those targets of a collector due now that are `wanted`."""
        now, timetable = self.monotonic(), self.timetables[name]
        for target in [target for target in timetable.known if wanted(target)]:
            timetable.put(target, now)

    def at(self, name: str, target: Target) -> float | None:
        """Return when a target is polled next, on the monotonic clock; None if the collector does not poll it."""
        timetable = self.timetables.get(name)
        known = None if timetable is None else timetable.known.get(target)
        return None if known is None else known[0]

    def polled(self) -> set[PollKey]:
        """Return the polled targets, once for each of their collectors."""
        return {PollKey(target.key, name) for name, timetable in self.timetables.items() for target in timetable.known}

    def take_targets(self, plan: Plan, now: float) -> None:
        """Take over the targets of a collector, which have changed; new ones are due now."""
        collector, registry = plan.collector, self.registry
        name, timetable = collector.name, self.timetables[collector.name]
        found = registry.targets(collector.polls, every_shard=collector.every_shard)
        targets = {target: target for target in found if collector.wants(target)}
        timetable.version = registry.version
        for target in timetable.replace(targets):
            timetable.put(target, now)
        polled = {target.key for target in timetable.known}
        for key in [key for key in self.failures if key.collector == name and key.target not in polled]:
            del self.failures[key]
        self.intervals.note(plan, targets)

    def begun(self, plan: Plan, target: Target, interval: float, now: float) -> float:
        """Record that a poll of a target is enqueued; return when the next one is due, on the monotonic clock."""
        self.deferred.discard(PollKey(target.key, plan.collector.name))
        following = self._next_slot(plan, target, interval, now)
        self.timetables[plan.collector.name].put(target, following)
        return following

    def _next_slot(self, plan: Plan, target: Target, interval: float, now: float) -> float:
        """Return the first regular poll of a target that is at least half an interval away."""
        offset = self.timetables[plan.collector.name].phase(target) * interval
        earliest = now + interval / 2
        return offset + -(-(earliest - offset) // interval) * interval

    def ended(self, collector: Collector, target: Target, polled: Polled) -> None:
        """Record that a discovery has ended; a first one without an answer is repeated soon."""
        ended = self.first_discovery.ended
        if tells_names(collector) and ended(target.account, polled.error, polled.unnamed):
            self.timetables[collector.name].put(target, self.monotonic() + FIRST_RETRY_SECONDS)

    def failed(self, collector: Collector, target: Target, error: PlatformError) -> None:
        """Poll a target again soon after a failure, but not earlier than the platform asked."""
        asked = (isinstance(error, RateLimited | ServerError) and error.retry_after) or 0.0
        name, now = collector.name, self.monotonic()
        slot = self.at(name, target)
        if slot is None:
            return
        # A refused key is not tried more often; after a change of the key all targets are polled at once.
        is_refused = self.accounts[target.client_name].client.credential.is_refused()
        repeat = slot if is_refused else self._repeat_at(PollKey(target.key, name), target.client_name, now, slot)
        at = max(repeat, now + asked)
        if at != slot:
            self.timetables[name].put(target, at)
        if asked:
            self.deferred.add(PollKey(target.key, name))

    def _repeat_at(self, key: PollKey, account: str, now: float, due: float) -> float:
        """Return when a target is polled after a failure: at `due`, with the regular poll, or earlier."""
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        free = max(now, self._booked.get(account, now))
        repeat = free + FIRST_WAIT * 2.0 ** min(failures, MOST_DOUBLINGS)
        if repeat >= due:
            return due
        self._booked[account] = free + self.intervals.spare_seconds(account, key.collector)
        return repeat

    def catch_up(self, now: float) -> None:
        """Advance polls that long intervals have delayed, when intervals are short again, for example after a pause."""
        for (name, plan), account in itertools.product(self.plans.items(), self.accounts):
            stretch, longest = self.intervals.stretch(account, name), self._stretched.get((name, account), 1.0)
            has_halved = stretch <= longest / 2
            self._stretched[name, account] = stretch if has_halved else max(stretch, longest)
            timetable = self.timetables[name]
            for target, when in list(timetable.known.items()) if has_halved else ():
                if target.client_name != account or PollKey(target.key, name) in self.deferred:
                    continue
                interval = self.intervals.effective(plan, target)
                if when[0] - now > LATEST_SLOT * interval:
                    timetable.put(target, self._next_slot(plan, target, interval, now))

    def make_account_due(self, account: str) -> None:
        """Make all targets of an account due now."""
        for name in self.timetables:
            self.make_due(name, lambda target: target.client_name == account)
