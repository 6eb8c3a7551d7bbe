"""Keeps what is known of all resources of an account, polled by this process or not, now and for the next start."""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
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


class ResourceLists:
    """The resources of each kind in an account. There can be many, so they are packed: compressed JSON.

    Args:
        wall: returns unix seconds.

    Attributes:
        addresses: account → the address of its platform; lists of another platform record no moves.
        whole: the places where a list was ever complete, in an earlier run too.
        complete: the places where a list of this run was complete.
        facts: what the resources' own answers contain besides their names, by id.
        moves: what left a place or came to it within `MOVES_LAST`, the newest first.
        unsaved: the places with changes that are not saved; the caller that saves them clears it.
    """

    def __init__(self, wall: Callable[[], float]) -> None:
        self.addresses: Mapping[str, str] = {}
        self.whole: set[Place] = set()
        self.complete: set[Place] = set()
        self.facts: dict[Place, dict[str, Facts]] = {}
        self.moves: dict[Place, list[Move]] = {}
        self.unsaved: set[Place] = set()
        self._wall = wall
        self._packed: dict[Place, bytes] = {}
        # The ids that the last complete list of this run did not contain.
        self._absent: dict[Place, set[str]] = {}
        # The address whose list last contained all that was known.
        self._sources: dict[Place, str] = {}

    def resources(self, place: Place) -> list[Resource]:
        """Return the resources of a place, in the order in which they were first listed."""
        packed = self._packed.get(place)
        return [] if packed is None else [Resource(*one[:3]) for one in json.loads(zlib.decompress(packed))[-1]]

    def known(self, place: Place) -> Iterator[Known]:
        """Yield the resources of a place with their facts."""
        facts = self.facts.get(place, {})
        for one in self.resources(place):
            yield Known(TargetKey.of(*place, one.id), one.name, facts.get(one.id), one.parent)

    def ended_by(self, place: Place, found: ResourceList) -> set[str]:
        """Return the ids that merging a list removes: those that two complete lists in a row do not contain."""
        if not found.complete:
            return set()
        return self._absent.get(place, set()) - {one.id for one in found.resources}

    def merge(self, place: Place, found: ResourceList) -> None:
        """Take in a list: add what is new, and remove what `ended_by` returns for it."""
        before, absent = self._packed.get(place), self._absent.get(place, set())
        known = {one.id: one for one in self.resources(place)}
        listed = {
            # A name that is left out stays.
            one.id: replace(one, name=known[one.id].name) if not one.name and one.id in known else one
            for one in found.resources
        }
        # What the first list of a run contains is not new: the state may be that of another shard.
        new = [one for one in listed.values() if one.id not in known and place in self._absent]
        missing = known.keys() - listed.keys()
        removed = self.ended_by(place, found) & missing
        gone, kept = [known.pop(one) for one in removed], missing - removed
        self._absent[place] = kept if found.complete else absent & kept
        address = self.addresses.get(place[0], "")
        if place in self.whole and self._sources.get(place) == address:
            self._note_moves(place, new, gone)
        if found.complete:
            self.whole.add(place)
            self.complete.add(place)
            if not kept:
                self._sources[place] = address
        self._packed[place] = self._pack(place, (known | listed).values())
        if self._packed[place] != before:
            self.unsaved.add(place)

    def _note_moves(self, place: Place, new: Iterable[Resource], gone: Iterable[Resource]) -> None:
        now = self._wall()
        moves = {move.key: move for move in self.moves.get(place, ())}
        for is_gone, resources in ((True, gone), (False, new)):
            for one in resources:
                key = TargetKey.of(*place, one.id)
                moves[key] = Move(key, one.name, one.parent, now, is_gone)
        self.moves[place] = [move for move in newest(moves.values()) if now - move.at < MOVES_LAST]

    def note(self, key: TargetKey, facts: Facts) -> None:
        """Record what a resource's own answer contains besides its name."""
        place = key.account, key.kind
        own = self.facts.setdefault(place, {})
        if own.get(key.id) != facts:
            own[key.id] = facts
            self.unsaved.add(place)

    def restore(self, place: Place, packed: bytes) -> None:
        """Take in what was stored; what is damaged, or of another version, is ignored."""
        try:
            form, is_whole, source, stored, resources = json.loads(zlib.decompress(packed))
            moves = [
                # The clock may have gone back since.
                Move(TargetKey.of(*place, str(own_id)), str(name), str(parent), min(at, self._wall()), bool(is_gone))
                for own_id, name, parent, at, is_gone in stored
            ]
            facts = {own_id: of for own_id, _, _, of in resources if of is not None}
        except (ValueError, TypeError, AttributeError, zlib.error):
            return
        if form != _FORM:
            return
        self._packed[place] = packed
        self._sources[place] = source
        self.moves[place] = moves
        self.facts[place] = facts
        if is_whole:
            self.whole.add(place)

    def pack(self, place: Place) -> bytes:
        """Return the bytes to store."""
        return self._pack(place, self.resources(place))

    def _pack(self, place: Place, resources: Iterable[Resource]) -> bytes:
        facts = self.facts.get(place, {})
        packed = [(one.id, one.name, one.parent, facts.get(one.id)) for one in resources]
        moves = [(move.key.id, *move[1:]) for move in self.moves.get(place, ())]
        form = [_FORM, place in self.whole, self._sources.get(place, ""), moves, packed]
        return zlib.compress(json.dumps(form).encode(), 1)
