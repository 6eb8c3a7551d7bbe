"""Keeps what is known of resources that this process does not poll: those of other shards, and those of an earlier run.

There may be many of them, so they are packed: a line of JSON each, compressed.
"""

import json
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress

from exporter.targets.target import TargetKey

# an account and a kind
Place = tuple[str, str]
# label → value
Facts = Mapping[str, str]


class Directory:
    """The packed resources by account and kind, and the facts of all resources.

    Attributes:
        whole: where a list has ever been complete, in an earlier run too.
        unsaved: where something has changed since it was saved; whoever saves it empties this.
    """

    def __init__(self) -> None:
        self.whole: set[Place] = set()
        self.unsaved: set[Place] = set()
        # The resources, and the ids of those that the last complete list did not contain.
        self._packed: dict[Place, tuple[bytes, frozenset[str]]] = {}
        self._facts: dict[TargetKey, Facts] = {}

    def resources(self, place: Place) -> Iterator[tuple[str, str]]:
        """Yield the ids and names of the packed resources."""
        return _unpack(self._packed.get(place, (b"", ()))[0])

    def merge(
        self, place: Place, others: dict[str, str], polled: set[str], *, complete: bool
    ) -> Generator[None, None, None]:
        """Take in a list; yields after each resource. What two complete lists in a row do not contain is removed.

        Args:
            place: the account and the kind.
            others: id → name of the listed resources that are to be packed.
            polled: the ids of the other listed ones.
            complete: whether the list is complete; otherwise it removes nothing.
        """
        packed, absent = self._packed.get(place, (b"", frozenset()))
        kept: dict[str, str] = {}
        for resource_id, name in _unpack(packed):
            yield
            if resource_id in others:
                # A name that is left out stays.
                others[resource_id] = others[resource_id] or name
            elif resource_id not in polled and not (complete and resource_id in absent):
                kept[resource_id] = name
        merged = (yield from _pack((others | kept).items())) if others or kept else b""
        self._packed[place] = merged, frozenset(kept) if complete else absent & kept.keys()
        if merged != packed or (complete and place not in self.whole):
            self.unsaved.add(place)
        if complete:
            self.whole.add(place)

    def note(self, key: TargetKey, facts: Facts) -> None:
        """Record what a resource's own answer contains besides its name."""
        if self._facts.get(key) != facts:
            self._facts[key] = facts
            self.unsaved.add((key.account, key.kind))

    def facts(self, key: TargetKey) -> Facts | None:
        """Return what was noted of a resource; None if it has not answered."""
        return self._facts.get(key)

    def packing(self, place: Place, resources: Iterable[tuple[TargetKey, str]]) -> Generator[None, None, bytes]:
        """Pack all resources of a kind for the state; yields after each, and returns the bytes."""
        facts = {key.id: dict(its) for key, its in self._facts.items() if (key.account, key.kind) == place}
        return (yield from _pack(((key.id, name) for key, name in resources), [place in self.whole, facts]))

    def restore(self, place: Place, packed: bytes) -> None:
        """Take in the resources of an earlier run; what is damaged is ignored."""
        with suppress(ValueError, zlib.error):
            is_whole, facts = json.loads(zlib.decompress(packed).partition(b"\n")[0])
            self._packed[place] = packed, frozenset()
            for resource_id, its in facts.items():
                self._facts.setdefault(TargetKey.of(*place, resource_id), its)
            if is_whole:
                self.whole.add(place)


def _pack(resources: Iterable[tuple[str, str]], head: object = None) -> Generator[None, None, bytes]:
    deflate = zlib.compressobj(1)
    pieces = [deflate.compress(json.dumps(head).encode())]
    for resource in resources:
        pieces.append(deflate.compress(b"\n" + json.dumps(resource).encode()))
        yield
    return b"".join([*pieces, deflate.flush()])


def _unpack(packed: bytes) -> Iterator[tuple[str, str]]:
    _, *lines = zlib.decompress(packed).split(b"\n") if packed else [b""]
    for line in lines:
        resource_id, name = json.loads(line)
        yield resource_id, name
