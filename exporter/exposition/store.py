"""Stores what is known of each target: the results of its polls, and its families until they expire.

The status of a target says whether its polls succeed, why not and since when, and gives its health families. The
families of its last successful poll are rendered here, and wait until the next generation takes what changed.
"""

import asyncio
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from exporter.collectors.collector import Outcome
from exporter.exposition.sample_lines import render
from exporter.label_values import label_value
from exporter.log import logger
from exporter.metric import Family, FamilyInfo, Kind, Sample
from exporter.platform.errors import PlatformError
from exporter.targets.target import PollKey, Target, TargetKey

_HEALTH_LABELS = ("account", "collector", "target", "name")

TARGET_UP = FamilyInfo(
    "edge_target_up", "Whether the target's last poll succeeded and has not expired.", Kind.GAUGE, "", _HEALTH_LABELS
)
LAST_SUCCESS = FamilyInfo(
    "edge_target_last_success_timestamp_seconds",
    "When a poll of the target by this collector last succeeded; remembered across restarts.",
    Kind.GAUGE,
    "seconds",
    _HEALTH_LABELS,
)
TARGET_LABELS = FamilyInfo(
    "edge_target_labels",
    "1, with the labels that the configuration gives the target (labels, target_labels).",
    Kind.GAUGE,
    "",
    ("account", "target"),
)
ALERT_THRESHOLD = FamilyInfo(
    "edge_alert_threshold",
    "The threshold that the configuration (thresholds) sets for the target, in place of the alert's own.",
    Kind.GAUGE,
    "",
    ("account", "alert", "target"),
)
HEALTH = (TARGET_UP, LAST_SUCCESS, TARGET_LABELS, ALERT_THRESHOLD)

# The note of a target that no longer exists, as another collector's call has shown.
GONE = "the platform says that there is no such resource"
# The note of a target whose series have ended without a failure.
TOO_LATE = "no poll has succeeded in time"
# The states of a target, in the order in which lists of targets are sorted; a pending target was not polled yet.
FAILING, PENDING, UP = STATES = ("failing", "pending", "up")
# One object for nearly all targets, to save memory.
_NONE_LEFT_OUT: Mapping[str, int] = MappingProxyType({})


@dataclass(slots=True)
class Status:
    """The state of a target of one collector, for the status page and the health families.

    Attributes:
        up: whether the last poll succeeded, and its values have not expired.
        reason: the reason of the last failure; empty if the last poll succeeded.
        message: the last failure in words, or why there are no series.
        success: unix seconds of the last success; 0 if there was none.
        polled: unix seconds of the last poll; 0 before the first.
        duration: seconds that the last poll took.
        chart: the counts of the last days, oldest first; empty if its collector declares no chart.
        families: the names of its platform families that are served.
        since: unix seconds since which its polls fail, or are too late; 0 if they succeed.
        valid_from: when the served values were polled, on the monotonic clock.
        expires: when they are removed if no poll succeeds until then, on the same clock; from the first failure on, a
            longer interval moves it no more.
        left_out: family → how many label values of its last good answer are left out.
        is_mismatched: whether the total of its last good answer is not the sum of the answer's days.
    """

    target: Target
    collector: str
    up: bool = False
    reason: str = ""
    message: str = ""
    success: float = 0.0
    polled: float = 0.0
    duration: float = 0.0
    chart: Sequence[float] = ()
    families: tuple[str, ...] = ()
    since: float = 0.0
    valid_from: float = 0.0
    expires: float = 0.0
    left_out: Mapping[str, int] = field(default_factory=lambda: _NONE_LEFT_OUT)
    is_mismatched: bool = False

    @property
    def key(self) -> PollKey:
        """The target and its collector, which never change."""
        return PollKey(self.target.key, self.collector)

    @property
    def state(self) -> str:
        """One of `STATES`."""
        if not self.polled:
            return PENDING
        return UP if self.up else FAILING

    @property
    def has_ended(self) -> bool:
        """Whether its polls fail, and no values of an earlier success are served any more."""
        return self.state == FAILING and self.success > 0 and not self.families

    def health(self) -> tuple[Family, ...]:
        """Return the health families of the target; without a success, only whether it is up."""
        target = self.target
        labels = tuple(map(label_value, (target.account, self.collector, target.key.label, target.name)))
        up = Family(TARGET_UP, (Sample(labels, float(self.up)),))
        return (up, Family(LAST_SUCCESS, (Sample(labels, self.success),))) if self.success else (up,)


# The sample lines of the families of a target that changed, by name; empty if it does not have the family any more.
Update = Mapping[str, bytes]


