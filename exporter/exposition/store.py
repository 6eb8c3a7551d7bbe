"""Keeps the statuses of targets, and sample lines of changed families until the renderer takes the lines."""

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
    "edge_target_up",
    "Whether the last poll of the target by this collector succeeded, and the values have not expired.",
    Kind.GAUGE,
    labels=_HEALTH_LABELS,
)
LAST_SUCCESS = FamilyInfo(
    "edge_target_last_success_timestamp_seconds",
    "When a poll of the target by this collector last succeeded; with a stored state, this may be in an earlier run.",
    Kind.GAUGE,
    "seconds",
    _HEALTH_LABELS,
)
TARGET_LABELS = FamilyInfo(
    "edge_target_labels",
    "1, with the labels that the configuration gives the target (labels, target_labels).",
    Kind.GAUGE,
    labels=("account", "target"),
)
ALERT_THRESHOLD = FamilyInfo(
    "edge_alert_threshold",
    "The threshold that the configuration (thresholds) sets for the target, in place of the rule's threshold.",
    Kind.GAUGE,
    labels=("account", "alert", "target"),
)
HEALTH = (TARGET_UP, LAST_SUCCESS, TARGET_LABELS, ALERT_THRESHOLD)

# The message of a target that no longer exists, as the call of another collector has shown.
GONE = "the platform says that there is no such resource"
# The message of a target whose series have expired without a failure.
TOO_LATE = "no poll has succeeded in time"
# In the order in which lists of targets are sorted. A pending target has no result since the start.
FAILING, PENDING, UP = STATES = ("failing", "pending", "up")
# The value of `Status.left_out` if no series is left out: the statuses share this object, to save memory.
_NONE_LEFT_OUT: Mapping[str, int] = MappingProxyType({})


