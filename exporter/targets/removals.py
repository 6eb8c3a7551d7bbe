"""The removals of targets: what left the lists of the platform, which `resource_lists.py` keeps for a week."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from exporter.targets.target import TargetKey

REMOVALS_LAST = 7 * 86400.0
MOST_REMOVALS = 1000


class Removal(NamedTuple):
    """A resource that left the platform's list.

    Attributes:
        parent: the shield zone of a rate limit, as its id.
        at: when the removal was noticed, in unix seconds.
    """

    key: TargetKey
    name: str
    parent: str
    at: float


def newest(removals: Iterable[Removal], since: float) -> list[Removal]:
    """Return the last removal of each resource, the newest first: those since a time, at most 1,000 of each account."""
    last = {one.key: one for one in removals if one.at >= since}
    counts: Counter[str] = Counter()
    found = []
    for one in sorted(last.values(), key=lambda one: -one.at):
        counts[one.key.account] += 1
        if counts[one.key.account] <= MOST_REMOVALS:
            found.append(one)
    return found
