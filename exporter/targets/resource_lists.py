"""What is known of all resources of an account, polled by this process or not, now and for the next start."""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from exporter.targets.target import Resource, ResourceList, TargetKey

# The version of the JSON: [version, is whole, source, moves, [[id, name, parent, facts], ...]].
_FORM = 2
MOVES_LAST = 7 * 86400.0
MOST_MOVES = 1000
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


class Move(NamedTuple):
    """A resource that left the platform's list, or that is new in it.

    Attributes:
        parent: as of `Resource`.
        at: when that was seen, in unix seconds.
        is_gone: whether it left.
    """

    key: TargetKey
    name: str
    parent: str
    at: float
    is_gone: bool


def newest(moves: Iterable[Move]) -> list[Move]:
    """Return the newest first: of an account at most `MOST_MOVES` that left, and as many that came."""
    counts: Counter[tuple[str, bool]] = Counter()
    found = []
    for move in sorted(moves, key=lambda move: (-move.at, not move.is_gone)):
        counts[move.key.account, move.is_gone] += 1
        if counts[move.key.account, move.is_gone] <= MOST_MOVES:
            found.append(move)
    return found


@dataclass(slots=True, eq=False)
class KnownResources:
    """What is known of the resources of one kind in an account.

    Attributes:
        resources: id → the resource, in the order in which they were first listed.
        facts: id → what the resource's own answer contains besides its name.
        moves: what left the lists or came to them within `MOVES_LAST`, the newest first.
        source: the address whose list last contained all that was known; a list of another platform records no moves.
        is_whole: whether a list was ever complete, in an earlier run too.
        is_complete: whether a list of this run was complete.
        is_saved: whether nothing has changed since it was packed.
    """

    place: Place
    resources: dict[str, Resource] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
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
        moves, source = self.moves, self.source
        if self.is_whole and source == address:
            # What the first list of a run contains is not new: the state may be that of another shard.
            new = [] if self._absent is None else [one for one in listed.values() if one.id not in self.resources]
            gone = [one for own_id, one in self.resources.items() if own_id in ended]
            moves = self._moved(new, gone, now)
        if found.complete and not missing:
            source = address
        before = (self.resources, self.moves, self.source, self.is_whole)
        self.resources, self.moves, self.source = kept | listed, moves, source
        self.is_whole, self.is_complete = self.is_whole or found.complete, self.is_complete or found.complete
        self.is_saved = self.is_saved and before == (self.resources, self.moves, self.source, self.is_whole)
        self._absent = missing if found.complete else missing & (self._absent or frozenset())

    def _kept(self, one: Resource) -> Resource:
        """Return a listed resource as it is kept: a name that the list leaves out stays."""
        known = self.resources.get(one.id)
        if known is None or known == one:
            return known or one
        return one if one.name else replace(one, name=known.name)

    def _moved(self, new: Iterable[Resource], gone: Iterable[Resource], now: float) -> list[Move]:
        moves = {move.key: move for move in self.moves}
        for is_gone, resources in ((True, gone), (False, new)):
            for one in resources:
                key = TargetKey.of(*self.place, one.id)
                moves[key] = Move(key, one.name, one.parent, now, is_gone)
        return [move for move in newest(moves.values()) if now - move.at < MOVES_LAST]

    def note(self, own_id: str, facts: Facts) -> None:
        """Record what a resource's own answer contains besides its name."""
        if self.facts.get(own_id) != facts:
            self.facts[own_id] = facts
            self.is_saved = False

    def pack(self) -> bytes:
        """Return the bytes to store."""
        resources = [(one.id, one.name, one.parent, self.facts.get(one.id)) for one in self.resources.values()]
        moves = [(move.key.id, move.name, move.parent, move.at, move.is_gone) for move in self.moves]
        stored = (_FORM, self.is_whole, self.source, moves, resources)
        return zlib.compress(json.dumps(stored).encode(), 1)

    def restore(self, packed: bytes, now: float) -> None:
        """Take in what was stored; what is damaged, or of another version, is ignored."""
        try:
            form, is_whole, source, moved, listed = json.loads(zlib.decompress(packed))
            resources = {own_id: Resource(own_id, name, parent) for own_id, name, parent, _ in listed}
            facts = {own_id: of for own_id, _, _, of in listed if of is not None}
            moves = [
                # The clock may have gone back since.
                Move(TargetKey.of(*self.place, own_id), name, parent, min(at, now), is_gone)
                for own_id, name, parent, at, is_gone in moved
            ]
        except (ValueError, TypeError, AttributeError, zlib.error):
            return
        if form == _FORM:
            self.resources, self.facts, self.moves = resources, facts, moves
            self.source, self.is_whole = source, is_whole
