"""Groups the platform's calls: first polls after a claim, extra polls next to a shard's new holder, and all others."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Call:
    """A call to the platform.

    Attributes:
        at: unix seconds.
        replica: the calling replica.
        path: the path of the call.
    """

    at: float
    replica: str
    path: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A replica's claim of shards.

    Attributes:
        at: unix seconds.
        replica: the claiming replica.
        shards: the claimed shards.
    """

    at: float
    replica: str
    shards: frozenset[int]


@dataclass
class Tally:
    """The numbers of calls.

    Attributes:
        calls: all calls.
        first_polls: the first call of each path after a claim of its shard. For a list of an account, which belongs to
            no shard, the first call after any claim counts.
        beside: polls by a replica of a shard that another replica has claimed since, without first polls.
        lists: calls of an account's lists, without first polls.
    """

    calls: int = 0
    first_polls: int = 0
    beside: int = 0
    lists: int = 0


def tallied(
    calls: Iterable[Call], claims: Iterable[Claim], shard_of: Callable[[str], int | None], since: float = 0.0
) -> Tally:
    """Group calls.

    Args:
        calls: the calls of all replicas.
        claims: the claims of all replicas, from the beginning.
        shard_of: returns a path's shard; None for a list.
        since: unix seconds; earlier calls are not counted.
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
