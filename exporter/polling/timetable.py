"""Keeps when each target is polled next: at its place in the interval, sooner after a failure, later if so asked."""

import heapq
import itertools
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

from exporter.collectors.collector import Collector, Polled
from exporter.platform.errors import PlatformError, RateLimited, ServerError
from exporter.polling.first_discovery import FIRST_RETRY_SECONDS, FirstDiscovery, tells_names
from exporter.polling.intervals import Account, Backoff, Intervals, Plan
from exporter.targets.registry import Registry
from exporter.targets.target import PollKey, Target, TargetKey

# A regular poll is at most this many intervals away.
LATEST_SLOT = 1.5


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
        """Replace the targets; due times of known targets are kept.

        The due time of a target whose request or interval has changed is dropped.

        Returns:
            Targets without a due time.
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

    def pop(
        self, now: float, waits: Callable[[Target], bool] = lambda _target: False
    ) -> Generator[tuple[float, Target]]:
        """Remove the targets that are due, and yield them one by one, each with its due time.

        Args:
            now: the present, on the monotonic clock.
            waits: returns whether a target must wait; it stays due.
        """
        waiting = []
        try:
            while self._heap and self._heap[0][0] <= now:
                entry = heapq.heappop(self._heap)
                at, _, target = entry
                if self.known.get(target) is not entry:
                    continue
                if waits(target):
                    waiting.append(entry)
                else:
                    yield at, target
        finally:
            for entry in waiting:
                heapq.heappush(self._heap, entry)

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


@dataclass(frozen=True, slots=True)
class KeptDueTimes:
    """The due times that a reload of the configuration keeps.

    Attributes:
        due: collector → its interval, and when each target is due.
        deferred: the targets, by collector, whose next poll was delayed because the platform asked for it.
    """

    due: Mapping[str, tuple[float, Mapping[Target, float]]] = field(default_factory=dict)
    deferred: frozenset[PollKey] = frozenset()


class DueTimes:
    """When each target of each collector is polled next.

    Args:
        plans: collector → how it is run.
        accounts: the accounts and databases, by their targets' `client_name`.
        registry: the targets.
        first_discovery: is repeated soon if it gets no answer.
        monotonic: a clock in seconds.
        kept: due times from before a reload.

    Attributes:
        intervals: the seconds between two polls of a target.
        backoff: when failed polls are repeated.
        timetables: collector → its targets.
    """

    def __init__(
        self,
        plans: Mapping[str, Plan],
        accounts: Mapping[str, Account],
        registry: Registry,
        first_discovery: FirstDiscovery,
        monotonic: Callable[[], float],
        *,
        kept: KeptDueTimes = KeptDueTimes(),
    ) -> None:
        self.intervals = Intervals(plans, accounts, registry.share)
        self.backoff = Backoff(self.intervals)
        self.timetables = {name: Timetable(name) for name in plans}
        self._plans = plans
        self._accounts = accounts
        self._registry = registry
        self._first_discovery = first_discovery
        self._monotonic = monotonic
        self._deferred = set(kept.deferred)
        # Collector and account → the longest stretch of the interval since it was last halved.
        self._stretched: dict[tuple[str, str], float] = {}
        for name, plan in plans.items():
            interval, due = kept.due.get(name, (0.0, {}))
            if interval == plan.interval:
                # They are queued when the first tick has compared the targets.
                sequence = self.timetables[name].sequence
                self.timetables[name].known = {target: (at, next(sequence), target) for target, at in due.items()}

    def kept(self, starts_again: Callable[[str, Target], bool]) -> KeptDueTimes:
        """Return the due times that a reload keeps.

        Args:
            starts_again: returns whether a target of a collector must be polled at once instead.
        """
        due = {
            name: (
                self._plans[name].interval,
                {target: at for target, (at, _, _) in timetable.known.items() if not starts_again(name, target)},
            )
            for name, timetable in self.timetables.items()
        }
        return KeptDueTimes(due, frozenset(self._deferred))

    def make_due(self, name: str, wanted: Callable[[Target], bool] = lambda _target: True) -> None:
        """Make targets of a collector due now.

        Args:
            name: the collector's name.
            wanted: returns whether a target is made due; all are by default.
        """
        now, timetable = self._monotonic(), self.timetables[name]
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

    def taking_targets(self, plan: Plan, now: float) -> Generator[None, None, None]:
        """Take over the targets of a collector, which have changed, with a pause after each; new ones are due now."""
        timetable, version = self.timetables[plan.collector.name], self._registry.version
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
                timetable.put(target, now)
            yield
        self.backoff.forget_others(plan.collector.name, timetable.known)
        yield from self.intervals.noting(plan, targets)

    def begun(self, plan: Plan, target: Target, interval: float, now: float) -> float:
        """Record that a poll of a target is enqueued; return when the next one is due, on the monotonic clock."""
        self._deferred.discard(PollKey(target.key, plan.collector.name))
        following = self._next_slot(plan, target, interval, now)
        self.timetables[plan.collector.name].put(target, following)
        return following

    def _next_slot(self, plan: Plan, target: Target, interval: float, now: float) -> float:
        """Return the first regular poll of a target that is at least half an interval away."""
        offset = self.timetables[plan.collector.name].phase(target) * interval
        if target.scouted:
            # Not all shards list the account at the same time.
            share = self._registry.share
            offset = (offset + share.first / share.total * interval) % interval
        earliest = now + interval / 2
        return offset + -(-(earliest - offset) // interval) * interval

    def ended(self, collector: Collector, target: Target, polled: Polled) -> None:
        """Record that a discovery has ended; a first one without an answer is repeated soon."""
        ended = self._first_discovery.ended
        if tells_names(collector) and ended(target.account, polled.error, polled.unnamed):
            self.timetables[collector.name].put(target, self._monotonic() + FIRST_RETRY_SECONDS)

    def failed(self, collector: Collector, target: Target, error: PlatformError) -> None:
        """Poll a target again soon after a failure, but not earlier than the platform asked."""
        asked = (isinstance(error, RateLimited | ServerError) and error.retry_after) or 0.0
        name, now = collector.name, self._monotonic()
        slot = at = self.at(name, target)
        if slot is None or at is None:
            return
        # A refused key is not tried more often; after a change of the key all targets are polled at once.
        if not self._accounts[target.client_name].client.credential.is_refused():
            at = self.backoff.failed(name, target, now, slot)
        at = max(at, now + asked)
        if at != slot:
            self.timetables[name].put(target, at)
        if asked:
            self._deferred.add(PollKey(target.key, name))

    def catching_up(self, now: float) -> Generator[None, None, None]:
        """Advance polls that long intervals have delayed, when intervals are short again, for example after a pause."""
        for (name, plan), account in itertools.product(self._plans.items(), self._accounts):
            stretch, longest = self.intervals.stretch(account, name), self._stretched.get((name, account), 1.0)
            has_halved = stretch <= longest / 2
            self._stretched[name, account] = stretch if has_halved else max(stretch, longest)
            known = self.timetables[name].known
            for target, when in list(known.items()) if has_halved else ():
                yield
                is_other = target.client_name != account
                if is_other or known.get(target) is not when or PollKey(target.key, name) in self._deferred:
                    continue
                interval = self.intervals.effective(plan, target)
                if when[0] - now > LATEST_SLOT * interval:
                    self.timetables[name].put(target, self._next_slot(plan, target, interval, now))

    def making_account_due(self, account: str, now: float) -> Generator[None, None, None]:
        """Make all targets of an account due now, with a pause after each."""
        for timetable in self.timetables.values():
            for target in [target for target in timetable.known if target.client_name == account]:
                if target in timetable.known:
                    timetable.put(target, now)
                yield
