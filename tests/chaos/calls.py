"""Divides the calls at the platform: first polls after a claim, polls beside a shard's new holder, and all others."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Call:
    """A call at the platform.

    Attributes:
        at: unix seconds.
        replica: who called.
        path: what was called.
    """

    at: float
    replica: str
    path: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A replica has claimed shards.

    Attributes:
        at: unix seconds.
        replica: who claimed.
        shards: which ones.
    """

    at: float
    replica: str
    shards: frozenset[int]


@dataclass
class Tally:
    """How many calls there were.

    Attributes:
        calls: all.
        first_polls: the first call of each path after a claim of its shard. A list of an account, which belongs to no
            shard, is called first after any claim.
        beside: polls by a replica of a shard that another one has claimed since; first polls are none of them.
        lists: calls of an account's lists that are no first polls.
    """

    calls: int = 0
    first_polls: int = 0
    beside: int = 0
    lists: int = 0


def tallied(
    calls: Iterable[Call], claims: Iterable[Claim], shard_of: Callable[[str], int | None], since: float = 0.0
) -> Tally:
    """Divide calls.

    Args:
        calls: the calls of all replicas.
        claims: the claims of all replicas, from the beginning.
        shard_of: a path's shard; None for a list.
        since: unix seconds; what was before is not counted.
    """
    tally = Tally()
    holders: dict[int, str] = {}
    # How many claims there were: by replica and shard, and by replica; and what it was at the last call of a path.
    claimed: dict[tuple[str, int | None], int] = {}
    seen: dict[tuple[str, str], int] = {}
    events: list[Call | Claim] = [*claims, *calls]
    for event in sorted(events, key=attrgetter("at")):
        if isinstance(event, Claim):
            for shard in (*event.shards, None):
                claimed[event.replica, shard] = claimed.get((event.replica, shard), 0) + 1
            holders.update(dict.fromkeys(event.shards, event.replica))
            continue
        shard = shard_of(event.path)
        number = claimed.get((event.replica, shard), 0)
        is_first = seen.get((event.replica, event.path), 0) != number
        seen[event.replica, event.path] = number
        if event.at < since:
            continue
        tally.calls += 1
        if is_first:
            tally.first_polls += 1
        elif shard is None:
            tally.lists += 1
        elif holders.get(shard) != event.replica:
            tally.beside += 1
    return tally
