"""Keeps when each target of a collector is due."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from exporter.targets.target import Target


@dataclass(slots=True)
class Timetable:
    """The targets of one collector, the earliest due first.

    Attributes:
        known: target → when it is due, and the turn that makes an older entry of the heap void.
        version: the version of the registry that the targets were taken from.
    """

    heap: list[tuple[float, int, Target]] = field(default_factory=list)
    known: dict[Target, tuple[float, int]] = field(default_factory=dict)
    version: int = -1

    def put(self, target: Target, at: float, turn: int) -> None:
        """Set the due time of a target; an earlier entry becomes void."""
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
        return [target for target in targets if target not in self.known]

    def pop(self, now: float) -> Iterator[tuple[float, int, Target]]:
        """Remove the targets that are due, and yield them one by one."""
        while self.heap and self.heap[0][0] <= now:
            at, turn, target = heapq.heappop(self.heap)
            if self.known.get(target) == (at, turn):
                yield at, turn, target

    def put_back(self, entries: Iterable[tuple[float, int, Target]]) -> None:
        """Put back entries that were removed and have to wait."""
        for entry in entries:
            heapq.heappush(self.heap, entry)

    def earliest(self) -> float | None:
        """When the next target is due; None without targets."""
        return self.heap[0][0] if self.heap else None


def phase(collector: str, target: Target, interval: float) -> float:
    """Where in the interval a target's polls lie: spread evenly by a hash, and the same in every run."""
    digest = blake2b(f"{collector}|{target.account}|{target.key.label}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64 * interval


def next_slot(offset: float, interval: float, now: float) -> float:
    """The first of the slots at `offset` in each interval that is at least half an interval away."""
    earliest = now + interval / 2
    slots = -(-(earliest - offset) // interval)
    return offset + slots * interval
