"""Stores what is known of each target: the results of its polls, and its families until they expire.

The status board records whether the polls of a target succeed, why not and since when, and gives their health families.
The store keeps the families of its last successful poll, and collects what changed for the next generation.
"""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from exporter.collectors.causes import NO_VALUES, Cause, Lack
from exporter.collectors.collector import Outcome
from exporter.metric import Family, FamilyInfo, Kind, Sample, label_value
from exporter.targets.target import PollKey, Target

_HEALTH_LABELS = ("account", "collector", "target", "name")

TARGET_UP = FamilyInfo(
    "edge_target_up", "Whether the last poll of the target by this collector succeeded.", Kind.GAUGE, "", _HEALTH_LABELS
)
LAST_SUCCESS = FamilyInfo(
    "edge_target_last_success_timestamp_seconds",
    "When a poll of the target by this collector last succeeded; remembered across restarts.",
    Kind.GAUGE,
    "seconds",
    _HEALTH_LABELS,
)
HEALTH = (TARGET_UP, LAST_SUCCESS)


@dataclass(frozen=True, slots=True)
class Gaps:
    """The families that are missing in the last successful poll of a target, and why.

    Attributes:
        lack: why the answer contained no samples.
        unsaved: counters that the answer contained and the ledger has not saved yet.
        last_seen: family → unix seconds of the last successful poll with samples of it, since the start.
    """

    lack: Lack = NO_VALUES
    unsaved: frozenset[str] = frozenset()
    last_seen: Mapping[str, float] = field(default_factory=dict)


NO_GAPS = Gaps()
GONE = Gaps(Lack(Cause.FAILING, "not_found: the platform says that there is no such resource"))


@dataclass(frozen=True, slots=True)
class PollFailure:
    """Why polls of a target fail.

    Attributes:
        cause: the cause of absences; STALE if no poll has failed, but none has succeeded in time either.
        since: unix seconds of the first failure.
        expired: unix seconds at which the series of the target were removed; 0 if they were not.
    """

    cause: Cause
    since: float
    expired: float = 0.0


@dataclass(slots=True)
class Status:
    """The state of a target of one collector, for the status page and the health families.

    Attributes:
        up: whether the last poll succeeded.
        reason: the reason of the last failure; empty if the last poll succeeded.
        message: the last failure in words, or why a target that is up has no series.
        success: unix seconds of the last success; 0 if there was none.
        polled: unix seconds of the last poll; 0 before the first.
        duration: seconds that the last poll took.
        served: whether any of its platform series are served.
        chart: the counts of the last days, oldest first; empty if its collector declares no chart.
        fingerprint: of the answer whose result is served completely; empty if there is none.
        families: the names of its platform families, or of those that were removed last.
        gaps: the families that the last successful poll did not give.
        failure: why its polls fail; None if they succeed.
        believed: when the served values were polled, on the monotonic clock.
        expires: when they are removed if no poll succeeds until then, on the same clock.
        is_final: whether a poll has failed since; a longer interval then no longer moves `expires`.
        key: the target and its collector; it never changes.
    """

    target: Target
    collector: str
    up: bool = False
    reason: str = ""
    message: str = ""
    success: float = 0.0
    polled: float = 0.0
    duration: float = 0.0
    served: bool = False
    chart: Sequence[float] = ()
    fingerprint: bytes = b""
    families: frozenset[str] = frozenset()
    gaps: Gaps = NO_GAPS
    failure: PollFailure | None = None
    believed: float = 0.0
    expires: float = 0.0
    is_final: bool = False
    key: PollKey = field(init=False)

    def __post_init__(self) -> None:
        self.key = PollKey(self.target.key, self.collector)

    def health(self) -> tuple[Family, ...]:
        """Return the health families of the target."""
        target = self.target
        labels = tuple(map(label_value, (target.account, self.collector, target.key.label, target.name)))
        up = Family(TARGET_UP, (Sample(labels, float(self.up)),))
        return (up, Family(LAST_SUCCESS, (Sample(labels, self.success),))) if self.success else (up,)


