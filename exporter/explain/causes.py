"""Finds which families have no series for a target, and why, from the settings, targets and statuses."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from exporter.collectors import discovery
from exporter.collectors.collector import Collector
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.exposition.store import Status, Store
from exporter.metric import FamilyInfo
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.selection import Selection
from exporter.targets.target import PollKey, Target, TargetKey
from exporter.validation.configuration_errors import KeyPath

# The id of the placeholder target if an account has no target of a kind in this shard.
ANY = "*"
_UNKNOWN = "not known, removed, or left out by the configuration"
# After this many targets (about 10 ms), other tasks of the event loop may run.
_TARGETS_AT_ONCE = 1000


class Cause(StrEnum):
    """Why a target has no series of a family; the value is the label `cause` of `edge_exporter_absent_families`."""

    NOT_ASKED_FOR = "not_asked_for"
    NOT_POLLED_YET = "not_polled_yet"
    FAILING = "failing"
    PLATFORM_HAS_NONE = "platform_has_none"

    @property
    def words(self) -> str:
        """The cause in words."""
        return "the platform has none" if self is Cause.PLATFORM_HAS_NONE else self.value.replace("_", " ")


class Finding(NamedTuple):
    """Why families are absent.

    Attributes:
        reason: the place in the configuration, the reason of the failure, or why the platform has none; may be empty.
        detail: the failure in words; may be empty.
        since: since when polls fail or are too late, in unix seconds; otherwise 0.
    """

    cause: Cause
    reason: str = ""
    detail: str = ""
    since: float = 0.0

    @property
    def text(self) -> str:
        """The finding in words: cause, time, reason and detail; empty parts are left out."""
        head = f"{self.cause.words} since {moment(self.since)}" if self.since else self.cause.words
        return ": ".join(part for part in (head, self.reason, self.detail) if part)


_NOT_LISTED = Finding(Cause.PLATFORM_HAS_NONE, "the list contains no such target for this exporter")


def moment(seconds: float) -> str:
    """Return unix seconds as a date and time in UTC, for people."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@dataclass(slots=True)
