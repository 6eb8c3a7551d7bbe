"""Which targets there are: the configured ones and the discovered ones, their names, and whose they are."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from exporter.cooperative import at_once
from exporter.patterns import Pattern
from exporter.targets.sharding import Share
from exporter.targets.target import Inventory, Resource, ResourceList, Target, TargetKey

# A resource that this many complete listings in a row do not name is gone.
LISTINGS_UNTIL_GONE = 2


@dataclass(frozen=True, slots=True)
class Selection:
    """What of one kind of resource is polled in an account.

    Attributes:
        fixed: targets that the configuration names; polled whether or not a listing names them.
        discover: whether listed resources are polled too.
        include: patterns of which a listed resource's name must match one, where there are any.
        exclude: patterns of which it must match none.
        attributes: what the collector needs to know of each target of this kind.
        setting: the key of the configuration under which such targets are named.
    """

    account: str
    kind: str
    fixed: tuple[Target, ...] = ()
    discover: bool = False
    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    setting: str = ""

    def rejection(self, name: str) -> str | None:
        """Why a listed resource of this name is not polled; None where it is."""
        if not self.discover:
            return "discovery is off"
        if self.include and not any(pattern.search(name) for pattern in self.include):
            patterns = ", ".join(pattern.pattern for pattern in self.include)
            return f"its name matches no include pattern: {patterns}"
        matched = next((pattern.pattern for pattern in self.exclude if pattern.search(name)), None)
        return None if matched is None else f"its name matches the exclude pattern {matched}"


@dataclass(slots=True)
class _Listed:
    resource: Resource
    shard: int
    absences: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What an inventory or a new configuration changed.

    Attributes:
        settled: account and kind of what was listed completely, so that what is not polled of it is not this shard's.
    """

    added: tuple[Target, ...] = ()
    removed: tuple[Target, ...] = ()
    settled: frozenset[tuple[str, str]] = frozenset()


