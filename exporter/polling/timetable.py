"""Which targets of a collector are due when."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from exporter.targets.target import Target


@dataclass(slots=True)
class Timetable:
    """A collector's targets, the earliest due first.

    Attributes:
        known: target → when it is due, and the turn that makes an older entry of the heap void.
        version: the version of the registry that the targets were taken from.
    """

    heap: list[tuple[float, int, Target]] = field(default_factory=list)
    known: dict[Target, tuple[float, int]] = field(default_factory=dict)
    version: int = -1

    def put(self, target: Target, at: float, turn: int) -> None:
        """Make a target due at a time, and at no other."""
        self.known[target] = (at, turn)
        heapq.heappush(self.heap, (at, turn, target))

    def replace(self, targets: dict[Target, Target]) -> list[Target]:
        """Take over which targets there are: names may be new, and the times stand.

        Only the time of a target of which another thing is asked now, or at another interval, is void.

        Returns:
            Targets that are not due at any time yet.
        """
        for known in list(self.known):
            target = targets.get(known)
            if target is None or not target.is_polled_as(known):
                del self.known[known]
        self.heap = [(at, turn, targets[target]) for target, (at, turn) in self.known.items()]
        heapq.heapify(self.heap)
        return [target for target in targets if target not in self.known]

    def pop(self, now: float) -> Iterator[tuple[float, int, Target]]:
        """Take out what is due, one by one."""
        while self.heap and self.heap[0][0] <= now:
            at, turn, target = heapq.heappop(self.heap)
            if self.known.get(target) == (at, turn):
                yield at, turn, target

    def put_back(self, entries: Iterable[tuple[float, int, Target]]) -> None:
        """Put back what was taken out and has to wait."""
        for entry in entries:
            heapq.heappush(self.heap, entry)

    def earliest(self) -> float | None:
        """When the next target is due; None where there is none."""
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
