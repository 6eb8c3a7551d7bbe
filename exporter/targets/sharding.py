"""Assigns targets to shards by rendezvous hashing: processes with the same list agree without a coordinator."""

from dataclasses import dataclass
from hashlib import blake2b

from exporter.targets.target import TargetKey


@dataclass(frozen=True, slots=True)
class Shard:
    """The part of the targets that a process polls as long as it runs.

    Attributes:
        index: the number of the shard, from 0; None for a spare, which polls nothing.
        total: how many shards there are.
    """

    index: int | None = 0
    total: int = 1

    def owns(self, key: TargetKey) -> bool:
        """Return whether the process polls a target."""
        return self.owner_of(key) == self.index

    def owner_of(self, key: TargetKey, parent: str = "") -> int:
        """Return the number of the shard that a target belongs to.

        `parent` is the shield zone of a rate limit, if it is known. Both belong to the same shard, so that a shard
        lists the rate limits of its own shield zones only.
        """
        if self.total == 1:
            return 0
        kind, target_id = key.kind, key.id
        if kind == "rate_limit" and parent:
            kind, target_id = "shield_zone", parent
        elif kind == "query":
            # The budget of a database is not divided among shards: one shard runs all of its queries.
            kind, target_id = "database", target_id.partition("/")[0]
        return owner(f"{key.account}/{kind}/{target_id}", self.total)


def owner(key: str, total: int) -> int:
    """Return the shard with the highest score for a key.

    An additional shard takes only the keys for which its own score is the highest, which is 1/total of them. No key
    moves between the other shards.
    """
    scores = (blake2b(b"%d:%s" % (index, key.encode()), digest_size=8).digest() for index in range(total))
    return max(enumerate(scores), key=lambda scored: scored[1])[0]
