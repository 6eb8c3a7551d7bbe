"""The current truth: what each target's last successful poll told, and for how long it may still be believed."""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from exporter.collectors.collector import Outcome
from exporter.metric import Family, FamilyInfo, Kind, Sample, label_value
from exporter.targets.target import PollKey, Target

_HEALTH_LABELS = ("account", "collector", "target", "name")

TARGET_UP = FamilyInfo(
    "edge_target_up",
    "Whether the last poll of the target by this collector went well.",
    Kind.GAUGE,
    "",
    _HEALTH_LABELS,
)
LAST_SUCCESS = FamilyInfo(
    "edge_target_last_success_timestamp_seconds",
    "When a poll of the target by this collector last went well; remembered across restarts.",
    Kind.GAUGE,
    "seconds",
    _HEALTH_LABELS,
)
HEALTH = (TARGET_UP, LAST_SUCCESS)


@dataclass(slots=True)
class Status:
    """How a target fares, for people and for the health families.

    Attributes:
        up: whether the last poll went well.
        reason: the last failure's reason, empty where there is none.
        message: the last failure in words, or what else is to be known.
        success: unix seconds of the last success, 0 where there was none.
        polled: unix seconds of the last poll.
        duration: seconds that the last poll took.
        believed: when what is served was polled, on the monotonic clock.
        expires: when its series go if no poll goes well until then, on the same clock.
        is_final: whether that moment stands whatever becomes of the interval, because a poll has failed since.
        served: whether any of its platform series are served.
        chart: the counts of the last days, oldest first, where the target has such a chart.
        key: the target as its collector sees it, which never changes.
    """

    target: Target
    collector: str
    up: bool = False
    reason: str = ""
    message: str = ""
    success: float = 0.0
    polled: float = 0.0
    duration: float = 0.0
    believed: float = 0.0
    expires: float = 0.0
    is_final: bool = False
    served: bool = False
    chart: "array[float]" = field(default_factory=lambda: array("d"))
    key: PollKey = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.target.polled_by(self.collector)


@dataclass(frozen=True, slots=True)
class Update:
    """What changed of a target.

    Attributes:
        families: the families that it now has.
        whole: whether these are all of them; otherwise the others stand as they are.
    """

    families: tuple[Family, ...]
    whole: bool = True


GONE = Update(())


