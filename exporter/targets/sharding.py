"""Assigns targets to shards by rendezvous hashing, so that the processes need no coordinator."""

from dataclasses import dataclass
from hashlib import blake2b

from exporter.targets.target import TargetKey


@dataclass(frozen=True, slots=True)
class Shard:
    """The part of the targets that a process polls.

    Attributes:
        index: the number of the shard, from 0; None for a spare, which polls nothing.
        total: how many shards there are.
    """

    index: int | None = 0
    total: int = 1

    def owner_of(self, key: TargetKey, parent: str = "") -> int:
        """Return the number of the shard that a target belongs to.

        `parent` is the shield zone of a rate limit; empty if the zone is not known. If it is known, the rate limit
        belongs to the zone's shard, so that each shard lists only the rate limits of its own shield zones.
        """
        if self.total == 1:
            return 0
        kind, target_id = key.kind, key.id
        if kind == "rate_limit" and parent:
            kind, target_id = "shield_zone", parent
        elif kind == "query":
            # All queries of a database belong to one shard, because a database's budget is not divided among shards.
            kind, target_id = "database", key.database
        return owner(f"{key.account}/{kind}/{target_id}", self.total)


def owner(key: str, total: int) -> int:
    """Return the number of the shard that has the highest score for a key.

    A new shard takes over the keys for which the new shard has the highest score. The other keys stay where they are.
    """

    def score(index: int) -> bytes:
        return blake2b(f"{index}:{key}".encode(), digest_size=8).digest()

    return max(range(total), key=score)
