"""Determines the time of an account's platform from the `Date` headers of its answers."""

from dataclasses import dataclass
from datetime import UTC, datetime

from exporter.clock import Clocks

DAY_SECONDS = 86_400.0
# This number of successive answers that agree is accepted, whatever this machine's clock shows.
ANSWERS_BELIEVED = 3


@dataclass(frozen=True, slots=True)
class _Reading:
    """A time of the platform in unix seconds, and the monotonic second at which it was received."""

    at: float
    read: float

    def is_near(self, at: float, now: float) -> bool:
        """Return whether a time, received at the monotonic second `now`, is within a day of this reading."""
        return abs(at - self.carried(now)) <= DAY_SECONDS

    def carried(self, now: float) -> float:
        """Return the time of this reading, advanced to the monotonic second `now`."""
        return self.at + now - self.read


class PlatformTime:
    """Decides which times of an account's platform are accepted.

    A `Date` is accepted if it is within a day of this machine's clock, or of the last accepted time. Any other is
    accepted when three successive answers agree. So one wrong date, years ahead, cannot end a month or make a day old.

    Args:
        clocks: this machine's clocks; the monotonic one advances the last accepted time.
    """

    def __init__(self, clocks: Clocks) -> None:
        self._wall = clocks.wall
        self._monotonic = clocks.monotonic
        self._believed: _Reading | None = None
        self._doubted: _Reading | None = None
        self._answers = 0

    @property
    def believed(self) -> float | None:
        """The time that was accepted last, in unix seconds; None before the first."""
        return self._believed.at if self._believed is not None else None

    def restore(self, believed: float) -> None:
        """Continue from the time that an earlier process accepted, in unix seconds, unless a newer one is known."""
        if self._believed is None:
            self._believed = _Reading(believed, self._monotonic())

    def read(self, date: datetime | None) -> datetime | None:
        """Check the `Date` of an answer, and return the time to use.

        Args:
            date: the header of an answer with a success status and any body; None without a readable one.

        Returns:
            The date if it is accepted; else the last accepted time, advanced to now. Before the first accepted time:
            the earlier of the date and this machine's clock, because a series that begins too late would lose days;
            None if there is no date.
        """
        now, wall, believed = self._monotonic(), self._wall(), self._believed
        if date is not None and self._is_believed(_Reading(date.timestamp(), now), wall):
            self._believed = _Reading(date.timestamp(), now)
            self._doubted, self._answers = None, 0
            return date
        if believed is not None:
            return datetime.fromtimestamp(believed.carried(now), UTC)
        return None if date is None else min(date, datetime.fromtimestamp(wall, UTC))

    def _is_believed(self, reading: _Reading, wall: float) -> bool:
        if abs(reading.at - wall) <= DAY_SECONDS:
            return True
        if self._believed is not None and self._believed.is_near(reading.at, reading.read):
            return True
        agrees = self._doubted is not None and self._doubted.is_near(reading.at, reading.read)
        self._answers = self._answers + 1 if agrees else 1
        self._doubted = reading
        return self._answers >= ANSWERS_BELIEVED
