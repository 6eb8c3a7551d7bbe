"""Keeps what is known of all resources of an account, polled by this process or not, now and for the next start."""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from exporter.targets.target import Resource, TargetKey

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


class ResourceLists:
    """The resources of each kind in an account. There can be many, so they are packed: compressed JSON.

    Args:
        wall: returns unix seconds.

    Attributes:
        addresses: account → the address of its platform; lists of another platform record no moves.
        whole: the places where a list was ever complete, in an earlier run too.
        facts: what the resources' own answers contain besides their names.
        moves: what left a place or came to it within `MOVES_LAST`, the `MOST_MOVES` newest of each, by id.
        unsaved: the places with changes that are not saved; the caller that saves them clears it.
    """

    def __init__(self, wall: Callable[[], float]) -> None:
        self.addresses: Mapping[str, str] = {}
        self.whole: set[Place] = set()
        self.facts: dict[TargetKey, Facts] = {}
        self.moves: dict[Place, dict[str, Move]] = {}
        self.unsaved: set[Place] = set()
        self._wall = wall
        self._packed: dict[Place, bytes] = {}
        # The ids that the last complete list did not contain.
        self._absent: dict[Place, set[str]] = {}
        # The address whose list last contained all that was known.
        self._sources: dict[Place, str] = {}

    def resources(self, place: Place) -> Iterator[Known]:
        """Yield each resource of a place."""
        if place not in self._packed:
            return
        for resource_id, name, parent, facts in json.loads(zlib.decompress(self._packed[place]))[-1]:
            key = TargetKey.of(*place, resource_id)
            if facts is not None:
                self.facts.setdefault(key, facts)
            yield Known(key, name, self.facts.get(key), parent)

    def merge(self, place: Place, resources: Iterable[Resource], *, complete: bool) -> set[str]:
        """Take in a list, and return the ids that are removed.

        What two complete lists in a row do not contain is removed; an incomplete list removes nothing.
        """
        before, absent = self._packed.get(place), self._absent.get(place, set())
        listed = {one.id: one for one in resources}
        known = {one.key.id: Resource(one.key.id, one.name, one.parent) for one in self.resources(place)}
        # What the first list of a run contains is not new: the state may be that of another shard.
        new = [one for one in listed.values() if one.id not in known and place in self._absent]
        for one in listed.values():
            if not one.name and one.id in known:
                # A name that is left out stays.
                listed[one.id] = replace(one, name=known[one.id].name)
        missing = [one for one in known.values() if one.id not in listed]
        gone = [one for one in missing if complete and one.id in absent]
        removed = {one.id for one in gone}
        kept = {one.id: one for one in missing if one.id not in removed}
        self._absent[place] = set(kept) if complete else absent & kept.keys()
        address = self.addresses.get(place[0], "")
        if place in self.whole and self._sources.get(place) == address:
            self._note_moves(place, new, gone)
        if complete:
            self.whole.add(place)
            if not kept:
                self._sources[place] = address
        self._packed[place] = self.pack(place, (listed | kept).values())
        if self._packed[place] != before:
            self.unsaved.add(place)
        return removed

    def _note_moves(self, place: Place, new: Iterable[Resource], gone: Iterable[Resource]) -> None:
        now = self._wall()
        moves = dict(self.moves.get(place, {}))
        for is_gone, resources in ((False, new), (True, gone)):
            for one in resources:
                moves[one.id] = Move(TargetKey.of(*place, one.id), one.name, one.parent, now, is_gone)
        newest = sorted(moves.values(), key=lambda move: -move.at)
        kept = [
            *[move for move in newest if move.is_gone][:MOST_MOVES],
            *[move for move in newest if not move.is_gone][:MOST_MOVES],
        ]
        self.moves[place] = {move.key.id: move for move in kept if now - move.at < MOVES_LAST}

    def note(self, key: TargetKey, facts: Facts) -> None:
        """Record what a resource's own answer contains besides its name."""
        if self.facts.get(key) != facts:
            self.facts[key] = facts
            self.unsaved.add((key.account, key.kind))

    def restore(self, place: Place, packed: bytes) -> None:
        """Take in what was stored; what is damaged, or of another version, is ignored."""
        try:
            form, is_whole, source, stored, _ = json.loads(zlib.decompress(packed))
            moves = [
                # The clock may have gone back since.
                Move(TargetKey.of(*place, str(own_id)), str(name), str(parent), min(at, self._wall()), bool(is_gone))
                for own_id, name, parent, at, is_gone in stored
            ]
        except (ValueError, TypeError, zlib.error):
            return
        if form != _FORM:
            return
        self._packed[place] = packed
        self._sources[place] = source
        self.moves[place] = {move.key.id: move for move in moves}
        if is_whole:
            self.whole.add(place)

    def pack(self, place: Place, resources: Iterable[Resource] | None = None) -> bytes:
        """Pack a place with these resources, or with its own; return the bytes to store."""
        if resources is None:
            resources = [Resource(one.key.id, one.name, one.parent) for one in self.resources(place)]
        moves = [(move.key.id, *move[1:]) for move in self.moves.get(place, {}).values()]
        packed = [(one.id, one.name, one.parent, self.facts.get(TargetKey.of(*place, one.id))) for one in resources]
        form = [_FORM, place in self.whole, self._sources.get(place, ""), moves, packed]
        return zlib.compress(json.dumps(form).encode(), 1)
