"""Finds the families without series, and why: from the settings, the targets, and the statuses of their polls."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from exporter.collectors import discovery
from exporter.collectors.collector import Collector
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.explain.cause import Cause, Finding
from exporter.exposition.store import Status, Store
from exporter.metric import FamilyInfo
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.selection import Selection
from exporter.targets.target import PollKey, Target

# The id of a target that stands for all of its kind, where an account has none.
ANY = "*"
# So many targets are looked at before others may use the event loop: about 10 ms.
AT_ONCE = 1000


@dataclass(slots=True)
class Absence:
    """Families that some targets of an account lack for the same reason; `finding` is the earliest of them."""

    account: str
    collector: str
    families: tuple[str, ...]
    finding: Finding
    targets: list[Target] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains absences, at the time of each question.

    `collectors` returns all of them, enabled or not; `ledger_fault` why the last write of the counters failed, or "".
    """

    settings: Callable[[], Settings]
    collectors: Callable[[], tuple[Collector, ...]]
    registry: Registry
    store: Store
    ledger_fault: Callable[[], str]

    async def absences(self, families: Collection[str] = (), targets: Collection[str] = ()) -> list[Absence]:
        """Return the absences of families, and of targets by their labels or names; of all if none are given."""
        groups: dict[tuple[object, ...], Absence] = {}
        for number, (collector, target, findings) in enumerate(self._lacking(families, targets), start=1):
            for finding, names in findings.items():
                one = Absence(target.client_name, collector.name, tuple(names), finding)
                alike = one.account, one.collector, one.families, finding.cause, finding.reason
                group = groups.setdefault(alike, one)
                group.finding = min(group.finding, finding, key=lambda found: found.since)
                group.targets.append(target)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        return list(groups.values())

    async def counts(self) -> Mapping[tuple[str, str], int]:
        """Return the number of absent families, counted for each target, by collector and cause."""
        counts: Counter[tuple[str, str]] = Counter()
        for one in await self.absences():
            counts[one.collector, one.finding.cause] += len(one.families) * len(one.targets)
        return counts

    def _lacking(
        self, families: Collection[str], targets: Collection[str]
    ) -> Iterator[tuple[Collector, Target, Mapping[Finding, list[str]]]]:
        """Yield each target of each collector with those of its families that have no series, by the reason."""
        for collector in self.collectors():
            refused = self._refused(collector)
            for target, left_out in self._candidates(collector):
                if targets and not {target.key.label, target.name}.intersection(targets):
                    continue
                status = self.store.statuses.get(PollKey(target.key, collector.name))
                # After a failure the values of the last good answer are served until they are stale.
                answered = status if status is not None and (status.families or status.up) else None
                of_all = left_out
                if of_all is None and answered is None:
                    of_all = self._of_silence(collector, target, status)
                found: dict[Finding, list[str]] = {}
                for info in collector.families_of(target.kind, target.id):
                    finding = refused.get(info.name) or of_all
                    if finding is None and answered is not None:
                        finding = self._of_answer(info, answered)
                    if finding is not None and (not families or info.name in families):
                        found.setdefault(finding, []).append(info.name)
                yield collector, target, found

    def answer(self, named: str) -> str:
        """Return what there is to say of a target without absences, which is named by its label or name."""
        if any(named in (one.key.label, one.name) for one in self.registry.by_key.values()):
            return "nothing is absent"
        for selection in self._selections(kind for collector in self.collectors() for kind in collector.kinds):
            for one in self.registry.selected(selection.account, selection.kind):
                owner, own = self.registry.owner_of(one.key, one.parent), self.registry.shard
                if named in (one.key.label, one.name) and owner != own.index:
                    return f"shard {owner} of {own.total} polls it"
        return "not known, or removed"

    def _selections(self, kinds: Iterable[str]) -> Iterator[Selection]:
        return (selection for kind in kinds for selection in self.registry.selections(kind))

    def _not_asked_for(self, words: str, *path: str | int) -> Finding:
        return Finding(Cause.NOT_ASKED_FOR, str(self.settings().fault(path, words)))

    def _disabled(self, collector: Collector) -> Finding | None:
        if self.settings().collector_settings()[collector.section].enabled:
            return None
        return self._not_asked_for("is false", "collectors", collector.section, "enabled")

    def _refused(self, collector: Collector) -> dict[str, Finding]:
        """Return the families of a collector that the configuration leaves out, whatever the target."""
        names, series = [info.name for info in collector.families], self.settings().series
        if off := self._disabled(collector):
            return dict.fromkeys(names, off)
        paths = {name: path for name in names if (path := series.refusing(name)) is not None}
        return {name: self._not_asked_for("leaves the family out", "series", *path) for name, path in paths.items()}

    def _candidates(self, collector: Collector) -> Iterator[tuple[Target, Finding | None]]:
        """Return the possible targets, each with the finding that concerns all of its families, if there is one."""
        for selection in self._selections(collector.kinds):
            account, kind = selection.account, selection.kind
            polled = self.registry.polled(account, kind)
            others = [one for one in self.registry.listed(account, kind) if one.key.id not in polled]
            for one in others:
                path = selection.rejection(one.name)
                for_all = None if path is None else self._not_asked_for("leaves it out", *selection.setting, *path)
                yield Target(account, kind, one.key.id, one.name), for_all
            for target in polled.values():
                is_wanted = kind != collector.polls or collector.wants(target)
                if collector is discovery.COLLECTOR:
                    is_wanted = discovery.SEARCH in target.watched  # its families count what a search finds
                for_all = None if is_wanted else self._not_asked_for("selects nothing for it", *selection.setting)
                yield target, for_all
            if not (others or polled or selection.fixed):
                yield Target(account, kind, ANY), self._of_none(selection)

    def _of_none(self, selection: Selection) -> Finding:
        """Return why an account has no target of a kind."""
        if not selection.discover:
            return self._not_asked_for("names none, and none is discovered", *selection.setting)
        lists = (one for one in self.collectors() if isinstance(one, EndpointListCollector))
        lister = next((one for one in lists if one.kind == selection.kind), discovery.COLLECTOR)
        account = Target(selection.account, lister.polls, selection.account)
        status = self.store.statuses.get(PollKey(account.key, lister.name))
        if status is None or status.since:
            return self._disabled(lister) or self._of_silence(lister, account, status)
        return Finding(Cause.PLATFORM_HAS_NONE, "the list has none for this exporter")

    def _of_answer(self, info: FamilyInfo, answered: Status) -> Finding | None:
        """Return why a target that has answered lacks a family; None if it has all of it."""
        if info.name in answered.left_out:
            return self._not_asked_for("leaves out label values of it", "series", "max_label_values")
        if info.name in answered.families:
            return None
        if info.is_counted and (fault := self.ledger_fault()):
            return Finding(Cause.FAILING, f"the counters cannot be saved: {fault}")
        note = answered.message if answered.up else ""
        return Finding(Cause.PLATFORM_HAS_NONE, note or "null, or left out of its answer")

    def _of_silence(self, collector: Collector, target: Target, status: Status | None) -> Finding:
        """Return why a target has no values: it fails, its list does, or no poll of it has ended."""
        lister = discovery.COLLECTOR if target.kind == collector.polls else collector
        listing = self.store.statuses.get(PollKey.of(lister.name, target.account, "account", target.account))
        for failed in (status, listing):
            if failed is not None and failed.since:
                reason = failed.reason or "no poll has succeeded in time"
                return Finding(Cause.FAILING, reason, failed.message, failed.since)
        if lister is collector and listing is not None:
            return Finding(Cause.PLATFORM_HAS_NONE, "the list does not contain it")
        return Finding(Cause.NOT_POLLED_YET)
