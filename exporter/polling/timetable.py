"""Keeps when each target is polled next: at its place in the interval, sooner after a failure, later if so asked."""

import heapq
import itertools
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from exporter.collectors.collector import Collector, Polled
from exporter.platform.errors import PlatformError, RateLimited, ServerError
from exporter.polling.backoff import Backoff
from exporter.polling.first_discovery import FIRST_RETRY_SECONDS, FirstDiscovery, tells_names
from exporter.polling.intervals import Account, Intervals, Plan
from exporter.targets.registry import Registry
from exporter.targets.target import PollKey, Target, TargetKey, account_of

# A regular poll is at most this many intervals away.
LATEST_SLOT = 1.5


@dataclass(slots=True)
class Timetable:
    """The targets of one collector, the earliest due first.

    Attributes:
        collector: the collector's name.
        known: target → when it is due, and a sequence number, by which older entries of the heap become invalid.
        version: the version of the registry from which the targets were taken.
    """

    collector: str
    heap: list[tuple[float, int, Target]] = field(default_factory=list)
    known: dict[Target, tuple[float, int]] = field(default_factory=dict)
    version: int = -1
    # Account → its targets, in the order of the exposition.
    _order: dict[str, list[TargetKey]] = field(default_factory=dict)

    def put(self, target: Target, at: float, turn: int) -> None:
        """Set the due time of a target; its earlier entry becomes invalid."""
        self.known[target] = (at, turn)
        heapq.heappush(self.heap, (at, turn, target))

    def replace(self, targets: dict[Target, Target]) -> list[Target]:
        """Replace the targets; due times of known targets are kept.

        The due time of a target whose request or interval has changed is dropped.

        Returns:
            Targets without a due time.
        """
        for known in list(self.known):
            target = targets.get(known)
            if target is None or not target.is_polled_as(known):
                del self.known[known]
        self.heap = [(at, turn, targets[target]) for target, (at, turn) in self.known.items()]
        heapq.heapify(self.heap)
        self._order = {}
        for target in targets:
            self._order.setdefault(target.account, []).append(target.key)
        for keys in self._order.values():
            keys.sort()
        return [target for target in targets if target not in self.known]

    def pop(self, now: float) -> Iterator[tuple[float, int, Target]]:
        """Remove the targets that are due, and yield them one by one."""
        while self.heap and self.heap[0][0] <= now:
            at, turn, target = heapq.heappop(self.heap)
            if self.known.get(target) == (at, turn):
                yield at, turn, target

    def put_back(self, entries: Iterable[tuple[float, int, Target]]) -> None:
        """Put back removed entries that have to wait."""
        for entry in entries:
            heapq.heappush(self.heap, entry)

    def earliest(self) -> float | None:
        """Return when the next target is due; None without targets."""
        return self.heap[0][0] if self.heap else None

    def phase(self, target: Target) -> float:
        """Return the place of a target's polls in the interval, from 0 to 1.

        The targets of an account are spread evenly, in their order. The changes between two generations are then
        neighbours in the exposition and in the state, so that few other bytes are compressed and written again. Each
        collector of each account has a different start, so that they do not poll the same targets at once. The place is
        the same in every run.
        """
        keys = self._order.get(target.account, ())
        digest = blake2b(f"{self.collector}|{target.account}".encode(), digest_size=8).digest()
        begin = int.from_bytes(digest) / 2**64
        return (begin + bisect_left(keys, target.key) / max(1, len(keys))) % 1.0


@dataclass(frozen=True, slots=True)
class KeptDueTimes:
    """The due times that a reload of the configuration keeps.

    Attributes:
        due: collector → its interval, and when each target is due.
        deferred: the targets, by collector, whose next poll was delayed because the platform asked for it.
    """

    due: Mapping[str, tuple[float, Mapping[Target, tuple[float, int]]]]
    deferred: frozenset[PollKey]


