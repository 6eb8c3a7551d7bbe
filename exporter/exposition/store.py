"""Stores the families of each target's last successful poll, and when they expire."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.exposition.status_board import Status, StatusBoard
from exporter.metric import Family
from exporter.targets.target import PollKey, Target


@dataclass(slots=True)
class Expiry:
    """When the series of a target expire.

    Attributes:
        status: the status of the target.
        believed: when the served values were polled, on the monotonic clock.
        expires: when the series are removed if no poll succeeds until then, on the same clock.
        is_final: whether a poll has failed since; a longer interval then no longer moves `expires`.
    """

    status: Status
    believed: float
    expires: float
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """The changes of a target.

    Attributes:
        families: the new families.
        whole: whether these replace all families of the target; otherwise its other families are kept.
    """

    families: tuple[Family, ...]
    whole: bool = True


GONE = Update(())


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
        # For targets that have platform series.
        self._expiries: dict[PollKey, Expiry] = {}
        # Nothing expires before this time, so `expire` has nothing to do until then.
        self._earliest = math.inf
        # The new platform families of a target; None if only its health has changed.
        self._changed: dict[PollKey, tuple[Family, ...] | None] = {}

    def publish(self, status: Status, families: tuple[Family, ...], lifetime: float) -> None:
        """Replace all platform families of a target by these, which are valid for `lifetime` seconds."""
        self._changed[status.key] = families
        if families:
            self._believe(status, lifetime)
        else:
            self._expiries.pop(status.key, None)

    def _believe(self, status: Status, lifetime: float) -> None:
        now = self._monotonic()
        self._expiries[status.key] = Expiry(status, now, now + lifetime)
        self._earliest = min(self._earliest, now + lifetime)

    def unchanged(self, status: Status, lifetime: float, *, duration: float) -> None:
        """Keep the platform families of a target after a poll with the same answer, which took `duration` seconds.

        They are valid for `lifetime` seconds from now on.
        """
        self.board.unchanged(status, duration=duration)
        if status.key in self._expiries:
            self._believe(status, lifetime)
        self._changed.setdefault(status.key, None)

    def keep(self, status: Status, lifetime: float) -> None:
        """Keep the platform families of a target after a failed poll, until they expire.

        They are valid for `lifetime` seconds after the last success, if that is longer than before.
        """
        expiry = self._expiries.get(status.key)
        if expiry is not None and not expiry.is_final:
            expiry.expires = max(expiry.expires, expiry.believed + lifetime)
            expiry.is_final = True
        self._changed.setdefault(status.key, None)

    def clear(self, collector: str, target: Target) -> None:
        """Remove the platform families of a target that no longer exists on the platform."""
        key = target.polled_by(collector)
        expiry = self._expiries.pop(key, None)
        if expiry is not None:
            self.board.withdrawn(expiry.status)
            self._changed[key] = ()

    def remove(self, target: Target, collector: str | None = None) -> None:
        """Remove all families and the status of a target, for one collector or for all."""
        for key in self.board.remove(target, collector):
            self._expiries.pop(key, None)
            self._changed[key] = ()

    def expire(self) -> list[Status]:
        """Remove the platform families of targets whose last success is too long ago; returns their statuses.

        Intervals become longer if there are more targets or the platform becomes slower. Then the next poll of a target
        is later, and its series are valid for longer.
        """
        now = self._monotonic()
        if now < self._earliest:
            return []
        for expiry in self._expiries.values():
            if expiry.expires <= now and not expiry.is_final:
                lifetime = self._lifetime(expiry.status.collector, expiry.status.target)
                expiry.expires = max(expiry.expires, expiry.believed + lifetime)
        late = [expiry.status for expiry in self._expiries.values() if expiry.expires <= now]
        for status in late:
            del self._expiries[status.key]
            self.board.expired(status)
            self._changed[status.key] = ()
        self._earliest = min((expiry.expires for expiry in self._expiries.values()), default=math.inf)
        return late

    def changes(self) -> Mapping[PollKey, Update]:
        """Return the changes since the last call; an update without families removes a target."""
        changed, self._changed = self._changed, {}
        changes = {}
        for key, families in changed.items():
            status = self.board.find(key)
            health = () if status is None else status.health()
            changes[key] = Update((*(families or ()), *health), whole=families is not None) if health else GONE
        return changes
