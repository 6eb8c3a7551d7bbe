"""Keeps what is to be exposed: the families of each target's last successful poll, and when they expire."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.exposition.status_board import Status, StatusBoard
from exporter.metric import Family
from exporter.targets.target import PollKey, Target


@dataclass(slots=True)
class Expiry:
    """When the series of a target go.

    Attributes:
        status: the target's.
        believed: when what is served was polled, on the monotonic clock.
        expires: when its series go if no poll succeeds until then, on the same clock.
        is_final: whether that moment stands whatever becomes of the interval, because a poll has failed since.
    """

    status: Status
    believed: float
    expires: float
    is_final: bool = False


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
    """Returns what changed in the families of the targets, and removes those that have expired.

    A target's families are replaced whole by each successful poll. A failure leaves them until they expire. The
    target's health families come from the status board, with each of its changes.

    Args:
        board: the status of each target; a status is recorded there first.
        monotonic: seconds that never jump.
        lifetime: collector, target → seconds for which a poll may be believed by the intervals that are in force now.

    Attributes:
        is_exposed_whole: whether no cap leaves out any series.
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
        # Of targets that have platform series.
        self._expiries: dict[PollKey, Expiry] = {}
        # Nothing expires before this moment, so that nothing needs to be looked at until then.
        self._earliest = math.inf
        # A target's new platform families; None where only its health has changed.
        self._changed: dict[PollKey, tuple[Family, ...] | None] = {}

    def publish(self, status: Status, families: tuple[Family, ...], lifetime: float) -> None:
        """Replace the platform families of a target.

        Args:
            status: the target's.
            families: all that it now has.
            lifetime: seconds for which they may be believed.
        """
        key = status.key
        self._changed[key] = families
        if not families:
            self._expiries.pop(key, None)
            return
        now = self._monotonic()
        self._expiries[key] = Expiry(status, now, now + lifetime)
        self._earliest = min(self._earliest, now + lifetime)

    def renew(self, status: Status, lifetime: float) -> None:
        """Keep the platform families of a target as those of a new poll.

        Args:
            status: the target's.
            lifetime: seconds for which they may be believed.
        """
        if status.key in self._expiries:
            now = self._monotonic()
            self._expiries[status.key] = Expiry(status, now, now + lifetime)
            self._earliest = min(self._earliest, now + lifetime)
        self._changed.setdefault(status.key, None)

    def keep(self, status: Status, lifetime: float) -> None:
        """Keep the platform families of a target whose poll has failed until they expire.

        Args:
            status: the target's.
            lifetime: seconds for which they may be believed if that is longer than at the last success.
        """
        expiry = self._expiries.get(status.key)
        if expiry is not None and not expiry.is_final:
            expiry.expires = max(expiry.expires, expiry.believed + lifetime)
            expiry.is_final = True
        self._changed.setdefault(status.key, None)

    def clear(self, collector: str, target: Target) -> None:
        """Remove a target's platform families, because the platform says that the target is gone."""
        key = target.polled_by(collector)
        expiry = self._expiries.pop(key, None)
        if expiry is not None:
            self.board.withdrawn(expiry.status)
            self._changed[key] = ()

    def remove(self, target: Target, collector: str | None = None) -> None:
        """Remove everything of a target, its status too; of one collector or of all."""
        for key in self.board.remove(target, collector):
            self._expiries.pop(key, None)
            self._changed[key] = ()

    def expire(self) -> list[Status]:
        """Remove the platform families of targets whose last success is too long ago; returns their statuses.

        Intervals become longer when many targets arrive or the platform slows down. A target whose polls succeed is
        polled that much later, so its series stay for as long as the longer interval allows.
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
        """What changed since the last call; an update without families is a target that is gone."""
        changed, self._changed = self._changed, {}
        return {key: self._update(key, families) for key, families in changed.items()}

    def _update(self, key: PollKey, families: tuple[Family, ...] | None) -> Update:
        status = self.board.find(key)
        if status is None:
            return GONE
        return Update((*(families or ()), *status.health()), whole=families is not None)

    def has_changes(self) -> bool:
        """Whether anything changed since `changes` was last called."""
        return bool(self._changed)
