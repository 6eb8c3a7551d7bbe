"""The removals of targets: what left the lists of the platform; `resource_lists.py` stores them for a week."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from exporter.targets.target import ListKey, Resource, TargetKey

REMOVAL_SECONDS = 7 * 86400.0
MOST_REMOVALS = 1000


class Removal(NamedTuple):
    """A resource that left the platform's list.

    Attributes:
        parent: the id of the shield zone of a rate limit.
        at: when the removal was noticed, in unix seconds.
    """

    key: TargetKey
    name: str
    parent: str
    at: float


def with_removed(known: list[Removal], list_key: ListKey, removed: list[Resource], now: float) -> list[Removal]:
    """Return the known removals of a list and those of the resources that it has lost now, as `newest` selects them."""
    added = [Removal(TargetKey.of(*list_key, one.id), one.name, one.parent, now) for one in removed]
    return newest([*known, *added], now - REMOVAL_SECONDS)


def newest(removals: Iterable[Removal], since: float) -> list[Removal]:
    """Return the last removal of each resource since a time, newest first; at most `MOST_REMOVALS` of each account."""
    # The removals of a resource come in the order of time, so that its last one remains.
    last_by_key = {one.key: one for one in removals if one.at >= since}
    counts: Counter[str] = Counter()
    found: list[Removal] = []
    for one in sorted(last_by_key.values(), key=lambda one: one.at, reverse=True):
        counts[one.key.account] += 1
        if counts[one.key.account] <= MOST_REMOVALS:
            found.append(one)
    return found
