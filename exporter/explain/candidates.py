"""Lists the possible targets of a kind: those that are polled here, and the others with the cause why they are not."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Protocol

from exporter.clock import Clocks
from exporter.collectors import discovery
from exporter.collectors.causes import Cause
from exporter.collectors.collector import Collector
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.explain.evidence import cause_of_failure
from exporter.exposition.store import Store
from exporter.targets.registry import Registry, Selection
from exporter.targets.target import PollKey, Target

# The id of a candidate that stands for all targets of a kind, if none is known.
ANY = "*"


@dataclass(frozen=True, slots=True)
class Scope:
    """The families that the configuration exposes or excludes.

    Attributes:
        collectors: every collector, run or not, in the order of the exposition.
        disabled: sections of the configuration whose collectors are disabled.
        refusal: family → the cause and the pattern for which it is excluded; None if it is admitted.
    """

    collectors: tuple[Collector, ...]
    disabled: frozenset[str]
    refusal: Callable[[str], tuple[Cause, str] | None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A target that could have series.

    Attributes:
        cause: why it is not polled here; None if it is.
        evidence: the facts that show the cause.
    """

    target: Target
    cause: Cause | None = None
    evidence: str = ""


class PollTimes(Protocol):
    """The part of the schedule that the explanation reads."""

    def due_at(self, collector: str, target: Target) -> float | None:
        """Return when a target is polled next, on the monotonic clock; None if that is not known."""

    def waits_for_discovery(self, target: Target) -> bool:
        """Return whether a target is not polled before its account's first discovery has ended."""

    def waits_for_ledger(self, key: PollKey) -> bool:
        """Return whether the ledger has not yet published a successful poll of a target."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts that the explanation reads, at the time of each question; finds the candidates of a kind.

    Attributes:
        is_capped: family, target → whether the cap on the family's series excludes the target.
        accepted: account → unix seconds of its last authenticated answer, 0 if there was none.
        state: where the ledger keeps its rows, for people; empty for memory.
        ledger_fault: why the last write of the ledger failed; empty if it succeeded.
        holders: the exporter that holds each shard, if exporters share them by leases.
        waits: why this exporter holds no shard, and since when; empty if nothing prevents it.
    """

    scope: Callable[[], Scope]
    registry: Registry
    store: Store
    schedule: Callable[[], PollTimes]
    is_capped: Callable[[str, PollKey], bool]
    accepted: Callable[[str], float]
    state: str
    ledger_fault: Callable[[], str]
    clocks: Clocks
    holders: Callable[[], Mapping[int, str]] = dict
    waits: Callable[[], str] = str

    def of_kind(self, scope: Scope, kind: str) -> Iterator[Candidate]:
        """Return the candidates of a kind; for an account without any, one candidate that represents all."""
        for selection in self.registry.selections(kind):
            account = selection.account
            scouted = self.registry.scouts.get(account) if kind == "account" else None
            if scouted is not None:
                yield self._other_shard(scouted, "")
                continue
            held = self.registry.polled(account, kind)
            there_are = bool(held)
            for target in tuple(held.values()):
                yield Candidate(target)
            for target in selection.fixed:
                if target.id not in held:
                    there_are = True
                    yield self._other_shard(target, target.attributes.get("shield_zone_id", ""))
            for resource in self.registry.listed(account, kind):
                if resource.id not in held:
                    there_are = True
                    found = Target(account, kind, resource.id, resource.name)
                    yield self._rejected(selection, found) or Candidate(found)
            if not there_are:
                yield self._none(scope, selection, Target(account, kind, ANY))

    def named(self, scope: Scope, kind: str, target_id: str) -> Iterator[Candidate]:
        """Return why a target is not among the candidates: one for each account that may have it."""
        for selection in self.registry.selections(kind):
            target = Target(selection.account, kind, target_id)
            # A rate limit belongs to the shard of its shield zone, which is unknown from its id.
            if kind != "rate_limit" and not self.registry.share.owns(target.key):
                yield self._other_shard(target, "")
            else:
                yield self._none(scope, selection, target)

    def elsewhere(self, kind: str, names: Iterable[str]) -> Iterator[Candidate]:
        """Return the resources with these names that belong to other shards."""
        for selection, name in product(self.registry.selections(kind), names):
            for target_id in self.registry.elsewhere(selection.account, kind, name):
                target = Target(selection.account, kind, target_id, name)
                yield self._rejected(selection, target) or self._other_shard(target, "")

    def _other_shard(self, target: Target, parent: str) -> Candidate:
        share = self.registry.share
        owner = share.owner_of(target.key, parent)
        holder = self.holders().get(owner)
        words = f"{holder} holds it" if holder else "no exporter holds it at the moment"
        if not share.may_change:
            words = f"this is {share.first}"
        elif waits := self.waits():
            words = f"this exporter waits: {waits}"
        return Candidate(target, Cause.OTHER_SHARD, f"shard {owner} of {share.total} polls it; {words}")

    def _rejected(self, selection: Selection, target: Target) -> Candidate | None:
        reason = selection.rejection(target.name)
        if reason is None:
            return None
        if not selection.discover:
            evidence = f"{selection.setting}.discover is false, and {selection.setting}.ids does not hold {target.id}"
            return Candidate(target, Cause.NOT_CONFIGURED, evidence)
        return Candidate(target, Cause.FILTERED, f"'{target.name}': {reason} ({selection.setting})")

    def _none(self, scope: Scope, selection: Selection, target: Target) -> Candidate:
        """Return why there is no target of a kind, or none with this id."""
        account, kind, setting = selection.account, selection.kind, selection.setting or selection.kind
        which = "" if target.id == ANY else f" {target.id}"
        if not selection.discover:
            where = f"account {account}" if account else "the configuration"
            return Candidate(target, Cause.NOT_CONFIGURED, f"{where} does not name{which or ' any'} under {setting}")
        lists = (one for one in scope.collectors if isinstance(one, EndpointListCollector) and one.kind == kind)
        lister: Collector = next(lists, discovery.COLLECTOR)
        if lister.section in scope.disabled:
            words = f"collectors.{lister.section}.enabled is false, and {setting} does not name{which or ' any'}"
            return Candidate(target, Cause.COLLECTOR_DISABLED, words)
        whole = self.registry.is_listed_whole(account, kind)
        if whole:
            words = f"the complete list of account {account} contains no {kind}{which}"
            share = self.registry.share
            if share.total > 1:
                own = f"the shards of this exporter: {', '.join(map(str, sorted(share.held))) or 'none'}"
                words += f" that belongs to {own if share.may_change else f'shard {share.first}'}"
            return Candidate(target, Cause.NOT_DISCOVERED, words)
        return Candidate(target, *self.undiscovered(account, lister, was_listed=whole is not None))

    def undiscovered(
        self, account: str, lister: Collector = discovery.COLLECTOR, *, was_listed: bool = False
    ) -> tuple[Cause, str]:
        """Return why there is no complete list of an account's resources.

        `lister` is the collector that lists them, and `was_listed` whether there is an incomplete list.
        """
        is_discovery = lister is discovery.COLLECTOR
        status = self.store.find(PollKey.of(lister.name, account, "account", account))
        if status is not None and status.failure is not None:
            cause, words = cause_of_failure(status, status.failure, self.accepted(account))
            is_key_s = cause in (Cause.KEY_REFUSED, Cause.KEY_FORBIDDEN)
            what = "discovery" if is_discovery else f"the list {lister.name}"
            return cause if is_key_s else Cause.DISCOVERY_INCOMPLETE, f"{what} fails: {words}"
        if was_listed and status is None:
            return Cause.DISCOVERY_INCOMPLETE, "the last list failed or was not complete; the next one repeats it"
        if status is None or not status.polled:
            what = "the first discovery" if is_discovery else f"the first list of {lister.name}"
            return Cause.DISCOVERY_INCOMPLETE, f"{what} has not ended"
        if was_listed:
            words = "the platform's list had fewer resources than its total says; the next discovery repeats it"
            if not is_discovery:
                words = f"the list {lister.name} is not complete: an item came twice or without an id"
            return Cause.DISCOVERY_INCOMPLETE, words
        return Cause.NOT_DISCOVERED, "the platform has no such list: name the ids in the configuration"
