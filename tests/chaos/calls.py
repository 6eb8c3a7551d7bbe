"""Groups the platform's calls: first polls after a claim, duplicates of a shard's new holder, and all others."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Call:
    """A replica's call of a path, at unix seconds."""

    at: float
    replica: str
    path: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A replica's claim of shards, at unix seconds."""

    at: float
    replica: str
    shards: frozenset[int]


def tallied(
    calls: Iterable[Call], claims: Iterable[Claim], shard_of: Callable[[str], int | None], since: float = 0.0
) -> dict[str, int]:
    """Group calls.

    `first_polls` are the first calls of each path after a claim of its shard; for a list of an account, which belongs
    to no shard, the first after any claim. Of the others, `beside` are polls by a replica of a shard that another one
    has claimed since, and `lists` those of an account's lists.

    Args:
        calls: the calls of all replicas.
        claims: the claims of all replicas, from the beginning.
        shard_of: returns a path's shard; None for a list.
        since: unix seconds; earlier calls are not counted.
    """
    tally = {"calls": 0, "first_polls": 0, "beside": 0, "lists": 0}
    holders: dict[int, str] = {}
    # How many claims there were: by replica and shard, and by replica; and what it was at the last call of a path.
    claimed: Counter[tuple[str, int | None]] = Counter()
    seen: dict[tuple[str, str], int] = {}
    events: list[Call | Claim] = [*claims, *calls]
    for event in sorted(events, key=attrgetter("at")):
        if isinstance(event, Claim):
            claimed.update((event.replica, shard) for shard in (*event.shards, None))
            holders.update(dict.fromkeys(event.shards, event.replica))
            continue
        shard = shard_of(event.path)
        number = claimed[event.replica, shard]
        is_first = seen.get((event.replica, event.path), 0) != number
        seen[event.replica, event.path] = number
        if event.at < since:
            continue
        tally["calls"] += 1
        if is_first:
            tally["first_polls"] += 1
        elif shard is None:
            tally["lists"] += 1
        elif holders.get(shard) != event.replica:
            tally["beside"] += 1
    return tally
