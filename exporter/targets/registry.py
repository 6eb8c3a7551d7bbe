"""The configured and the discovered targets, their names, and which of them this process polls."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from exporter.targets.resource_lists import REMOVALS_LAST, Facts, Known, KnownResources, Place, Removal, newest
from exporter.targets.selection import Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import NAMED_BY_SEARCH, Inventory, ResourceList, Target, TargetKey

# How many scripts of other shards one discovery reads.
MOST_READ = 100


class Registry:
    """The targets by account and kind.

    Names are stable, because a new name would start new series: a known name stays until the platform reports another.

    Args:
        shard: the shard that this process polls.
        wall: returns unix seconds.
        removals_last: for how many seconds it reports what left the platform.

    Attributes:
        version: grows whenever the targets change.
        by_key: the targets that are polled, as they are polled now, with names that were learnt since.
        shard: the shard that this process polls.
    """

    def __init__(self, shard: Shard, wall: Callable[[], float] = float, removals_last: float = REMOVALS_LAST) -> None:
        self.version = 0
        self.by_key: dict[TargetKey, Target] = {}
        self.shard = shard
        # By id: the names of all resources, also of those that are not polled.
        self._names: dict[Place, dict[str, str]] = {}
        self._selections: dict[Place, Selection] = {}
        self._accounts: list[str] = []
        self._targets: dict[Place, dict[str, Target]] = {}
        self._fixed: dict[Place, dict[str, Target]] = {}
        # All resources, whichever shard polls them.
        self._known: dict[Place, KnownResources] = {}
        self._addresses: Mapping[str, str] = {}
        self._wall, self._removals_last = wall, removals_last

    def owns(self, key: TargetKey, parent: str = "") -> bool:
        """Return whether this process polls a resource; of a rate limit, by its configured or known shield zone."""
        return self.owner_of(key, parent) == self.shard.index

    def owner_of(self, key: TargetKey, parent: str = "") -> int:
        """Return the shard that polls a resource; `parent` is the shield zone of a rate limit, if it is known."""
        if key.kind == "rate_limit":
            # The shield zone in the configuration has priority over that in a list, because every shard has the
            # configuration.
            fixed = self._fixed.get((key.account, key.kind), {}).get(key.id)
            parent = parent if fixed is None else fixed.attributes.get("shield_zone_id", "")
        return self.shard.owner_of(key, parent)

    def remember(self, names: Mapping[TargetKey, str]) -> None:
        """Add names that an earlier run or another process knows; known names are kept."""
        for key, name in names.items():
            self._names.setdefault(key[:2], {}).setdefault(key.id, name)

    def is_elsewhere(self, key: TargetKey) -> bool:
        """Return whether a resource of an earlier run belongs to another shard now.

        False for a discovered rate limit: its shard depends on its shield zone, which a listing gives later. False for
        a row of an account that belongs to no target.
        """
        is_found = key.kind == "rate_limit" and key.id not in self._fixed.get((key.account, key.kind), {})
        return bool(key.id) and not is_found and not self.owns(key)

    def configure(self, selections: Iterable[Selection], addresses: Mapping[str, str] | None = None) -> list[Target]:
        """Apply a configuration, and return the targets that it no longer selects; all others are kept.

        `addresses` are those of the accounts' platforms.
        """
        self._addresses = addresses or {}
        self._selections = {(one.account, one.kind): one for one in selections}
        self._accounts = list(dict.fromkeys(account for account, _ in self._selections))
        self._fixed = {
            key: {target.id: target for target in selection.fixed} for key, selection in self._selections.items()
        }
        return self._rebuild(self._selections.keys() | self._targets.keys())

    def apply(self, account: str, inventory: Inventory) -> list[Target]:
        """Apply what a discovery found in an account; return the targets that are removed.

        A resource is removed when two complete listings in a row do not contain it; an incomplete listing removes
        nothing.
        """
        for kind, found in inventory.lists.items():
            place = (account, kind)
            selection, fixed = self._selections.get(place), self._fixed.get(place, {})
            names, known = self._names.setdefault(place, {}), self._known_at(place)
            listed = found
            if selection is not None and not selection.discover:
                listed = ResourceList(tuple(one for one in found.resources if one.id in fixed), complete=False)
            for one in listed.resources:
                former = known.resources.get(one.id)
                # A script's own answer may say a new name before the list does.
                if one.name and (former is None or one.name != former.name):
                    names[one.id] = one.name
            for ended in known.ended_by(listed) - fixed.keys():
                names.pop(ended, None)
            # Nothing selects pull zones; their names are used.
            if selection is not None:
                known.merge(listed, self._addresses.get(account, ""), self._wall())
        return self._rebuild({(account, kind) for kind in inventory.lists})

    def _known_at(self, place: Place) -> KnownResources:
        return self._known.setdefault(place, KnownResources(place))

    def note(self, key: TargetKey, facts: Facts) -> None:
        """Record what a resource's own answer contains besides its name."""
        self._known_at(key[:2]).note(key.id, facts)

    def restore(self, place: Place, packed: bytes) -> None:
        """Take in what `unsaved` returned in an earlier run; what is damaged, or of another version, is ignored."""
        self._known_at(place).restore(packed, self._wall())
        self.remember({one.key: one.name for one in self._known_at(place) if one.name})

    def unsaved(self) -> Iterator[tuple[Place, bytes]]:
        """Yield the resources that have changed since they were last yielded, packed, by account and kind."""
        for place, known in self._known.items():
            if not known.is_saved:
                known.is_saved = True
                yield place, known.pack()

    def _rebuild(self, places: set[Place]) -> list[Target]:
        """Select the targets of these kinds in an account anew; return those that are removed."""
        removed: list[Target] = []
        for place in sorted(places):
            before, after = self._targets.get(place, {}), {one.id: one for one in self._selected(place)}
            self._targets[place] = after
            removed.extend(target for target_id, target in before.items() if target_id not in after)
            if len(before) != len(after) or any(before.get(one.id) is not one for one in after.values()):
                self.by_key.update((target.key, target) for target in after.values())
                self.version += 1
        for target in removed:
            del self.by_key[target.key]
        return removed

    def _selected(self, place: Place) -> Iterator[Target]:
        """Yield the targets of a kind in an account; one that has not changed stays the same object."""
        selection = self._selections.get(place)
        if selection is None:
            return
        for target in selection.fixed:
            if self.owns(target.key):
                known = self.by_key.get(target.key)
                name = target.name or self.name_of(target.key)
                is_equal = known is not None and known.name == name and known.is_polled_as(target)
                yield known if known is not None and is_equal else replace(target, name=name)
        for key, listed_name, _, parent in self.listed(*place):
            if key.id not in self._fixed[place] and selection.rejection(listed_name) is None:
                zone = {"shield_zone_id": parent} if parent else {}
                name, attributes = self.name_of(key), {**selection.attributes, **zone}
                known = self.by_key.get(key)
                if known is None or (known.name, known.attributes) != (name, attributes):
                    known = Target(*place, key.id, name, attributes)
                yield known

    def name_of(self, key: TargetKey) -> str:
        """Return the known name; empty if there is none."""
        polled = self.by_key.get(key)
        return self._names.get(key[:2], {}).get(key.id, "") or ("" if polled is None else polled.name)

    def learn(self, target: Target, name: str) -> Target:
        """Record a name from the target's own answer, and return the target with its known name."""
        if name:
            self._names.setdefault(target.key[:2], {})[target.id] = name
        name = self.name_of(target.key)
        polled = self.by_key.get(target.key)
        if polled is not None and polled.name != name:
            self.by_key[target.key] = replace(polled, name=name)
            self._targets[target.account, target.kind][target.id] = self.by_key[target.key]
        return target if target.name == name else replace(target, name=name)

    def admits(self, found: Target) -> bool:
        """Return whether a target is polled here, or would be if it were listed."""
        selection = self._selections.get((found.account, found.kind))
        is_selected = selection is not None and selection.rejection(found.name) is None
        return found.key in self.by_key or (is_selected and self.owns(found.key))

    def targets(self, kind: str, *, every_shard: bool = False) -> Iterator[Target]:
        """Return the targets of a kind; of those of other shards the configured ones, if each shard polls them."""
        for account in sorted(self._accounts):
            own = self.polled(account, kind)
            yield from own.values()
            if every_shard and self.shard.index is not None:
                yield from (one for one in self._fixed.get((account, kind), {}).values() if one.id not in own)

    def selections(self, kind: str) -> list[Selection]:
        """Return the selections of a kind of resource, one for each account."""
        found = (self._selections.get((account, kind)) for account in self._accounts)
        return [selection for selection in found if selection is not None]

    def polled(self, account: str, kind: str) -> Mapping[str, Target]:
        """Return the targets of a kind in an account, by id. A change replaces the mapping, so it may be kept."""
        return self._targets.get((account, kind), {})

    def listed(self, account: str, kind: str) -> list[Known]:
        """Return the listed resources of a kind in an account that belong to this process's shard, polled or not."""
        return [one for one in self._known_at((account, kind)) if self.owns(one.key, one.parent)]

    def selected(self, account: str, kind: str) -> Iterator[Known]:
        """Yield each selected resource, whichever shard polls it: those that are configured, listed or remembered.

        An incomplete list adds resources, and removes none.
        """
        place = (account, kind)
        selection, unlisted = self._selections.get(place), dict(self._fixed.get(place, {}))
        if selection is None:
            return
        for one in self._known_at(place):
            target = unlisted.pop(one.key.id, None)
            name = (target.name if target is not None else "") or one.name or self.name_of(one.key)
            if target is not None or selection.rejection(name) is None:
                yield one if name == one.name else one._replace(name=name)
        facts = self._known_at(place).facts
        for target in unlisted.values():
            yield Known(target.key, target.name or self.name_of(target.key), facts.get(target.id))

    def unread(self, account: str) -> list[Target]:
        """Return some scripts of other shards whose own answer is not known; any shard shows their host names."""
        selection = self._selections.get((account, "script"))
        if selection is None or self.shard.index is None:
            return []
        selected = self.selected(account, "script")
        others = (one.key.id for one in selected if one.facts is None and not self.owns(one.key))
        return [Target(account, "script", one, attributes=selection.attributes) for one in islice(others, MOST_READ)]

    def is_known_whole(self, account: str, kind: str) -> bool:
        """Return whether every selected resource of a kind is known, or was at the last complete list."""
        selection = self._selections.get((account, kind))
        return selection is None or not selection.discover or self._known_at((account, kind)).is_whole

    def listed_kinds(self) -> list[str]:
        """Return the kinds that are named by search, and those of configured lists."""
        listed = {kind for (_, kind), one in self._selections.items() if one.discover and kind != "rate_limit"}
        return sorted(NAMED_BY_SEARCH | listed)

    def removals(self) -> list[Removal]:
        """Return what left the platform lately, as `newest` does."""
        since = self._wall() - self._removals_last
        removals = (one for known in self._known.values() for one in known.removals)
        return newest(one for one in removals if one.at >= since and self._is_reported(one))

    def _is_reported(self, removal: Removal) -> bool:
        """Return whether this process would poll a removed target if it still existed."""
        key, place = removal.key, (removal.key.account, removal.key.kind)
        selection = self._selections.get(place)
        is_selected = selection is not None and selection.rejection(removal.name) is None
        # To another shard, which lists the rate limits of its own zones alone, those of this one have left.
        is_certain = key.kind != "rate_limit" or self.shard.total == 1 or self._known_at(place).is_complete
        return is_selected and is_certain and key not in self.by_key and self.owns(key, removal.parent)
