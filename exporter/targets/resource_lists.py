"""The listed resources of an account, polled by this process or not, and the stored form of the lists."""

import json
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from exporter.targets.recent_removals import REMOVAL_SECONDS, Removal, newest
from exporter.targets.target import ListKey, Resource, ResourceList, TargetKey

# The version of the JSON: [version, was ever complete, source, removals, [[id, name, parent, facts], ...]].
_VERSION = 3
# Label → value, read from a resource itself and not from a list, such as the host names of a script.
Facts = Mapping[str, str]


class KnownResource(NamedTuple):
    """A resource; `name` may be empty, `facts` is None until a poll has read facts, `parent` is as in `Resource`."""

    key: TargetKey
    name: str
    facts: Facts | None
    parent: str = ""


@dataclass(slots=True, eq=False)
class KnownResources:
    """The resources of one kind in an account, as they were listed.

    Attributes:
        resources: id → the resource; a new resource is added at the end.
        facts: id → the facts of the resource.
        removals: the removals that `newest` has selected.
        source: the address of the platform that last sent a complete list with all known resources. A resource that is
            ended by a list from another address is not added to `removals`.
        was_ever_complete: whether a list was complete, in this run or an earlier run.
        was_complete_in_this_run: whether a list of this run was complete.
        is_saved: False if the content has changed since `Registry.save` passed it on.
    """

    list_key: ListKey
    resources: dict[str, Resource] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    removals: list[Removal] = field(default_factory=list)
    source: str = ""
    was_ever_complete: bool = False
    was_complete_in_this_run: bool = False
    is_saved: bool = True
    # The known ids that are missing in the last complete list of this run, and in all lists after that list.
    _absent: frozenset[str] = frozenset()

    def __iter__(self) -> Iterator[KnownResource]:
        for one in self.resources.values():
            yield KnownResource(TargetKey.of(*self.list_key, one.id), one.name, self.facts.get(one.id), one.parent)

    def ended_by(self, found: ResourceList) -> frozenset[str]:
        """Return the known ids that merging a list removes.

        An id is removed if it is missing in this list, in the last complete list before it, and in all lists between
        the two. An incomplete list, and the first complete list of this run, remove nothing.
        """
        if not found.complete:
            return frozenset()
        return self._absent.difference(one.id for one in found.resources)

    def merge(self, found: ResourceList, address: str, now: float) -> None:
        """Add a list from the platform at `address`, and remove the resources that the list ends (`ended_by`).

        `now` is in unix seconds.
        """
        before = self._stored_parts()
        ended = self.ended_by(found)
        if self.source == address:
            self._add_removals(ended, now)
        listed = {one.id: self._with_known_name(one) for one in found.resources}
        remaining = {resource_id: one for resource_id, one in self.resources.items() if resource_id not in ended}
        self.resources = remaining | listed
        missing = frozenset(remaining.keys() - listed.keys())
        self._absent = missing if found.complete else self._absent & missing
        if found.complete:
            self.was_ever_complete = self.was_complete_in_this_run = True
            if not missing:
                # While a resource is missing, it may belong to the platform at the former address.
                self.source = address
        if self._stored_parts() != before:
            self.is_saved = False

    def _add_removals(self, ended: Collection[str], now: float) -> None:
        gone = (one for one in self.resources.values() if one.id in ended)
        added = (Removal(TargetKey.of(*self.list_key, one.id), one.name, one.parent, now) for one in gone)
        self.removals = newest([*self.removals, *added], now - REMOVAL_SECONDS)

    def _stored_parts(self) -> tuple[object, ...]:
        """Return the stored content without the facts, which are not in lists."""
        return self.resources, self.removals, self.source, self.was_ever_complete

    def _with_known_name(self, one: Resource) -> Resource:
        known = self.resources.get(one.id)
        if known is None:
            return one
        # An equal resource is not replaced, because `merge` compares identical objects faster.
        if known == one:
            return known
        return one if one.name else replace(one, name=known.name)

    def record_facts(self, resource_id: str, facts: Facts) -> None:
        """Record the facts of a resource."""
        if self.facts.get(resource_id) != facts:
            self.facts[resource_id] = facts
            self.is_saved = False

    def pack(self) -> bytes:
        """Return the bytes to store."""
        resources = [(one.id, one.name, one.parent, self.facts.get(one.id)) for one in self.resources.values()]
        removals = [(one.key.id, one.name, one.parent, one.at) for one in self.removals]
        stored = (_VERSION, self.was_ever_complete, self.source, removals, resources)
        return zlib.compress(json.dumps(stored).encode(), zlib.Z_BEST_SPEED)

    def restore(self, packed: bytes, now: float) -> None:
        """Restore the content from `pack`; damaged data and other versions are ignored. `now` is in unix seconds."""
        try:
            version, was_ever_complete, source, removed, listed = json.loads(zlib.decompress(packed))
            resources = {resource_id: Resource(resource_id, name, parent) for resource_id, name, parent, _ in listed}
            facts = {resource_id: noted for resource_id, _, _, noted in listed if noted is not None}
            removals = [
                # This machine's clock may have been set back since the removal.
                Removal(TargetKey.of(*self.list_key, resource_id), name, parent, min(at, now))
                for resource_id, name, parent, at in removed
            ]
        except (ValueError, TypeError, AttributeError, zlib.error):
            return
        if version == _VERSION:
            self.resources, self.facts, self.removals = resources, facts, removals
            self.source, self.was_ever_complete = source, was_ever_complete