class StatusBoard:
    """Holds the status of every target for every collector.

    Args:
        clock: returns unix seconds.
        remembered: collector, target → unix seconds of the last success in an earlier run; 0 if there was none.

    Attributes:
        clock: as given.
    """

    def __init__(
        self, clock: Callable[[], float], remembered: Callable[[str, Target], float] = lambda _collector, _target: 0.0
    ) -> None:
        self.clock = clock
        self._remembered = remembered
        self._statuses: dict[PollKey, Status] = {}
        self._ordered: list[tuple[PollKey, Status]] | None = None
        self._collectors: set[str] = set()
        self._names: dict[frozenset[str], frozenset[str]] = {}

    def succeeded(
        self, collector: str, outcome: Outcome, families: Iterable[Family], *, duration: float, note: str = ""
    ) -> Status:
        """Record a poll that succeeded.

        Args:
            collector: the collector's name.
            outcome: the result of the poll.
            families: all platform families of the target after this poll, with counters.
            duration: seconds that the poll took.
            note: why a target that is up has no series.
        """
        status = self._status(collector, outcome.target)
        now = self.clock()
        self._note_families(status, outcome, frozenset(family.info.name for family in families))
        status.failure = None
        status.up, status.reason, status.message = True, "", note
        status.success, status.polled, status.duration = now, now, duration
        status.chart = array("d", outcome.chart) if outcome.chart else ()
        status.served = bool(status.families)
        status.fingerprint = b""
        return status

    def forget_answers(self) -> None:
        """Discard all fingerprints, so that the next answer of each target is processed even if it is unchanged."""
        for status in self._statuses.values():
            status.fingerprint = b""

    def _note_families(self, status: Status, outcome: Outcome, names: frozenset[str]) -> None:
        # Targets of a kind mostly have the same families, and share one set of names.
        names = self._names.setdefault(names, names)
        former, known = status.families, status.gaps.last_seen
        if names is not former or known:
            known = {name: at for name, at in known.items() if name not in names}
            known |= dict.fromkeys(former - names, status.success)
        unsaved = frozenset(count.info.name for count in outcome.counts if count.sources) - names
        status.families = names
        is_plain = not known and not unsaved and outcome.lack == NO_VALUES
        status.gaps = NO_GAPS if is_plain else Gaps(outcome.lack, unsaved, known)

    def failed(
        self, collector: str, outcome: Outcome, reason: str, message: str, *, duration: float, cause: Cause
    ) -> Status:
        """Record a poll that failed.

        Args:
            collector: the collector's name.
            outcome: the result of the poll.
            reason: one word for what went wrong.
            message: what went wrong in words.
            duration: seconds that the poll took.
            cause: the cause of the absences that follow from the failure.
        """
        status = self._status(collector, outcome.target)
        began = PollFailure(cause, self.clock())
        status.failure = began if status.failure is None else replace(status.failure, cause=cause)
        status.up, status.reason, status.message, status.fingerprint = False, reason, message, b""
        status.polled, status.duration = self.clock(), duration
        if outcome.families:
            self._note_families(status, outcome, frozenset(family.info.name for family in outcome.families))
            status.served = True
        return status

    def is_failing(self, collector: str, target: Target) -> bool:
        """Return whether the last poll failed; False if it succeeded and its values have expired since."""
        status = self._statuses.get(PollKey(target.key, collector))
        return status is not None and not status.up and bool(status.reason)

    def was_up(self, collector: str, target: Target) -> bool | None:
        """Return whether the last poll succeeded; None before the first."""
        status = self._statuses.get(PollKey(target.key, collector))
        return None if status is None or not status.polled else status.up

    def remove(self, target: Target, collector: str | None = None) -> list[PollKey]:
        """Remove a target from one collector or from all; returns what was removed."""
        names = (collector,) if collector is not None else sorted(self._collectors)
        removed = [
            status for name in names if (status := self._statuses.pop(PollKey(target.key, name), None)) is not None
        ]
        if removed:
            self._ordered = None
        return [status.key for status in removed]

    def find(self, key: PollKey) -> Status | None:
        """Return the status of a target for a collector; None if there is none."""
        return self._statuses.get(key)

    def statuses(self) -> Iterator[tuple[PollKey, Status]]:
        """Iterate over the status of every target for every collector, ordered by key."""
        if self._ordered is None:
            self._ordered = sorted(self._statuses.items(), key=lambda item: item[0])
        return iter(self._ordered)

    def _status(self, collector: str, target: Target) -> Status:
        status = self._statuses.get(PollKey(target.key, collector))
        if status is None:
            status = Status(target, collector, success=self._remembered(collector, target))
            self._statuses[status.key] = status
            self._collectors.add(collector)
            self._ordered = None
        status.target = target
        return status