class Registry:
    """Holds the targets, by account and kind.

    Names are steady: one that has been shown in a series stays until the platform itself gives another; a target that
    was first shown without a name keeps having none, because nothing changed on the platform.

    Args:
        share: which targets are this process's own.
        remembered: names from an earlier run, by account, kind and id.
    """

    def __init__(self, share: Share, remembered: Mapping[TargetKey, str] | None = None) -> None:
        self.version = 0
        self._share = share
        self._known: dict[TargetKey, str] = dict(remembered or {})
        self._shown: dict[TargetKey, str] = {}
        self._selections: dict[tuple[str, str], Selection] = {}
        self._listed: dict[tuple[str, str], dict[str, _Listed]] = {}
        self._targets: dict[tuple[str, str], dict[str, Target]] = {}
        self._fixed: dict[tuple[str, str], dict[str, Target]] = {}
        self._scouts: dict[str, Target] = {}
        # Whether the last list of an account's resources of a kind named all of them.
        self._complete: dict[tuple[str, str], bool] = {}

    @property
    def share(self) -> Share:
        """Which targets are this process's own."""
        return self._share

    def owns(self, key: TargetKey, parent: str = "") -> bool:
        """Whether a resource's shard is held; `parent` is a rate limit's shield zone, where a listing names it."""
        return self._owner_of(key, parent) in self._share.held

    def _owner_of(self, key: TargetKey, parent: str) -> int:
        if key.kind == "rate_limit":
            # One that the configuration names goes by what stands there, which every shard knows.
            fixed = self._fixed.get((key.account, key.kind), {}).get(key.id)
            parent = parent if fixed is None else fixed.attributes.get("shield_zone_id", "")
        return self._share.owner_of(key, parent)

    def shard_of(self, key: TargetKey) -> int | None:
        """The shard that a target belongs to; None for a rate limit whose shield zone is not known. For any thread."""
        listed = self._listed.get((key.account, key.kind), {}).get(key.id)
        if listed is not None:
            return listed.shard
        if key.kind == "rate_limit" and key.id not in self._fixed.get((key.account, key.kind), {}):
            return None
        return self._owner_of(key, "")

    def remember(self, names: Mapping[TargetKey, str]) -> None:
        """Take over names from another process, of targets whose names are not known."""
        for key, name in names.items():
            self._known.setdefault(key, name)

    def holding(self, share: Share) -> Generator[None, None, Change]:
        """Change which targets are this process's own, a target at a time; returns what changed."""
        self._share = share
        return (yield from self._rebuild(set(self._selections) | set(self._targets)))

    def is_strange(self, key: TargetKey) -> bool:
        """Whether a resource of an earlier run is another shard's now.

        Of a discovered rate limit that is not known before its shield zone is known: see `Change.settled`.
        """
        if key.kind == "rate_limit" and key.id not in self._fixed.get((key.account, key.kind), {}):
            return False
        return not self.owns(key)

    def configure(self, selections: Iterable[Selection]) -> Change:
        """Take over a configuration: targets that it no longer wants are removed, all else stays as it is."""
        self._selections = {(selection.account, selection.kind): selection for selection in selections}
        self._fixed = {
            key: {target.id: target for target in selection.fixed} for key, selection in self._selections.items()
        }
        self._scouts = {}
        return at_once(self._rebuild(set(self._selections) | set(self._targets)))

    def apply(self, account: str, inventory: Inventory) -> Change:
        """Take over what a discovery found in an account; see `applying`."""
        return at_once(self.applying(account, inventory))

    def applying(self, account: str, inventory: Inventory) -> Generator[None, None, Change]:
        """Take over what a discovery found in an account, a resource at a time; returns what changed.

        A resource is removed when two complete listings in a row have not named it; an incomplete one removes nothing.
        Until the end the former targets stand. One of these works on an account at a time, and no `configure` runs
        before it has ended or was given up.
        """
        changed: set[tuple[str, str]] = set()
        for kind, resource_list in inventory.lists.items():
            if (yield from self._apply_list(account, kind, resource_list)):
                changed.add((account, kind))
        change = (yield from self._rebuild(changed)) if changed else Change()
        settled = frozenset(
            (account, kind) for kind, resource_list in inventory.lists.items() if resource_list.complete
        )
        return replace(change, settled=settled)

    def _apply_list(self, account: str, kind: str, resource_list: ResourceList) -> Generator[None, None, bool]:
        """Take over a listing; returns whether anything in it was new."""
        listed = self._listed.setdefault((account, kind), {})
        self._complete[account, kind] = resource_list.complete
        changed = False
        named: set[str] = set()
        for resource in resource_list.resources:
            yield
            # Nothing is kept of another shard's resources. A pull zone is no target: only its name is used.
            key = TargetKey.of(account, kind, resource.id)
            shard = self._owner_of(key, resource.parent)
            if kind != "cdn" and not self._share.may_change and shard not in self._share.held:
                continue
            named.add(resource.id)
            entry = listed.get(resource.id)
            if entry is not None and entry.resource == resource:
                entry.absences = 0
                continue
            changed = True
            listed[resource.id] = _Listed(resource, shard)
            self._heard(key, resource.name)
        if not resource_list.complete:
            return changed
        for resource_id in [known for known in listed if known not in named]:
            listed[resource_id].absences += 1
            if listed[resource_id].absences >= LISTINGS_UNTIL_GONE:
                changed = True
                del listed[resource_id]
                gone = TargetKey.of(account, kind, resource_id)
                self._known.pop(gone, None)
                self._shown.pop(gone, None)
        return changed

    def _heard(self, key: TargetKey, name: str) -> None:
        if not name:
            return
        self._known[key] = name
        if self._shown.get(key):
            self._shown[key] = name

    def _rebuild(self, keys: set[tuple[str, str]]) -> Generator[None, None, Change]:
        added: list[Target] = []
        removed: list[Target] = []
        for key in sorted(keys):
            share, after = None, dict[str, Target]()
            # The shards that are held may change meanwhile.
            while share is not self._share:
                share, after = self._share, {}
                for target in self._selected(key):
                    after[target.id] = target
                    yield
            before = self._targets.get(key, {})
            added.extend(target for target_id, target in after.items() if target_id not in before)
            removed.extend(target for target_id, target in before.items() if target_id not in after)
            self._targets[key] = after
        self.version += 1
        return Change(tuple(added), tuple(removed))

    def _selected(self, key: tuple[str, str]) -> Iterator[Target]:
        selection = self._selections.get(key)
        if selection is None:
            return
        fixed = self._fixed[key]
        for target in selection.fixed:
            if target.kind == "account":
                self._scouts.pop(target.account, None)
            if self.owns(target.key):
                yield replace(target, name=self._name(target, target.name))
            elif target.kind == "account" and self._share.held:
                # Every shard needs an account's lists; the account itself belongs to one shard.
                self._scouts[target.account] = replace(target, scouted=True)
        # A copy: a discovery may change it meanwhile.
        for resource_id, entry in list(self._listed.get(key, {}).items()):
            if resource_id in fixed or entry.shard not in self._share.held:
                continue
            if selection.rejection(entry.resource.name) is not None:
                continue
            attributes = dict(selection.attributes)
            if entry.resource.parent:
                attributes["shield_zone_id"] = entry.resource.parent
            found = Target(selection.account, selection.kind, resource_id, attributes=attributes)
            yield replace(found, name=self.name_of(found.key))

    def _name(self, target: Target, configured: str) -> str:
        return configured or self.name_of(target.key)

    def name_of(self, key: TargetKey) -> str:
        """See `exporter.targets.target.Names`."""
        shown = self._shown.get(key)
        return self._known.get(key, "") if shown is None else shown

    def learn(self, target: Target, name: str) -> Target:
        """See `exporter.targets.target.Names`."""
        self._heard(target.key, name)
        current = self.name_of(target.key)
        return target if target.name == current else replace(target, name=current)

    def show(self, target: Target) -> None:
        """Note that series of this target are served under its name from now on."""
        self._shown.setdefault(target.key, target.name)

    def holds(self, key: TargetKey) -> bool:
        """Whether a target is polled."""
        return key.id in self._targets.get((key.account, key.kind), {})

    def admits(self, target: Target) -> bool:
        """Whether another target in a listing is polled here."""
        if self.holds(target.key):
            return True
        selection = self._selections.get((target.account, target.kind))
        return selection is not None and selection.rejection(target.name) is None and self.owns(target.key)

    def targets(self, kind: str) -> Iterator[Target]:
        """All targets of a kind, of every account, and the accounts that are scouted for what is in them."""
        if kind == "account":
            yield from list(self._scouts.values())
        for (_, own_kind), targets in self._targets.items():
            if own_kind == kind:
                yield from targets.values()

    def selections(self, kind: str) -> list[Selection]:
        """What of a kind of resource is polled, account by account."""
        return [selection for (_, own_kind), selection in self._selections.items() if own_kind == kind]

    def held(self, account: str, kind: str) -> Mapping[str, Target]:
        """The targets of a kind in an account, by id; the mapping is replaced and never changed."""
        return self._targets.get((account, kind), {})

    def listed(self, account: str, kind: str) -> list[Resource]:
        """The resources of a kind that the lists of an account have named, polled or not, of this share alone."""
        listed = self._listed.get((account, kind), {}).values()
        return [entry.resource for entry in listed if entry.shard in self._share.held]

    def is_listed_whole(self, account: str, kind: str) -> bool | None:
        """Whether the last list of an account's resources of a kind named all of them; None before the first."""
        return self._complete.get((account, kind))

    def scout(self, account: str) -> Target | None:
        """The account as it is scouted, where it is another shard's own."""
        return self._scouts.get(account)

    def find(self, label: str) -> list[Target]:
        """The targets that go by a label such as `dns_zone/102`, in any account."""
        kind, _, target_id = label.partition("/")
        return [
            targets[target_id]
            for (_, own_kind), targets in self._targets.items()
            if own_kind == kind and target_id in targets
        ]

    def names(self) -> Mapping[TargetKey, str]:
        """All names that are known, to be remembered across restarts."""
        return self._known
