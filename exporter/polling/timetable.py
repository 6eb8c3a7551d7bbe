"""Keeps the due time of each target of a collector, and the place of its polls in the interval."""

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from exporter.targets.target import Target, TargetKey


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


def next_slot(offset: float, interval: float, now: float) -> float:
    """Return the first time at `offset` within an interval that is at least half an interval away."""
    earliest = now + interval / 2
    slots = -(-(earliest - offset) // interval)
    return offset + slots * interval
