"""What is known of all resources of an account, polled by this process or not, now and for the next start."""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from exporter.targets.target import Resource, ResourceList, TargetKey

# The version of the JSON: [version, is whole, source, removals, [[id, name, parent, facts], ...]].
_FORM = 3
REMOVALS_LAST = 7 * 86400.0
MOST_REMOVALS = 1000
# an account and a kind
Place = tuple[str, str]
# label → value
Facts = Mapping[str, str]


class Known(NamedTuple):
    """A resource, its name (empty if not known), its facts (None if its own answer has not come), and its parent."""

    key: TargetKey
    name: str
    facts: Facts | None
    parent: str = ""


class Removal(NamedTuple):
    """A resource that left the platform's list.

    Attributes:
        parent: as of `Resource`.
        at: when that was seen, in unix seconds.
    """

    key: TargetKey
    name: str
    parent: str
    at: float


def newest(removals: Iterable[Removal]) -> list[Removal]:
    """Return at most `MOST_REMOVALS` of each account, the newest first."""
    counts: Counter[str] = Counter()
    found = []
    for one in sorted(removals, key=lambda one: -one.at):
        counts[one.key.account] += 1
        if counts[one.key.account] <= MOST_REMOVALS:
            found.append(one)
    return found


@dataclass(slots=True, eq=False)
class KnownResources:
    """What is known of the resources of one kind in an account.

    Attributes:
        resources: id → the resource, in the order in which they were first listed.
        facts: id → what the resource's own answer contains besides its name.
        removals: what left the lists within `REMOVALS_LAST`, the newest first.
        source: the address whose list last contained all that was known; a list of another one records no removals.
        is_whole: whether a list was ever complete, in an earlier run too.
        is_complete: whether a list of this run was complete.
        is_saved: whether nothing has changed since it was packed.
    """

    place: Place
    resources: dict[str, Resource] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    removals: list[Removal] = field(default_factory=list)
    source: str = ""
    is_whole: bool = False
    is_complete: bool = False
    is_saved: bool = True
    # The ids that the last complete list of this run did not contain; None before the first list.
    _absent: frozenset[str] | None = None

    def __iter__(self) -> Iterator[Known]:
        for one in self.resources.values():
            yield Known(TargetKey.of(*self.place, one.id), one.name, self.facts.get(one.id), one.parent)

    def ended_by(self, found: ResourceList) -> frozenset[str]:
        """Return the ids that merging a list removes: those that two complete lists in a row do not contain."""
        if self._absent is None or not found.complete:
            return frozenset()
        return self._absent.difference(one.id for one in found.resources)

    def merge(self, found: ResourceList, address: str, now: float) -> None:
        """Take in a list: add what is new, and remove what `ended_by` returns for it.

        Args:
            found: the list.
            address: the address of the platform.
            now: unix seconds.
        """
        ended, listed = self.ended_by(found), {one.id: self._kept(one) for one in found.resources}
        kept = {own_id: one for own_id, one in self.resources.items() if own_id not in ended}
        missing = frozenset(kept.keys() - listed.keys())
        removals, source = self.removals, self.source
        if self.is_whole and source == address:
            gone = [one for own_id, one in self.resources.items() if own_id in ended]
            removals = self._with_removals(gone, now)
        if found.complete and not missing:
            source = address
        before = (self.resources, self.removals, self.source, self.is_whole)
        self.resources, self.removals, self.source = kept | listed, removals, source
        self.is_whole, self.is_complete = self.is_whole or found.complete, self.is_complete or found.complete
        self.is_saved = self.is_saved and before == (self.resources, self.removals, self.source, self.is_whole)
        self._absent = missing if found.complete else missing & (self._absent or frozenset())

    def _kept(self, one: Resource) -> Resource:
        """Return a listed resource as it is kept: a name that the list leaves out stays."""
        known = self.resources.get(one.id)
        if known is None or known == one:
            return known or one
        return one if one.name else replace(one, name=known.name)

    def _with_removals(self, gone: Iterable[Resource], now: float) -> list[Removal]:
        removals = {one.key: one for one in self.removals}
        for one in gone:
            key = TargetKey.of(*self.place, one.id)
            removals[key] = Removal(key, one.name, one.parent, now)
        return [one for one in newest(removals.values()) if now - one.at < REMOVALS_LAST]

    def note(self, own_id: str, facts: Facts) -> None:
        """Record what a resource's own answer contains besides its name."""
        if self.facts.get(own_id) != facts:
            self.facts[own_id] = facts
            self.is_saved = False

    def pack(self) -> bytes:
        """Return the bytes to store."""
        resources = [(one.id, one.name, one.parent, self.facts.get(one.id)) for one in self.resources.values()]
        removals = [(one.key.id, one.name, one.parent, one.at) for one in self.removals]
        stored = (_FORM, self.is_whole, self.source, removals, resources)
        return zlib.compress(json.dumps(stored).encode(), 1)

    def restore(self, packed: bytes, now: float) -> None:
        """Take in what was stored; what is damaged, or of another version, is ignored."""
        try:
            form, is_whole, source, removed, listed = json.loads(zlib.decompress(packed))
            resources = {own_id: Resource(own_id, name, parent) for own_id, name, parent, _ in listed}
            facts = {own_id: of for own_id, _, _, of in listed if of is not None}
            removals = [
                # The clock may have gone back since.
                Removal(TargetKey.of(*self.place, own_id), name, parent, min(at, now))
                for own_id, name, parent, at in removed
            ]
        except (ValueError, TypeError, AttributeError, zlib.error):
            return
        if form == _FORM:
            self.resources, self.facts, self.removals = resources, facts, removals
            self.source, self.is_whole = source, is_whole