@dataclass(slots=True)
class Status:
    """The results of the polls of a target by one collector.

    Attributes:
        up: whether the last poll succeeded, and the values of that poll have not expired.
        reason: the `reason` of the error if the last poll failed, else empty.
        message: the error of the last poll, or the reason why there are no series, in words; otherwise empty.
        success: when a poll last succeeded, perhaps in an earlier run, in unix seconds; 0 if unknown.
        polled: when the last poll since the start ended, in unix seconds; 0 if there was none.
        duration: seconds that the last poll took, without the commit of the counters.
        chart: the counts of the last days, oldest first; empty if the last good answer has no days.
        families: the names of the target's present platform families (all but `HEALTH`), exposed or not.
        since: since when polls fail or are too late, in unix seconds; 0 if polls succeed in time.
        valid_from: when the present families were published, on the monotonic clock.
        expires: the earliest time at which the present families expire, on the monotonic clock.
        left_out: family → how many series of the last good answer are left out (`series.max_label_values`).
        is_mismatched: whether the total in the last good answer is not the sum of the answer's days.
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
        """The target and its collector."""
        return PollKey(self.target.key, self.collector)

    @property
    def state(self) -> str:
        """One of `STATES`."""
        if not self.polled:
            return PENDING
        return UP if self.up else FAILING

    @property
    def has_ended(self) -> bool:
        """Whether the target fails and has no families, although a poll once succeeded, perhaps in an earlier run."""
        return self.state == FAILING and self.success > 0 and not self.families

    def health(self) -> tuple[Family, ...]:
        """Return the family `TARGET_UP` of the target and, if a success is known, the family `LAST_SUCCESS`."""
        target = self.target
        labels = tuple(map(label_value, (target.account, self.collector, target.key.label, target.name)))
        up = Family(TARGET_UP, (Sample(labels, float(self.up)),))
        return (up, Family(LAST_SUCCESS, (Sample(labels, self.success),))) if self.success else (up,)


# The name of a changed family → the sample lines of one target; empty if the target has none.
Update = Mapping[str, bytes]


@dataclass(eq=False, repr=False)
class Store:
    """Keeps the statuses, one for a target and a collector, and the changes that `take_changes` returns.

    Attributes:
        wall: returns unix seconds.
        monotonic: returns the seconds of a clock that cannot be set.
        lifetime: collector, target → seconds after which values expire.
        remembered: collector, target → unix seconds of the last stored success; 0 if no success is stored.
        has_changed: set while there are changes that were not taken.
        gone: targets that do not exist: the collector that owns them (`Collector.owns_target`) has got a 404.
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

        The families of the outcome replace the families of the collector's former outcome for the target. `left_out`
        is as in `Status`.
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

        If the outcome has no families, the families of the collector's former outcome for the target stay.
        """
        status = self._ensure_status(collector, outcome.target)
        if not status.since:
            status.since = self.wall()
            # An interval that becomes longer after the failure does not delay the expiry.
            status.expires = self._deadline(status)
        status.up, status.reason, status.message = False, error.reason, str(error)
        status.polled, status.duration = self.wall(), duration
        if outcome.families:
            self._serve(status, outcome.families)
        else:
            self.change(status.key, status.health())

    def change(self, key: PollKey, families: Iterable[Family], former: Iterable[str] = ()) -> None:
        """Set families of a key, which may have no status. Remove families that `former` names and that are not set."""
        changed = self._changed.setdefault(key, {})
        changed.update(dict.fromkeys(former, b""))
        # Rendered now, to save memory: the lines of a DNS zone take 3 KB, the families would take 5 KB.
        changed.update((family.info.name, _try_render(key, family)) for family in families)
        self.has_changed.set()

    def _ensure_status(self, collector: str, target: Target) -> Status:
        status = self.statuses.get(PollKey(target.key, collector))
        if status is None:
            status = Status(target, collector, success=self.remembered(collector, target))
            self.statuses[status.key] = status
        status.target = target
        return status

    def _serve(self, status: Status, families: tuple[Family, ...]) -> None:
        self.change(status.key, (*families, *status.health()), status.families)
        status.families = tuple(family.info.name for family in families)
        status.valid_from = self.monotonic()
        status.expires = status.valid_from + self.lifetime(status.collector, status.target)

    def _deadline(self, status: Status) -> float:
        # An interval that has become shorter does not make the values expire earlier.
        return max(status.expires, status.valid_from + self.lifetime(status.collector, status.target))

    def clear(self, key: PollKey) -> None:
        """Remove the platform families of a key. If there were any, an empty message becomes `GONE`."""
        status = self.statuses.get(key)
        if status is not None and status.families:
            self.change(key, (), status.families)
            status.families = ()
            status.message = status.message or GONE

    def remove(self, target: Target, collectors: Iterable[str]) -> None:
        """Remove a target's statuses for these collectors, with the families; remove the target from `gone`."""
        self.gone.discard(target.key)
        for key in (PollKey(target.key, name) for name in collectors):
            if (status := self.statuses.pop(key, None)) is not None:
                self.change(key, (), (*status.families, TARGET_UP.name, LAST_SUCCESS.name))

    def expire(self) -> None:
        """Remove the platform families whose values have expired; their targets are not up any more."""
        now = self.monotonic()
        for status in self.statuses.values():
            if not status.families or status.expires > now:
                continue
            if not status.since:
                # The interval may have become longer since the poll. If polls fail, `fail` has set the final deadline.
                status.expires = self._deadline(status)
            if status.expires <= now:
                status.up = False
                status.since = status.since or self.wall()
                status.message = status.message or TOO_LATE
                self.change(status.key, status.health(), status.families)
                status.families = ()

    def take_changes(self) -> Mapping[PollKey, Update]:
        """Return the changes since the last call, and delete them from the store."""
        changed, self._changed = self._changed, {}
        self.has_changed.clear()
        return changed


def _try_render(key: PollKey, family: Family) -> bytes:
    try:
        return render(family)
    except (ValueError, TypeError, AttributeError) as error:
        # A bug in one family must not prevent the update of other families.
        logger().error("family cannot be rendered", family=family.info.name, target=key.target.label, error=str(error))
        return b""