@dataclass(eq=False, repr=False)
class Store:
    """Stores what is known of each target for each collector, and returns what changed.

    A successful poll replaces all families of its target. After a failed poll they stay until they expire. The health
    families of a target come from its status.

    Attributes:
        wall: returns unix seconds.
        monotonic: a clock in seconds that never jumps.
        lifetime: collector, target → seconds for which values are valid, as `Schedule.lifetime` computes them.
        remembered: collector, target → unix seconds of the last success in an earlier run; 0 if there was none.
        has_changed: set while there are changes not yet taken.
        gone: the targets that no longer exist on the platform, as their own answers have said.
    """

    wall: Callable[[], float]
    monotonic: Callable[[], float]
    lifetime: Callable[[str, Target], float]
    remembered: Callable[[str, Target], float]
    statuses: dict[PollKey, Status] = field(default_factory=dict)
    has_changed: asyncio.Event = field(default_factory=asyncio.Event)
    gone: set[TargetKey] = field(default_factory=set)
    _changed: dict[PollKey, dict[str, bytes]] = field(default_factory=dict)

    def publish(
        self, collector: str, outcome: Outcome, *, duration: float, left_out: Mapping[str, int] | None = None
    ) -> None:
        """Record a poll that succeeded and took `duration` seconds.

        Its families, with those that the ledger has counted, replace all platform families of the target. `left_out`
        contains how many label values each family lacks.
        """
        status = self._ensure_status(collector, outcome.target)
        now = self.wall()
        status.up, status.since, status.reason, status.message = True, 0.0, "", outcome.note
        status.success, status.polled, status.duration = now, now, duration
        status.chart = array("d", outcome.chart)
        status.is_mismatched = outcome.is_mismatched
        status.left_out = left_out or _NONE_LEFT_OUT
        self._serve(status, outcome.families)

    def fail(self, collector: str, outcome: Outcome, error: PlatformError, *, duration: float) -> None:
        """Record a poll that failed with an error and took `duration` seconds.

        The families of its target stay until they expire, unless the outcome has new ones.
        """
        status = self._ensure_status(collector, outcome.target)
        if not status.since:
            status.since = self.wall()
            # From now on, intervals that become longer do not keep the values alive.
            status.expires = self._deadline(status)
        status.up, status.reason, status.message = False, error.reason, str(error)
        status.polled, status.duration = self.wall(), duration
        if outcome.families:
            self._serve(status, outcome.families)
        else:
            self.change(status.key, status.health())

    def change(self, key: PollKey, families: Iterable[Family], former: Iterable[str] = ()) -> None:
        """Replace families of a key, also of one without a status; other families named in `former` are removed."""
        changed = self._changed.setdefault(key, {})
        changed.update(dict.fromkeys(former, b""))
        # Rendered now: until the next generation, the lines of a DNS zone take 3 KB, and its families would take 5.
        changed.update((family.info.name, _rendered(key, family)) for family in families)
        self.has_changed.set()

    def _ensure_status(self, collector: str, target: Target) -> Status:
        """Create the status of a target if it has none, and return it with the target as it is now."""
        status = self.statuses.get(PollKey(target.key, collector))
        if status is None:
            status = Status(target, collector, success=self.remembered(collector, target))
            self.statuses[status.key] = status
        status.target = target
        return status

    def _serve(self, status: Status, families: tuple[Family, ...]) -> None:
        """Replace the platform families of a target, whose values are valid from now on."""
        self.change(status.key, (*families, *status.health()), status.families)
        status.families = tuple(family.info.name for family in families)
        status.valid_from = self.monotonic()
        status.expires = status.valid_from + self.lifetime(status.collector, status.target)

    def _deadline(self, status: Status) -> float:
        """Return when the values of a target expire, by its present interval, but not before `status.expires`."""
        return max(status.expires, status.valid_from + self.lifetime(status.collector, status.target))

    def clear(self, key: PollKey) -> None:
        """Remove the families that a collector serves for a target; `GONE` is the message if there is no other."""
        status = self.statuses.get(key)
        if status is not None and status.families:
            self.change(key, (), status.families)
            status.families = ()
            status.message = status.message or GONE

    def remove(self, target: Target, collectors: Iterable[str]) -> None:
        """Remove all families and the status of a target, for these collectors."""
        self.gone.discard(target.key)
        for key in (PollKey(target.key, name) for name in collectors):
            if (status := self.statuses.pop(key, None)) is not None:
                self.change(key, (), (*status.families, TARGET_UP.name, LAST_SUCCESS.name))

    def expire(self) -> None:
        """Remove the platform families of targets whose last success is too long ago.

        Intervals become longer if there are more targets or if answers lower the rate of calls. Then the next poll of a
        target is later, and its series are valid for longer.
        """
        now = self.monotonic()
        for status in self.statuses.values():
            if not status.families or status.expires > now:
                continue
            if not status.since:
                status.expires = self._deadline(status)
            if status.expires <= now:
                status.since, status.up = status.since or self.wall(), False
                status.message = status.message or TOO_LATE
                self.change(status.key, status.health(), status.families)
                status.families = ()

    def take_changes(self) -> Mapping[PollKey, Update]:
        """Return the changes since the last call, and forget them."""
        changed, self._changed = self._changed, {}
        self.has_changed.clear()
        return changed


def _rendered(key: PollKey, family: Family) -> bytes:
    """Return the sample lines of a target; none if they cannot be rendered."""
    try:
        return render(family)
    except (ValueError, TypeError, AttributeError) as error:
        # A bug in one family must not stop all others from being updated.
        logger().error("family cannot be rendered", family=family.info.name, target=key.target.label, error=str(error))
        return b""
