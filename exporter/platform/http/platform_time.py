"""What time it is on an account's platform, from the `Date` headers of its answers."""

from dataclasses import dataclass
from datetime import UTC, datetime

from exporter.clock import Clocks

DAY_SECONDS = 86_400.0
# So many successive answers that agree with each other are believed, whatever our own clock says.
ANSWERS_BELIEVED = 3


@dataclass(frozen=True, slots=True)
class _Reading:
    """A time of the platform, in unix seconds, and the monotonic second at which it was read."""

    at: float
    read: float

    def is_near(self, at: float, now: float) -> bool:
        """Whether a time, read at the monotonic second `now`, is within a day of this one carried on."""
        return abs(at - self.carried(now)) <= DAY_SECONDS

    def carried(self, now: float) -> float:
        """What this reading has become at the monotonic second `now`."""
        return self.at + now - self.read


class PlatformTime:
    """Decides which time of an account's platform is believed.

    A `Date` is believed that is within a day of our own clock, or of the last one believed. Any other is believed when
    three successive answers agree: one answer dated years ahead ends no month and ages no day.

    Args:
        clocks: our own; the monotonic one carries on what was believed.
    """

    def __init__(self, clocks: Clocks) -> None:
        self._wall = clocks.wall
        self._monotonic = clocks.monotonic
        self._believed: _Reading | None = None
        self._doubted: _Reading | None = None
        self._answers = 0

    @property
    def believed(self) -> float | None:
        """The time that was believed last, in unix seconds; None before the first."""
        return self._believed.at if self._believed is not None else None

    def restore(self, believed: float) -> None:
        """Go on from what an earlier process believed, in unix seconds, unless there is something newer."""
        if self._believed is None:
            self._believed = _Reading(believed, self._monotonic())

    def read(self, date: datetime | None) -> datetime | None:
        """Take in the `Date` of an answer, and return the time to go by.

        Args:
            date: the header of an answer whose status is a success, whatever its body holds; None where there is no
                readable one.

        Returns:
            The date where it is believed; else the last one believed, carried on. Before one is believed: the earlier
            of the date and our own clock, as days and months of which a series is younger than it is could be lost;
            None where there is no date either.
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
