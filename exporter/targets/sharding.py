"""Which shard a target belongs to: replicas that are given the same list pick their own share of it each.

By rendezvous hashing, without a coordinator.
"""

from dataclasses import dataclass
from hashlib import blake2b

from exporter.targets.target import TargetKey


@dataclass(frozen=True, slots=True)
class Share:
    """The shards that a process polls, of `total`, counted from 0.

    Attributes:
        held: their numbers.
        may_change: whether shards come and go while the process runs.
    """

    held: frozenset[int]
    total: int
    may_change: bool = False

    def owns(self, key: TargetKey, parent: str = "") -> bool:
        """Whether the target is in the share.

        Args:
            key: the target.
            parent: the shield zone of a rate limit, where it is known. The two stay together, so that a shard lists
                the rate limits of its own shield zones alone.
        """
        return self.owner_of(key, parent) in self.held

    @property
    def first(self) -> int:
        """The lowest number of a shard that is held; 0 where none is."""
        return min(self.held, default=0)

    def owner_of(self, key: TargetKey, parent: str = "") -> int:
        """The number of the shard that a target belongs to; see `owns`."""
        if self.total == 1:
            return 0
        kind, target_id = key.kind, key.id
        if kind == "rate_limit" and parent:
            kind, target_id = "shield_zone", parent
        elif kind == "query":
            # A database's budget is not divided: its queries are asked by the shard that asks the database.
            kind, target_id = "database", target_id.partition("/")[0]
        return owner(f"{key.account}/{kind}/{target_id}", self.total)


class Shard(Share):
    """One shard of `total`, which stays with the process.

    Args:
        index: its number.
        total: how many there are.
    """

    __slots__ = ()

    def __init__(self, index: int = 0, total: int = 1) -> None:
        Share.__init__(self, frozenset({index}), total)


def owner(key: str, total: int) -> int:
    """The shard with the highest score for a key.

    A further shard takes over only the keys for which its own score is the highest, which is 1/total of them; no key
    moves between the shards that were there before.
    """
    scores = (blake2b(b"%d:%s" % (index, key.encode()), digest_size=8).digest() for index in range(total))
    return max(enumerate(scores), key=lambda scored: scored[1])[0]
