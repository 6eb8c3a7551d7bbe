"""Names exactly one cause for every family that a target could have and that has no series.

If several causes apply, the one that a user must remove first is reported: causes from before any call of the
platform come before those from its answers, and causes that concern a whole target before those of one family.

1. The collector is disabled.
2. The family is denied or not allowed. (A collector all of whose families are excluded does not run; the pattern is
   then the cause.)
3. The target is not polled here: it belongs to another shard, or it is filtered, not configured, not discovered, or
   discovery is not complete. These exclude each other. If discovery fails because of the key, the key is the cause.
4. The target has no valid result. A refused key, a key without the permission and an answer out of range come before
   STALE and FAILING, which are their consequences. A target that was never polled waits for discovery, for the ledger,
   or for its first poll. The cause is STALE if series were removed, and FAILING if there were none.
5. The target has a valid result, even if later polls failed. A family that is in it exceeds the cap. For a family that
   is not in it: the counter waits for the ledger; or the answer as a whole has no value (not available, never scanned,
   no row); or a source field has a value that cannot be read; or it is null or left out.

A target of a list, such as a shield zone, is explained by the poll of its list if it has none of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from exporter.collectors import discovery
from exporter.collectors.causes import Cause
from exporter.collectors.collector import Collector
from exporter.explain.candidates import ANY, Candidate, Scope, Sources
from exporter.explain.evidence import cause_of_failure, moment, source_fields
from exporter.exposition.store import Status
from exporter.metric import FamilyInfo
from exporter.targets.target import PollKey, Target

# These causes of a failure are reported instead of STALE and FAILING.
_ROOTS = frozenset({Cause.KEY_REFUSED, Cause.KEY_FORBIDDEN, Cause.OUT_OF_RANGE})
# The first count comes soon after the start, because users look at it then; later counts become rarer.
FIRST_SECONDS = 5.0
EVERY_SECONDS = 60.0
# A count uses at most this share of the time: with 100,000 targets there is one every few minutes.
LARGEST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Absence:
    """Families of a target that have no series, all for one cause.

    Attributes:
        account: the account, or the database, as `Target.client_name` gives it.
        target: its label, such as `dns_zone/102`; `dns_zone/*` if there is none of its kind.
        families: their names.
        evidence: the facts that show the cause.
    """

    account: str
    collector: str
    target: str
    name: str
    families: tuple[str, ...]
    cause: Cause
    evidence: str


@dataclass(frozen=True, slots=True)
class AbsenceFilter:
    """Selects the absences to explain; an empty set selects all.

    Attributes:
        families: names of families.
        targets: labels or names of targets.
    """

    families: frozenset[str] = frozenset()
    targets: frozenset[str] = frozenset()
    accounts: frozenset[str] = frozenset()
    collectors: frozenset[str] = frozenset()
    causes: frozenset[Cause] = frozenset()

    def admits(self, target: Target) -> bool:
        """Return whether a target is selected."""
        if self.accounts and target.client_name not in self.accounts:
            return False
        return not self.targets or target.key.label in self.targets or target.name in self.targets


ALL = AbsenceFilter()
_Finding = tuple[Cause, str]


class Explainer:
    """Explains absences on demand."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def families(self) -> frozenset[str]:
        """Return the families of all collectors, enabled or not."""
        return frozenset(info.name for collector in self._sources.scope().collectors for info in collector.families)

    def collectors(self) -> tuple[str, ...]:
        """Return the names of all collectors, enabled or not."""
        return tuple(collector.name for collector in self._sources.scope().collectors)

    def absences(self, wanted: AbsenceFilter = ALL) -> Iterator[Absence]:
        """Return the selected absences, collector by collector."""
        scope = self._sources.scope()
        for collector in scope.collectors:
            if wanted.collectors and collector.name not in wanted.collectors:
                continue
            for kind in collector.kinds:
                yield from self._of_kind(scope, collector, kind, wanted)

    def _of_kind(self, scope: Scope, collector: Collector, kind: str, wanted: AbsenceFilter) -> Iterator[Absence]:
        if wanted.families and not wanted.families & {info.name for info in collector.families}:
            return
        unseen = {label for label in wanted.targets if label.startswith(f"{kind}/")}
        for candidate in self._sources.of_kind(scope, kind):
            if wanted.admits(candidate.target) or (candidate.target.id == ANY and not wanted.targets):
                unseen.discard(candidate.target.key.label)
                yield from self._of_candidate(scope, collector, candidate, wanted)
        for label in sorted(unseen):
            for candidate in self._sources.named(scope, kind, label.partition("/")[2]):
                if wanted.admits(candidate.target):
                    yield from self._of_candidate(scope, collector, candidate, wanted)
        for candidate in self._sources.elsewhere(kind, sorted(wanted.targets)):
            yield from self._of_candidate(scope, collector, candidate, wanted)

    def _of_candidate(
        self, scope: Scope, collector: Collector, candidate: Candidate, wanted: AbsenceFilter
    ) -> Iterator[Absence]:
        target = candidate.target
        if wanted.accounts and target.client_name not in wanted.accounts:
            return
        infos = collector.families_of(target.kind, target.id)
        grouped: dict[_Finding, list[str]] = {}
        for name, finding in self._findings(scope, collector, candidate, infos):
            if (not wanted.families or name in wanted.families) and (not wanted.causes or finding[0] in wanted.causes):
                grouped.setdefault(finding, []).append(name)
        for (cause, evidence), names in grouped.items():
            yield Absence(
                target.client_name, collector.name, target.key.label, target.name, tuple(names), cause, evidence
            )

    def _findings(
        self, scope: Scope, collector: Collector, candidate: Candidate, infos: Iterable[FamilyInfo]
    ) -> Iterator[tuple[str, _Finding]]:
        """Return each family without series, with its cause and evidence."""
        if collector.section in scope.disabled:
            disabled = (Cause.COLLECTOR_DISABLED, f"collectors.{collector.section}.enabled is false")
            yield from ((info.name, disabled) for info in infos)
            return
        admitted: list[FamilyInfo] = []
        for info in infos:
            refusal = scope.refusal(info.name)
            if refusal is None:
                admitted.append(info)
            else:
                yield info.name, refusal
        if not admitted:
            return
        target = candidate.target
        if candidate.cause is not None:
            standing: _Finding = (candidate.cause, candidate.evidence)
        elif target.kind == collector.polls and not collector.wants(discovery.without_names(target)):
            standing = (Cause.NOT_CONFIGURED, "the configuration selects nothing that this collector lists")
        else:
            status = self._sources.store.find(PollKey(target.key, collector.name))
            if status is not None and status.polled and (status.served or status.up):
                yield from self._of_answer(status, admitted)
                return
            standing = self._of_silence(collector, target, status)
        yield from ((info.name, standing) for info in admitted)

    def _of_answer(self, status: Status, infos: Iterable[FamilyInfo]) -> Iterator[tuple[str, _Finding]]:
        """Return the families that the last successful poll lacks."""
        for info in infos:
            if info.name in status.families:
                if self._sources.is_capped(info.name, status.key):
                    yield info.name, (Cause.CAPPED, "the target's series would pass series.max_per_family")
                continue
            gaps = status.gaps
            if info.name in gaps.unsaved:
                yield info.name, (Cause.LEDGER, self._ledger_words())
            elif gaps.lack.cause is not Cause.NO_VALUE:
                yield info.name, (gaps.lack.cause, gaps.lack.words or f"answer of {moment(status.success)}")
            else:
                yield info.name, self._of_value(status, info)

    def _of_value(self, status: Status, info: FamilyInfo) -> _Finding:
        fields = (info.source,) if info.source else source_fields(info.help)
        strange = [field for field in fields if field in status.gaps.lack.unexpected]
        if strange:
            words = f"{', '.join(strange)} cannot be read in the answer of {moment(status.success)}"
            return Cause.OUT_OF_RANGE, words
        seen = status.gaps.last_seen.get(info.name)
        last = f"last seen {moment(seen)}" if seen else "not seen since the exporter started"
        what = status.gaps.lack.words or f"{', '.join(fields) or 'its source field'}: null, empty or left out"
        return Cause.NO_VALUE, f"{what} in the answer of {moment(status.success)}; {last}"

    def _of_silence(self, collector: Collector, target: Target, status: Status | None) -> _Finding:
        """Return why a target that is polled here has no valid result."""
        is_withdrawn = status is not None and status.failure is not None and status.failure.expired > 0
        if target.kind != collector.polls:
            # The target's list is polled, for the account; the target itself fails only if its item cannot be read.
            target = Target(target.account, collector.polls, target.account)
            listing = self._sources.store.find(PollKey(target.key, collector.name))
            if listing is not None and listing.failure is None and (status is None or not status.polled):
                return Cause.NOT_DISCOVERED, f"the platform's list of {moment(listing.success)} does not contain it"
            if listing is not None and listing.failure is not None:
                status = listing
        if status is None or status.failure is None:
            return self._of_waiting(collector, target)
        cause, words = cause_of_failure(status, status.failure, self._sources.accepted(status.target.client_name))
        if cause not in _ROOTS:
            cause = Cause.STALE if is_withdrawn else Cause.FAILING
        due = self._due(collector, target)
        return cause, f"{words}; next poll {due}" if due else words

    def _of_waiting(self, collector: Collector, target: Target) -> _Finding:
        schedule = self._sources.schedule()
        if schedule.waits_for_ledger(PollKey(target.key, collector.name)):
            return Cause.LEDGER, self._ledger_words()
        if not collector.discovers and schedule.waits_for_discovery(target):
            cause, words = self._sources.undiscovered(target.account)
            return cause, f"it waits for its name: {words}"
        due = self._due(collector, target)
        return Cause.FIRST_POLL, due or "it is polled with the next round of its collector"

    def _due(self, collector: Collector, target: Target) -> str:
        """Write when a target is polled next; empty if that is not known."""
        due = self._sources.schedule().due_at(collector.name, target)
        if due is None:
            return ""
        wait = max(0.0, due - self._sources.clocks.monotonic())
        return f"due at {moment(self._sources.clocks.wall() + wait)}"

    def _ledger_words(self) -> str:
        fault = self._sources.ledger_fault()
        state = self._sources.state or "memory"
        return f"writing {state} fails: {fault}" if fault else f"the write to {state} has not ended"


def tally(absences: Iterable[Absence]) -> dict[tuple[str, str], int]:
    """Count absent families by collector and cause."""
    counts: dict[tuple[str, str], int] = {}
    for absence in absences:
        key = (absence.collector, absence.cause)
        counts[key] = counts.get(key, 0) + len(absence.families)
    return counts


async def keep_counting(
    explainer: Explainer,
    show: Callable[[Mapping[tuple[str, str], int]], object],
    monotonic: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Count absent families by collector and cause, again and again, and show the counts.

    `sleep` waits for a number of seconds by the clock `monotonic`.
    """
    wait = FIRST_SECONDS
    while True:
        await sleep(wait)
        began = monotonic()
        show(tally(explainer.absences()))
        took = monotonic() - began
        # Each wait is at least twice as long as the one before, so that counts are frequent only after the start.
        wait = max(min(EVERY_SECONDS, wait * 2), took / LARGEST_SHARE)
