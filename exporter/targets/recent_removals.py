"""The resources that left the lists of the platform, and when."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from exporter.targets.target import TargetKey

REMOVAL_SECONDS = 7 * 86400.0
MOST_REMOVALS = 1000  # of an account; limited, because each removal is a series


class Removal(NamedTuple):
    """A resource that left the platform's list.

    Attributes:
        parent: the id of a rate limit's shield zone, else empty.
        at: when the removal was noticed, in unix seconds.
    """

    key: TargetKey
    name: str
    parent: str
    at: float


def newest(removals: Iterable[Removal], since: float) -> list[Removal]:
    """Return each resource's last removal since a unix time, newest first; at most `MOST_REMOVALS` an account."""
    # The removals of a resource are in the order of time, so that its last removal remains.
    last_by_key = {one.key: one for one in removals if one.at >= since}
    counts: Counter[str] = Counter()
    found: list[Removal] = []
    for one in sorted(last_by_key.values(), key=lambda one: one.at, reverse=True):
        counts[one.key.account] += 1
        if counts[one.key.account] <= MOST_REMOVALS:
            found.append(one)
    return found