class Absence:
    """Families that targets of an account or a database lack for the same reason.

    Attributes:
        finding: the finding of one of the targets. If the targets fail, it is the target that has failed longest.
    """

    account: str
    collector: str
    families: tuple[str, ...]
    finding: Finding
    targets: list[Target] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Explainer:
    """Finds absences in the current settings, targets and statuses.

    `collectors` returns the collectors, also disabled ones. `ledger_fault` returns `Ledger.fault`.
    """

    settings: Callable[[], Settings]
    collectors: Callable[[], tuple[Collector, ...]]
    registry: Registry
    store: Store
    ledger_fault: Callable[[], str]

    async def absences(self, families: Collection[str] = (), targets: Collection[str] = ()) -> list[Absence]:
        """Return the absences of these families for these targets (labels or names); empty collections select all."""
        groups: dict[tuple[object, ...], Absence] = {}
        rows = self._findings(frozenset(families), frozenset(targets))
        for number, (collector, target, findings) in enumerate(rows, start=1):
            for finding, names in findings.items():
                absence = Absence(target.client_name, collector.name, tuple(names), finding)
                shared = absence.account, absence.collector, absence.families, finding.cause, finding.reason
                group = groups.setdefault(shared, absence)
                group.finding = min(group.finding, finding, key=lambda one: one.since)
                group.targets.append(target)
            if number % _TARGETS_AT_ONCE == 0:
                await asyncio.sleep(0)
        return list(groups.values())

    async def count_absent(self) -> Mapping[tuple[str, str], int]:
        """Return (collector, cause) → the number of absent families, summed over the targets."""
        counts: Counter[tuple[str, str]] = Counter()
        for one in await self.absences():
            counts[one.collector, one.finding.cause] += len(one.families) * len(one.targets)
        return counts

    def kinds(self) -> list[str]:
        """Return the kinds of targets for which a collector may have families, sorted."""
        return sorted({kind for collector in self.collectors() for kind in collector.kinds})

    def why_unexplained(self, targets: Iterable[str]) -> dict[str, str]:
        """Return each given target (its label, as `dns_zone/102`, or its name) → why it has no absence, in words.

        If several targets have the same name, a target of this process's shard decides.
        """
        answers = dict.fromkeys(targets, _UNKNOWN)
        shard = self.registry.shard
        for selection in self.registry.selections(*self.kinds()):
            for one in self.registry.selected(selection.account, selection.kind):
                # The name in a resource's own answer may be newer than the name in the list.
                names = {one.key.label, one.name, self.registry.name_of(one.key)}
                for given in names & answers.keys():
                    owner = self.registry.owner_of(one.key, one.parent)
                    if owner == shard.index:
                        answers[given] = "nothing is absent"
                    elif answers[given] == _UNKNOWN:
                        answers[given] = f"shard {owner} of {shard.total} polls it"
        return answers

    def _findings(
        self, families: frozenset[str], targets: frozenset[str]
    ) -> Iterator[tuple[Collector, Target, Mapping[Finding, list[str]]]]:
        """Yield collector, target, and finding → names of absent families; an empty set selects all."""
        for collector in self.collectors():
            not_served = self._not_served(collector)
            for target, excluded in self._candidates(collector):
                if targets and targets.isdisjoint((target.key.label, target.name)):
                    continue
                status = self.store.statuses.get(PollKey(target.key, collector.name))
                found = defaultdict[Finding, list[str]](list)
                for info in collector.families_of(target.kind, target.id):
                    # In order of priority: a setting about the family, a setting about the target, the last poll.
                    finding = not_served.get(info.name) or excluded or self._of_poll(collector, target, status, info)
                    if finding is not None and (not families or info.name in families):
                        found[finding].append(info.name)
                yield collector, target, found

    def _not_asked_for(self, path: KeyPath, effect: str) -> Finding:
        return Finding(Cause.NOT_ASKED_FOR, str(self.settings().fault(path, effect)))

    def _disabled(self, collector: Collector) -> Finding | None:
        if self.settings().collector_settings()[collector.section].enabled:
            return None
        return self._not_asked_for(("collectors", collector.section, "enabled"), "is false")

    def _not_served(self, collector: Collector) -> dict[str, Finding]:
        """Return family → finding, for families of a collector that the configuration leaves out for all targets."""
        names = [info.name for info in collector.families]
        if disabled := self._disabled(collector):
            return dict.fromkeys(names, disabled)
        paths = {name: path for name in names if (path := self.settings().series.rejection(name)) is not None}
        return {name: self._not_asked_for(("series", *path), "leaves the family out") for name, path in paths.items()}

    def _candidates(self, collector: Collector) -> Iterator[tuple[Target, Finding | None]]:
        """Yield the targets that may have families of a collector, with a finding if the settings leave the target out.

        If an account has no such target in this shard, and the configuration names none for any shard, yield a target
        with the id `ANY`, and why there is none.
        """
        for selection in self.registry.selections(*collector.kinds):
            account, kind = selection.account, selection.kind
            polled = self.registry.polled(account, kind)
            not_polled = [one for one in self.registry.listed(account, kind) if one.key.id not in polled]
            for one in not_polled:
                # A target that no pattern leaves out is not polled yet.
                path = selection.rejection(one.name)
                excluded = None if path is None else self._not_asked_for(path, "leaves the target out")
                yield Target(account, kind, one.key.id, one.name), excluded
            for target in polled.values():
                if _has_families(collector, target):
                    yield target, None
                else:
                    yield target, self._not_asked_for(selection.setting, "selects nothing that the family shows")
            # Configured targets count, too: if they are not polled here, they belong to another shard.
            has_target = bool(not_polled or polled or selection.fixed)
            if not has_target:
                yield Target(account, kind, ANY), self._of_no_target(selection)

    def _of_no_target(self, selection: Selection) -> Finding:
        """Return why an account has no target of the selection's kind in this shard."""
        if not selection.discover:
            return self._not_asked_for(selection.setting, f"names no {selection.kind}, and none is discovered")
        lists = (one for one in self.collectors() if isinstance(one, EndpointListCollector))
        lister = next((one for one in lists if one.kind == selection.kind), discovery.COLLECTOR)
        if disabled := self._disabled(lister):
            return disabled
        account, kind = selection.account, selection.kind
        is_of_other_shard = not self.registry.owns(TargetKey.of(account, lister.polls, account))
        if is_of_other_shard and self.registry.is_known_whole(account, kind):
            # The other shard's process has the status of the list, but this process knows the whole list, too.
            return _NOT_LISTED
        return self._of_list(lister, account)

    def _of_list(self, lister: Collector, account: str) -> Finding:
        """Return why a list of an account gives a target no series: no recent answer, or the target is not in it."""
        status = self.store.statuses.get(PollKey.of(lister.name, account, lister.polls, account))
        if status is None or status.since:
            return _of_unanswered(status)
        return _NOT_LISTED

    def _of_poll(self, collector: Collector, target: Target, status: Status | None, info: FamilyInfo) -> Finding | None:
        """Return why a target lacks series of a family, according to the last poll; None if no series is absent."""
        # If the collector does not poll this kind, the series come with an account's list: the list's status decides.
        if status is None and target.kind != collector.polls:
            return self._of_list(collector, target.account)
        # A failure is no cause yet while the values of the last good answer are still served.
        if status is None or not (status.families or status.up):
            return _of_unanswered(status)
        if info.name in status.left_out:
            return self._not_asked_for(("series", "max_label_values"), "leaves out label values of the family")
        if info.name in status.families:
            return None
        if info.is_counted and (fault := self.ledger_fault()):
            return Finding(Cause.FAILING, f"the counters cannot be read or saved: {fault}")
        # The message of a poll that succeeded, if not empty, says why the target has no series.
        why_none = status.message if status.up else ""
        return Finding(Cause.PLATFORM_HAS_NONE, why_none or "null, missing or unreadable in the answer")


def _has_families(collector: Collector, target: Target) -> bool:
    """Return whether a polled target, as it is configured, can have families of a collector."""
    if collector is discovery.COLLECTOR:
        # The discovery's families count the results of the search, which not every account needs.
        return discovery.SEARCH in target.watched
    if target.kind != collector.polls:
        # The values of these targets come in the answers for the targets that the collector polls.
        return True
    return collector.wants(target)


def _of_unanswered(status: Status | None) -> Finding:
    if status is None:
        return Finding(Cause.NOT_POLLED_YET)
    return Finding(Cause.FAILING, status.reason, status.message, status.since)