class Store:
    """Holds every target's status, and hands on what changed in its families.

    A target's families are replaced whole by each successful poll. A failure leaves them until they expire.

    Args:
        clock: unix seconds.
        monotonic: seconds that never jump.
        remembered: collector, target → unix seconds of a last success in an earlier run, 0 where there was none.
        lifetime: collector, target → seconds for which a poll may be believed by the intervals that are in force now.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        remembered: Callable[[str, Target], float] = lambda _collector, _target: 0.0,
        lifetime: Callable[[str, Target], float] = lambda _collector, _target: 0.0,
    ) -> None:
        self._remembered = remembered
        self._lifetime = lifetime
        self._clock = clock
        self._monotonic = monotonic
        self._statuses: dict[PollKey, Status] = {}
        self._ordered: list[tuple[PollKey, Status]] | None = None
        self._collectors: set[str] = set()
        # Nothing expires before this moment, so that nothing needs to be looked at until then.
        self._earliest = math.inf
        self._changes: dict[PollKey, Update] = {}

    def succeed(
        self,
        collector: str,
        outcome: Outcome,
        counters: tuple[Family, ...],
        *,
        lifetime: float,
        duration: float,
        chart: Iterable[float] = (),
        note: str = "",
    ) -> None:
        """Publish a poll that went well.

        Args:
            collector: the collector's name.
            outcome: what the poll told of the target.
            counters: the target's counters from the ledger.
            lifetime: seconds for which this may be believed.
            duration: seconds that the poll took.
            chart: the counts of the last days, oldest first.
            note: what a person should know of a target that is well and yet has no series.
        """
        status = self._status(collector, outcome.target)
        now = self._clock()
        status.up, status.reason, status.message = True, "", note
        status.success, status.polled, status.duration = now, now, duration
        status.chart = array("d", chart)
        status.served = bool(outcome.families or counters)
        self._believe(status, lifetime)
        self._change(status, Update((*outcome.families, *counters)))

    def _believe(self, status: Status, lifetime: float) -> None:
        status.believed = self._monotonic()
        status.expires = status.believed + lifetime
        status.is_final = False
        if status.served:
            self._earliest = min(self._earliest, status.expires)

    def fail(
        self, collector: str, outcome: Outcome, reason: str, message: str, *, lifetime: float, duration: float
    ) -> bool:
        """Note a poll that went wrong; what the target told before stays until it expires.

        Args:
            collector: the collector's name.
            outcome: whose poll it was, with the families that are to be shown all the same.
            reason: one word for what went wrong.
            message: what went wrong in words.
            lifetime: seconds for which families that came with the failure may be believed, and what came before it if
                that is longer than at the last success.
            duration: seconds that the poll took.

        Returns:
            Whether the target begins to fail with this.
        """
        known = outcome.target.polled_by(collector) in self._statuses
        status = self._status(collector, outcome.target)
        begins = status.up or not known or not status.reason
        status.up, status.reason, status.message = False, reason, message
        status.polled, status.duration = self._clock(), duration
        if outcome.families:
            status.served = True
            self._believe(status, lifetime)
            self._change(status, Update(outcome.families))
        else:
            if not status.is_final:
                status.expires = max(status.expires, status.believed + lifetime)
                status.is_final = True
            self._change(status, Update((), whole=False))
        return begins

    def was_up(self, collector: str, target: Target) -> bool | None:
        """Whether the last poll went well; None where there was none."""
        status = self._statuses.get(target.polled_by(collector))
        return None if status is None or not status.polled else status.up

    def clear(self, collector: str, target: Target) -> None:
        """Take a target's platform series away, because the platform says that it is gone."""
        status = self._statuses.get(target.polled_by(collector))
        if status is not None:
            status.served = False
            self._change(status, Update(()))

    def remove(self, target: Target, collector: str | None = None) -> None:
        """Take everything of a target away, of one collector or of all."""
        for name in (collector,) if collector is not None else sorted(self._collectors):
            status = self._statuses.pop(target.polled_by(name), None)
            if status is not None:
                self._ordered = None
                self._changes[status.key] = GONE

    def expire(self) -> list[Status]:
        """Take away the platform series of targets whose last success is too long ago; returns their statuses.

        Intervals become longer when many targets arrive or the platform slows down. A target whose polls go well is
        polled that much later, so its series stay for as long as the longer interval allows.
        """
        now = self._monotonic()
        if now < self._earliest:
            return []
        served = [status for status in self._statuses.values() if status.served]
        for status in served:
            if status.expires <= now and not status.is_final:
                status.expires = max(status.expires, status.believed + self._lifetime(status.collector, status.target))
        late = [status for status in served if status.expires <= now]
        self._earliest = min((status.expires for status in served if status.expires > now), default=math.inf)
        for status in late:
            status.served = status.up = False
            self._change(status, Update(()))
        return late

    def changes(self) -> Mapping[PollKey, Update]:
        """What changed since this was last asked; an update without families is a target that is gone."""
        changes, self._changes = self._changes, {}
        return changes

    def has_changes(self) -> bool:
        """Whether anything changed since `changes` was last asked."""
        return bool(self._changes)

    def statuses(self) -> Iterator[tuple[PollKey, Status]]:
        """Every target as every collector sees it, in a steady order."""
        if self._ordered is None:
            self._ordered = sorted(self._statuses.items(), key=lambda item: item[0])
        return iter(self._ordered)

    def _status(self, collector: str, target: Target) -> Status:
        status = self._statuses.get(target.polled_by(collector))
        if status is None:
            status = Status(target, collector, success=self._remembered(collector, target))
            self._statuses[status.key] = status
            self._collectors.add(collector)
            self._ordered = None
        status.target = target
        return status

    def _change(self, status: Status, update: Update) -> None:
        key = status.key
        labels = tuple(
            label_value(text)
            for text in (status.target.account, status.collector, status.target.key.label, status.target.name)
        )
        families = update.families
        before = self._changes.get(key)
        if before is not None and not update.whole:
            # The earlier change has not been taken yet, so this one carries it.
            families = tuple(family for family in before.families if family.info not in HEALTH)
            update = before
        health = [Family(TARGET_UP, (Sample(labels, float(status.up)),))]
        if status.success:
            health.append(Family(LAST_SUCCESS, (Sample(labels, status.success),)))
        self._changes[key] = Update((*families, *health), update.whole)