class Update(NamedTuple):
    """The changes of a target.

    Attributes:
        families: the new families.
        whole: whether these replace all families of the target; otherwise its other families are kept.
    """

    families: tuple[Family, ...]
    whole: bool = True


REMOVED = Update(())


class Store:
    """Stores the families of the targets until they expire, and returns what changed.

    A successful poll replaces all families of its target. After a failed poll they stay until they expire. The health
    families of a target come from the status board and are part of each change.

    Args:
        board: the status of each target; the caller records a status there first.
        monotonic: a clock in seconds that never jumps.
        lifetime: collector, target → seconds for which values are valid, by the current intervals.

    Attributes:
        is_exposed_whole: whether no cap leaves any series out.
    """

    def __init__(
        self,
        board: StatusBoard,
        monotonic: Callable[[], float],
        lifetime: Callable[[str, Target], float] = lambda _collector, _target: 0.0,
    ) -> None:
        self.board = board
        self.is_exposed_whole = True
        self._lifetime = lifetime
        self._monotonic = monotonic
        # Nothing expires before this time, so `expire` has nothing to do until then.
        self._earliest = math.inf
        # The new platform families of a target; None if only its health has changed.
        self._changed: dict[PollKey, tuple[Family, ...] | None] = {}

    def publish(self, status: Status, families: tuple[Family, ...], lifetime: float) -> None:
        """Replace all platform families of a target by these, which are valid for `lifetime` seconds."""
        self._changed[status.key] = families
        self._believe(status, lifetime)

    def _believe(self, status: Status, lifetime: float) -> None:
        status.believed = self._monotonic()
        status.expires, status.is_final = status.believed + lifetime, False
        self._earliest = min(self._earliest, status.expires)

    def unchanged(self, status: Status, lifetime: float, *, duration: float) -> None:
        """Keep the platform families of a target after a poll with the same answer, which took `duration` seconds.

        They are valid for `lifetime` seconds from now on.
        """
        status.success = status.polled = self.board.clock()
        status.duration = duration
        self._believe(status, lifetime)
        self._changed.setdefault(status.key, None)

    def keep(self, status: Status, lifetime: float) -> None:
        """Keep the platform families of a target after a failed poll, until they expire.

        They are valid for `lifetime` seconds after the last success, if that is longer than before.
        """
        if not status.is_final:
            status.expires = max(status.expires, status.believed + lifetime)
            status.is_final = True
        self._changed.setdefault(status.key, None)

    def clear(self, collector: str, target: Target) -> None:
        """Remove the platform families of a target that no longer exists on the platform."""
        key = PollKey(target.key, collector)
        status = self.board.find(key)
        if status is not None and status.served:
            status.served, status.families, status.gaps, status.fingerprint = False, frozenset(), GONE, b""
            self._changed[key] = ()

    def remove(self, target: Target, collector: str | None = None) -> None:
        """Remove all families and the status of a target, for one collector or for all."""
        for key in self.board.remove(target, collector):
            self._changed[key] = ()

    def expire(self) -> list[Status]:
        """Remove the platform families of targets whose last success is too long ago; returns their statuses.

        Intervals become longer if there are more targets or the platform becomes slower. Then the next poll of a target
        is later, and its series are valid for longer.
        """
        now = self._monotonic()
        if now < self._earliest:
            return []
        served = [status for _, status in self.board.statuses() if status.served]
        for status in served:
            if status.expires <= now and not status.is_final:
                status.expires = max(status.expires, status.believed + self._lifetime(status.collector, status.target))
        late = [status for status in served if status.expires <= now]
        for status in late:
            at = self.board.clock()
            status.failure = replace(status.failure or PollFailure(Cause.STALE, at), expired=at)
            status.served, status.up, status.fingerprint = False, False, b""
            self._changed[status.key] = ()
        self._earliest = min((status.expires for status in served if status.served), default=math.inf)
        return late

    def changes(self) -> Mapping[PollKey, Update]:
        """Return the changes since the last call; an update without families removes a target."""
        changed, self._changed = self._changed, {}
        changes = {}
        for key, families in changed.items():
            status = self.board.find(key)
            health = () if status is None else status.health()
            changes[key] = Update((*(families or ()), *health), whole=families is not None) if health else REMOVED
        return changes