class DueTimes:
    """When each target of each collector is polled next.

    Args:
        plans: collector → how it is run.
        accounts: the accounts and databases, by their names from `account_of`.
        registry: the targets.
        first_discovery: is repeated soon if it gets no answer.
        monotonic: a clock in seconds.
        kept: due times from before a reload.

    Attributes:
        intervals: the seconds between two polls of a target.
    """

    def __init__(
        self,
        plans: Mapping[str, Plan],
        accounts: Mapping[str, Account],
        registry: Registry,
        first_discovery: FirstDiscovery,
        monotonic: Callable[[], float],
        *,
        kept: KeptDueTimes | None = None,
    ) -> None:
        self.intervals = Intervals(plans, accounts, registry.share)
        self._plans = plans
        self._accounts = accounts
        self._registry = registry
        self._first_discovery = first_discovery
        self._monotonic = monotonic
        self._backoff = Backoff(self.intervals)
        self._sequence = itertools.count()
        self._timetables = {name: Timetable(name) for name in plans}
        # The targets, by collector, whose next poll was delayed because the platform asked for it.
        self._deferred = set[PollKey]()
        # Collector and account → the longest stretch of the interval since it was last halved.
        self._stretched: dict[tuple[str, str], float] = {}
        if kept is not None:
            self._inherit(kept)

    def _inherit(self, kept: KeptDueTimes) -> None:
        self._deferred = set(kept.deferred)
        for name, plan in self._plans.items():
            interval, known = kept.due.get(name, (0.0, {}))
            if interval == plan.interval:
                # New sequence numbers: they decide the order of entries with the same time.
                self._timetables[name].known = {target: (at, next(self._sequence)) for target, (at, _) in known.items()}

    def kept(self, starts_again: Callable[[str, Target], bool]) -> KeptDueTimes:
        """Return the due times that a reload keeps.

        Args:
            starts_again: returns whether a target of a collector must be polled at once instead.
        """
        due = {
            name: (
                self._plans[name].interval,
                {target: when for target, when in timetable.known.items() if not starts_again(name, target)},
            )
            for name, timetable in self._timetables.items()
        }
        return KeptDueTimes(due, frozenset(self._deferred))

    def put(self, name: str, target: Target, at: float) -> None:
        """Set when a target is polled next by a collector, on the monotonic clock."""
        self._timetables[name].put(target, at, next(self._sequence))

    def make_due(self, name: str, wanted: Callable[[Target], bool] = lambda _target: True) -> None:
        """Make targets of a collector due now.

        Args:
            name: the collector's name.
            wanted: returns whether a target is made due; all are by default.
        """
        now = self._monotonic()
        for target in [target for target in self._timetables[name].known if wanted(target)]:
            self.put(name, target, now)

    def at(self, name: str, target: Target) -> float | None:
        """Return when a target is polled next, on the monotonic clock; None if the collector does not poll it."""
        timetable = self._timetables.get(name)
        known = None if timetable is None else timetable.known.get(target)
        return None if known is None else known[0]

    def polled(self) -> set[PollKey]:
        """Return the polled targets, once for each of their collectors."""
        return {target.polled_by(name) for name, timetable in self._timetables.items() for target in timetable.known}

    def earliest(self, name: str) -> float | None:
        """Return when the next target of a collector is due; None without targets."""
        return self._timetables[name].earliest()

    def taking_due(self, name: str, now: float, waits: Callable[[Target], bool]) -> "Generator[tuple[float, Target]]":
        """Yield the targets of a collector that are due, and since when; those that must wait stay due.

        Args:
            name: the collector's name.
            now: the present, on the monotonic clock.
            waits: returns whether a target must wait.
        """
        timetable, waiting = self._timetables[name], []
        try:
            for at, turn, target in timetable.pop(now):
                if waits(target):
                    waiting.append((at, turn, target))
                else:
                    yield at, target
        finally:
            timetable.put_back(waiting)

    def taking_targets(self, plan: Plan, now: float) -> Generator[None, None, None]:
        """Take over the targets of a collector if they have changed, with a pause after each; new ones are due now."""
        timetable, version = self._timetables[plan.collector.name], self._registry.version
        if timetable.version == version:
            return
        targets: dict[Target, Target] = {}
        for target in tuple(self._registry.targets(plan.collector.polls)):
            if plan.collector.wants(target):
                targets[target] = target
            yield
        # If the targets have changed in the meantime, the tick after that change takes them.
        if self._registry.version != version:
            return
        timetable.version = version
        for target in timetable.replace(targets):
            if timetable.version != version:
                return
            # Another tick of the same collector may have added it in the meantime.
            if target not in timetable.known:
                self.put(plan.collector.name, target, now)
            yield
        self._backoff.forget_others(plan.collector.name, timetable.known)
        yield from self.intervals.noting(plan, targets)

    def begun(self, plan: Plan, target: Target, interval: float, now: float) -> float:
        """Record that a poll of a target is enqueued; return when the next one is due, on the monotonic clock."""
        self._deferred.discard(target.polled_by(plan.collector.name))
        following = self._next_slot(plan, target, interval, now)
        self.put(plan.collector.name, target, following)
        return following

    def _next_slot(self, plan: Plan, target: Target, interval: float, now: float) -> float:
        """Return the first regular poll of a target that is at least half an interval away."""
        offset = self._timetables[plan.collector.name].phase(target) * interval
        if target.scouted:
            # Not all shards list the account at the same time.
            share = self._registry.share
            offset = (offset + share.first / share.total * interval) % interval
        earliest = now + interval / 2
        return offset + -(-(earliest - offset) // interval) * interval

    def ended(self, collector: Collector, target: Target, polled: Polled) -> None:
        """Record that a poll has ended; a first discovery without an answer is repeated soon."""
        ended = self._first_discovery.ended
        if tells_names(collector) and ended(target.account, polled.error, polled.unnamed):
            self.put(collector.name, target, self._monotonic() + FIRST_RETRY_SECONDS)

    def succeeded(self, collector: Collector, target: Target) -> None:
        """Record that a poll of a target has succeeded."""
        self._backoff.succeeded(collector.name, target)

    def failed(self, collector: Collector, target: Target, error: PlatformError) -> None:
        """Poll a target again soon after a failure, but not earlier than the platform asked."""
        asked = (isinstance(error, RateLimited | ServerError) and error.retry_after) or 0.0
        name, now = collector.name, self._monotonic()
        slot = at = self.at(name, target)
        if slot is None or at is None:
            return
        # A refused key is not tried more often; after a change of the key all targets are polled at once.
        if not self._accounts[account_of(target)].client.credential.is_refused():
            at = self._backoff.failed(name, target, now, slot)
        at = max(at, now + asked)
        if at != slot:
            self.put(name, target, at)
        if asked:
            self._deferred.add(target.polled_by(name))

    def lifetime(self, name: str, target: Target) -> float:
        """Return the seconds for which the values of a target are valid; 0 for a collector that is not run."""
        plan = self._plans.get(name)
        return 0.0 if plan is None else self.intervals.lifetime(plan, target)

    def catching_up(self, now: float) -> Generator[None, None, None]:
        """Advance polls that long intervals have delayed, when intervals are short again, for example after a pause."""
        for plan, account in itertools.product(self._plans.values(), self._accounts):
            mark = (plan.collector.name, account)
            stretch, longest = self.intervals.stretch(account, plan.collector.name), self._stretched.get(mark, 1.0)
            self._stretched[mark] = max(stretch, longest)
            if stretch <= longest / 2:
                self._stretched[mark] = stretch
                yield from self._bringing_forward(plan, account, now)

    def _bringing_forward(self, plan: Plan, account: str, now: float) -> Generator[None, None, None]:
        name, known = plan.collector.name, self._timetables[plan.collector.name].known
        for target, when in list(known.items()):
            yield
            if known.get(target) != when or account_of(target) != account or target.polled_by(name) in self._deferred:
                continue
            interval = self.intervals.effective(plan, target)
            if when[0] - now > LATEST_SLOT * interval:
                self.put(name, target, self._next_slot(plan, target, interval, now))

    def making_account_due(self, account: str, now: float) -> Generator[None, None, None]:
        """Make all targets of an account due now, with a pause after each."""
        for name, timetable in self._timetables.items():
            for target in [target for target in timetable.known if account_of(target) == account]:
                if target in timetable.known:
                    self.put(name, target, now)
                yield
