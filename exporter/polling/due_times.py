"""When each target of each collector is due: one heap an account, the earliest first."""

import heapq
import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from exporter.targets.target import PollKey, Target, TargetKey


class DueEntry(NamedTuple):
    """A poll and when it is due.

    Attributes:
        at: when it is due, on the monotonic clock.
        number: keeps the order of equal times.
    """

    at: float
    number: int
    collector: str
    target: Target

    @property
    def key(self) -> PollKey:
        """The target and its collector."""
        return PollKey(self.target.key, self.collector)


class DueTimes:
    """The due times of all targets, on the monotonic clock."""

    def __init__(self) -> None:
        # Collector → target → its valid entry; account → all entries, also those that were replaced since.
        self._entries: dict[str, dict[TargetKey, DueEntry]] = {}
        self._heaps: dict[str, list[DueEntry]] = {}
        self._numbers = itertools.count()

    def put(self, collector: str, target: Target, at: float) -> None:
        """Set when a target is due; an earlier entry of it becomes invalid."""
        entry = DueEntry(at, next(self._numbers), collector, target)
        self._entries.setdefault(collector, {})[target.key] = entry
        heapq.heappush(self._heaps.setdefault(target.client_name, []), entry)

    def first(self, account: str) -> DueEntry | None:
        """Return the entry of an account that is due first; None without targets."""
        heap = self._heaps.get(account, [])
        while heap and self.of(heap[0].collector).get(heap[0].target.key) is not heap[0]:
            heapq.heappop(heap)
        return heap[0] if heap else None

    def of(self, collector: str) -> Mapping[TargetKey, DueEntry]:
        """Return the entries of a collector, by target."""
        return self._entries.get(collector, {})

    def find(self, key: PollKey) -> DueEntry | None:
        """Return the entry of a target; None if the collector does not poll it."""
        return self.of(key.collector).get(key.target)

    def replace(self, collector: str, targets: Iterable[Target]) -> list[Target]:
        """Replace the targets of a collector, and return those without a due time.

        Due times are kept, but not those of targets whose request or interval has changed.
        """
        former, fresh = self.of(collector), list[Target]()
        kept = self._entries[collector] = {}
        for target in targets:
            entry = former.get(target.key)
            if entry is None or not target.is_polled_as(entry.target):
                fresh.append(target)
            elif entry.target is target:
                kept[target.key] = entry
            else:
                self.put(collector, target, entry.at)
        return fresh

    def keep(self, collectors: Collection[str], accounts: Collection[str]) -> None:
        """Forget all other collectors and accounts."""
        self._entries = {name: entries for name, entries in self._entries.items() if name in collectors}
        self._heaps = {name: heap for name, heap in self._heaps.items() if name in accounts}
