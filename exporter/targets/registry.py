"""The registry of targets: which resources are polled, by which shard, and under which names."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from exporter.targets.recent_removals import REMOVAL_SECONDS, Removal, newest
from exporter.targets.resource_lists import Facts, KnownResource, KnownResources
from exporter.targets.selection import Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import NAMED_BY_SEARCH, Inventory, ListKey, Resource, ResourceList, Target, TargetKey

# The most scripts of other shards that a discovery reads.
MOST_SCRIPTS_READ = 100


class Registry:
    """Holds the targets, which the configuration names or a discovery finds, and the known names of resources.

    A known name stays if a list leaves the name out, because another name would start new series.

    Args:
        wall: returns unix seconds.
        removal_seconds: for how many seconds a removal is reported.

    Attributes:
        version: grows whenever `configure` or `apply` changes the targets.
        by_key: the targets that this process polls, with their latest names.
    """

    def __init__(self, shard: Shard, wall: Callable[[], float], removal_seconds: float = REMOVAL_SECONDS) -> None:
        self.version = 0
        self.by_key: dict[TargetKey, Target] = {}
        self.shard = shard
        # The known names by id, also of resources that are not polled.
        self._names: dict[ListKey, dict[str, str]] = {}
        self._selections: dict[ListKey, Selection] = {}
        # The targets that this process polls, by id.
        self._targets: dict[ListKey, dict[str, Target]] = {}
        # The targets that the configuration names, by id, for all shards.
        self._fixed: dict[ListKey, dict[str, Target]] = {}
        # The listed resources, for all shards.
        self._known: dict[ListKey, KnownResources] = {}
        self._addresses: Mapping[str, str] = {}  # account → the base address of the platform
        self._wall = wall
        self._removal_seconds = removal_seconds

    def owns(self, key: TargetKey, parent: str = "") -> bool:
        """Return whether this process's shard owns a resource; `parent` is a rate limit's shield zone, or empty."""
        return self.owner_of(key, parent) == self.shard.index

    def owner_of(self, key: TargetKey, parent: str = "") -> int:
        """Return the number of a resource's shard; `parent` is the listed shield zone of a rate limit, or empty."""
        if key.kind == "rate_limit":
            # For a configured rate limit, the configured shield zone is used, because it is the same in all shards.
            fixed = self._fixed.get(key.list_key, {}).get(key.id)
            if fixed is not None:
                parent = fixed.attributes.get("shield_zone_id", "")
        return self.shard.owner_of(key, parent)

    def add_stored_names(self, names: Mapping[TargetKey, str]) -> None:
        """Add names that an earlier run or another process has stored; known names are kept."""
        for key, name in names.items():
            self._names.setdefault(key.list_key, {}).setdefault(key.id, name)

    def is_elsewhere(self, key: TargetKey) -> bool:
        """Return whether the target of a stored row certainly belongs to another shard now.

        The result is False for a discovered rate limit, because its shield zone is listed later. The result is also
        False for a row without an id: such a row belongs to an account and to no shard.
        """
        is_discovered_limit = key.kind == "rate_limit" and key.id not in self._fixed.get(key.list_key, {})
        return bool(key.id) and not is_discovered_limit and not self.owns(key)

    def configure(self, selections: Iterable[Selection], addresses: Mapping[str, str] | None = None) -> list[Target]:
        """Apply a configuration; return the targets that are no longer polled.

        `addresses` maps each account to the base address of its platform.
        """
        self._addresses = addresses or {}
        self._selections = {(one.account, one.kind): one for one in selections}
        self._fixed = {
            key: {target.id: target for target in selection.fixed} for key, selection in self._selections.items()
        }
        return self._update_targets(self._selections.keys() | self._targets.keys())

    def apply(self, account: str, inventory: Inventory) -> list[Target]:
        """Apply the lists that a discovery read in an account; return the targets that are no longer polled."""
        for kind, found in inventory.lists.items():
            self._apply_list((account, kind), found)
        return self._update_targets({(account, kind) for kind in inventory.lists})

    def _apply_list(self, list_key: ListKey, found: ResourceList) -> None:
        selection = self._selections.get(list_key)
        if selection is not None and not selection.discover:
            # Only the names of configured targets are used; without the other resources, the list is incomplete.
            fixed = self._fixed[list_key]
            found = ResourceList(tuple(one for one in found.resources if one.id in fixed), complete=False)
        self._apply_names(list_key, found)
        # Without a selection, as for pull zones, only the names are used.
        if selection is not None:
            account, _ = list_key
            self._known_at(list_key).merge(found, self._addresses.get(account, ""), self._wall())

    def _apply_names(self, list_key: ListKey, found: ResourceList) -> None:
        """Store the new and the changed names of a list, and delete the names of resources that have left (`ended_by`).

        Call this before `merge`: the list is compared with the former list, which `merge` replaces.
        """
        known = self._known_at(list_key)
        names = self._names.setdefault(list_key, {})
        for one in found.resources:
            former = known.resources.get(one.id)
            # If the name in the list has not changed, the known name may be newer: a poll may have found it since.
            if one.name and (former is None or one.name != former.name):
                names[one.id] = one.name
        # A configured target is still polled, and keeps its name.
        for removed_id in known.ended_by(found) - self._fixed.get(list_key, {}).keys():
            names.pop(removed_id, None)

    def _known_at(self, list_key: ListKey) -> KnownResources:
        return self._known.setdefault(list_key, KnownResources(list_key))

    def record_facts(self, key: TargetKey, facts: Facts) -> None:
        """Record facts that a poll has read about a resource, such as the host names of a script."""
        self._known_at(key.list_key).record_facts(key.id, facts)

    def restore(self, list_key: ListKey, packed: bytes) -> None:
        """Restore a list from the bytes that `save` has passed on; damaged data and other versions are ignored."""
        self._known_at(list_key).restore(packed, self._wall())
        self.add_stored_names({one.key: one.name for one in self._known_at(list_key) if one.name})

    def save(self, store: Callable[[str, str, bytes], None]) -> None:
        """Call `store` with account, kind and packed resources of each list that has changed since the last call."""
        for (account, kind), known in self._known.items():
            if not known.is_saved:
                store(account, kind, known.pack())
                known.is_saved = True

    def _update_targets(self, list_keys: set[ListKey]) -> list[Target]:
        """Update the targets of these lists, and `version`; return the targets that are no longer polled."""
        removed: list[Target] = []
        for list_key in sorted(list_keys):  # the same order in every run
            before = self._targets.get(list_key, {})
            after = {one.id: one for one in self._targets_to_poll(list_key)}
            self._targets[list_key] = after
            removed_here = [target for target_id, target in before.items() if target_id not in after]
            has_new_or_changed = any(before.get(one.id) is not one for one in after.values())
            if removed_here or has_new_or_changed:
                self.by_key.update((target.key, target) for target in after.values())
                self.version += 1
            for target in removed_here:
                del self.by_key[target.key]
            removed += removed_here
        return removed

    def _targets_to_poll(self, list_key: ListKey) -> Iterator[Target]:
        """Yield this process's targets of a list; a target that has not changed stays the same object."""
        selection = self._selections.get(list_key)
        if selection is None:
            return
        for fixed in selection.fixed:
            if self.owns(fixed.key):
                yield self._fixed_target(fixed)
        for one in self.listed(*list_key):
            if one.key.id not in self._fixed[list_key] and selection.selects(one.name):
                yield self._listed_target(one, selection)

    def _fixed_target(self, fixed: Target) -> Target:
        polled = self.by_key.get(fixed.key)
        name = self.name_of(fixed.key)
        if polled is None or polled.name != name or not polled.is_polled_as(fixed):
            return replace(fixed, name=name)
        return polled

    def _listed_target(self, one: KnownResource, selection: Selection) -> Target:
        polled = self.by_key.get(one.key)
        name = self.name_of(one.key)
        attributes = {**selection.attributes, "shield_zone_id": one.parent} if one.parent else selection.attributes
        if polled is None or polled.name != name or polled.attributes != attributes:
            return Target(one.key.account, one.key.kind, one.key.id, name, attributes)
        return polled

    def name_of(self, key: TargetKey) -> str:
        """Return the configured name of a resource, else the known name; empty without a name."""
        fixed = self._fixed.get(key.list_key, {}).get(key.id)
        if fixed is not None and fixed.name:
            return fixed.name
        return self._names.get(key.list_key, {}).get(key.id, "")

    def named(self, target: Target) -> Target:
        """Return a target with the name that `name_of` returns."""
        name = self.name_of(target.key)
        return target if target.name == name else replace(target, name=name)

    def record_name(self, key: TargetKey, name: str) -> None:
        """Record the name that a poll has found for a resource; rename the target if this process polls it."""
        self._names.setdefault(key.list_key, {})[key.id] = name
        polled = self.by_key.get(key)
        if polled is not None and polled.name != name:
            renamed = replace(polled, name=name)
            self.by_key[key] = renamed
            self._targets[key.list_key][key.id] = renamed

    def would_poll(self, found: Target) -> bool:
        """Return whether this process polls a target, or would poll it if a list contained it."""
        selection = self._selections.get(found.key.list_key)
        is_selected = selection is not None and selection.selects(found.name)
        return found.key in self.by_key or (is_selected and self.owns(found.key))

    def targets(self, kind: str, *, every_shard: bool = False) -> Iterator[Target]:
        """Yield this process's targets of a kind; with `every_shard` also the configured targets of other shards."""
        for account in sorted({account for account, _ in self._selections}):
            own = self.polled(account, kind)
            yield from own.values()
            if every_shard and self.shard.index is not None:  # a spare polls nothing
                yield from (one for one in self._fixed.get((account, kind), {}).values() if one.id not in own)

    def selections(self, *kinds: str) -> list[Selection]:
        """Return the selections of all accounts for these kinds."""
        return [selection for selection in self._selections.values() if selection.kind in kinds]

    def polled(self, account: str, kind: str) -> Mapping[str, Target]:
        """Return the polled targets of a kind in an account, by id."""
        return self._targets.get((account, kind), {})

    def listed(self, account: str, kind: str) -> list[KnownResource]:
        """Return the listed resources of a kind in an account that belong to this process's shard, polled or not."""
        return [one for one in self._known_at((account, kind)) if self.owns(one.key, one.parent)]

    def selected(self, account: str, kind: str) -> Iterator[KnownResource]:
        """Yield the configured and the selected listed resources, of all shards.

        A resource has its configured name; without one, the name in the list; without both, the result of `name_of`.
        """
        list_key = (account, kind)
        selection, known = self._selections.get(list_key), self._known_at(list_key)
        if selection is None:
            return
        fixed = self._fixed[list_key]
        for one in known:
            if one.key.id not in fixed and selection.selects(one.name):
                # A list may lack a name that a poll has found.
                yield one._replace(name=one.name or self.name_of(one.key))
        for target in fixed.values():
            listed = known.resources.get(target.id, Resource(target.id))
            name = target.name or listed.name or self.name_of(target.key)
            yield KnownResource(target.key, name, known.facts.get(target.id), listed.parent)

    def unread_scripts(self, account: str) -> list[Target]:
        """Return at most `MOST_SCRIPTS_READ` selected scripts of other shards that were not read yet.

        A discovery reads these scripts, because service discovery also shows host names of other shards' scripts.
        """
        selection = self._selections.get((account, "script"))
        if selection is None:
            return []
        selected = self.selected(account, "script")
        unread_ids = (one.key.id for one in selected if one.facts is None and not self.owns(one.key))
        ids = islice(unread_ids, MOST_SCRIPTS_READ)
        return [Target(account, "script", script_id, attributes=selection.attributes) for script_id in ids]

    def is_known_whole(self, account: str, kind: str) -> bool:
        """Return whether all resources of a kind are known: always without discovery, else once a list was complete."""
        selection = self._selections.get((account, kind))
        return selection is None or not selection.discover or self._known_at((account, kind)).was_ever_complete

    def kinds_to_probe(self) -> list[str]:
        """Return the kinds of the targets that service discovery returns."""
        discovered = {kind for (_, kind), one in self._selections.items() if one.discover}
        # The search also names the configured targets of its kinds. Rate limits have no address to probe.
        return sorted((NAMED_BY_SEARCH | discovered) - {"rate_limit"})

    def removals(self) -> list[Removal]:
        """Return the recent removals (`newest`) of resources that this process would poll if they were still listed."""
        removals = (one for known in self._known.values() for one in known.removals)
        return newest(filter(self._is_reported, removals), self._wall() - self._removal_seconds)

    def _is_reported(self, removal: Removal) -> bool:
        key = removal.key
        selection = self._selections.get(key.list_key)
        is_selected = selection is not None and selection.selects(removal.name)
        # Another shard does not list the rate limits of this shard's zones, and may have stored them as removed. So a
        # removal of a rate limit is certain only after this run's first complete list.
        was_listed = self._known_at(key.list_key).was_complete_in_this_run
        is_certain = key.kind != "rate_limit" or self.shard.total == 1 or was_listed
        return is_selected and is_certain and key not in self.by_key and self.owns(key, removal.parent)
