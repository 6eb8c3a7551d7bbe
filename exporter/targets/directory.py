"""Keeps what is known of all resources of an account, polled by this process or not, now and for the next start."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring_ascii
from typing import NamedTuple

from exporter.targets.target import TargetKey

# The version of the lines: [id, name, facts] below [version, whether the place is whole].
_FORM = 1
# an account and a kind
Place = tuple[str, str]
# label → value
Facts = Mapping[str, str]


class Known(NamedTuple):
    """A resource, its name (empty if not known), and its facts (None if its own answer has not come)."""

    key: TargetKey
    name: str
    facts: Facts | None


class Directory:
    """The resources of each kind in an account. There can be many, so they are packed: compressed lines of JSON.

    Attributes:
        whole: the places where a list was ever complete, in an earlier run too.
        facts: what the resources' own answers contain besides their names.
        unsaved: the places where something has changed since it was saved; whoever saves it empties this.
    """

    def __init__(self) -> None:
        self.whole: set[Place] = set()
        self.unsaved: set[Place] = set()
        self._packed: dict[Place, bytes] = {}
        # The ids that the last complete list did not contain.
        self._absent: dict[Place, set[str]] = {}
        self.facts: dict[TargetKey, Facts] = {}

    def resources(self, place: Place) -> Iterator[Known]:
        """Yield each resource of a place."""
        _, *lines = zlib.decompress(self._packed[place]).split(b"\n") if place in self._packed else [b""]
        for resource_id, name, facts in json.loads(b"[" + b",".join(lines) + b"]"):
            key = TargetKey.of(*place, resource_id)
            if facts is not None:
                self.facts.setdefault(key, facts)
            yield Known(key, name, self.facts.get(key))

    def merge(self, place: Place, names: dict[str, str], *, complete: bool) -> None:
        """Take in a list, as id → name.

        What two complete lists in a row do not contain is removed; an incomplete list removes nothing.
        """
        before, absent = self._packed.get(place), self._absent.get(place, set())
        kept: dict[str, str] = {}
        for key, name, _ in self.resources(place):
            if key.id in names:
                # A name that is left out stays.
                names[key.id] = names[key.id] or name
            elif not (complete and key.id in absent):
                kept[key.id] = name
        self._absent[place] = set(kept) if complete else absent & kept.keys()
        if complete:
            self.whole.add(place)
        self._packed[place] = self.pack(place, (names | kept).items())
        if self._packed[place] != before:
            self.unsaved.add(place)

    def note(self, key: TargetKey, facts: Facts) -> None:
        """Record what a resource's own answer contains besides its name."""
        if self.facts.get(key) != facts:
            self.facts[key] = facts
            self.unsaved.add((key.account, key.kind))

    def restore(self, place: Place, packed: bytes) -> None:
        """Take in what was stored; what is damaged, or of another version, is ignored."""
        try:
            form, is_whole = json.loads(zlib.decompress(packed).partition(b"\n")[0])
        except (ValueError, TypeError, zlib.error):
            return
        if form != _FORM:
            return
        self._packed[place] = packed
        if is_whole:
            self.whole.add(place)

    def pack(self, place: Place, names: Iterable[tuple[str, str]] | None = None) -> bytes:
        """Pack a place with these ids and names, or with its own; return the bytes to store."""
        if names is None:
            names = ((key.id, name) for key, name, _ in self.resources(place))
        facts = {key.id: its for key, its in self.facts.items() if (key.account, key.kind) == place}
        lines = [json.dumps([_FORM, place in self.whole])]
        # `json.dumps` of each resource would take six times as long.
        lines += (
            f"[{encode_basestring_ascii(resource_id)}, {encode_basestring_ascii(name)}, "
            f"{json.dumps(facts[resource_id]) if resource_id in facts else 'null'}]"
            for resource_id, name in names
        )
        return zlib.compress("\n".join(lines).encode(), 1)
