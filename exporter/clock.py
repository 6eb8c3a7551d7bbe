"""This machine's clocks in one value, so that tests can replace them, and the time of an account's platform."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

DAY_SECONDS = 86_400.0
# So many successive answers that agree are accepted, even if this machine's clock shows another time.
ANSWERS_BELIEVED = 3


def boot_seconds() -> float:
    """Return the seconds since the machine started: a clock that is never set, and goes on while it is suspended."""
    # Only Linux has it under this name; elsewhere a suspension is not counted.
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks that a part of the program uses; by default the machine's own.

    Attributes:
        wall: unix seconds; they jump when the machine's clock is set.
        monotonic: seconds that go on evenly, also while the machine is suspended.
        sleep: waits for a number of seconds.
    """

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = boot_seconds
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def utc(self) -> datetime:
        """Return the wall clock as a date."""
        return datetime.fromtimestamp(self.wall(), UTC)


SYSTEM = Clocks()


class PlatformTime:
    """Decides which times of an account's platform are accepted.

    A `Date` is accepted if it is within a day of this machine's clock, or of the last accepted time. Any other is
    accepted when three successive answers agree. So one wrong date, years ahead, cannot end a month or make a day old.

    Args:
        clocks: this machine's clocks; the monotonic one advances the last accepted time.

    Attributes:
        believed: the time that was accepted last, in unix seconds; None before the first.
        offset: the last date that was read minus this machine's wall clock, in seconds; None before the first.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.believed: float | None = None
        self.offset: float | None = None
        self._wall = clocks.wall
        self._monotonic = clocks.monotonic
        # The last accepted time minus the monotonic time of its receipt.
        self._accepted: float | None = None
        # The last time that was not accepted, likewise, and how many successive answers agree with it.
        self._doubted: float | None = None
        self._agreeing = 0

    def restore(self, believed: float) -> None:
        """Continue from the time that an earlier process accepted, in unix seconds, unless a newer one is known."""
        if self.believed is None:
            self.believed, self._accepted = believed, believed - self._monotonic()

    def read(self, date: datetime | None) -> datetime | None:
        """Check the `Date` of an answer, and return the time to use.

        Args:
            date: the header of an answer with a success status and any body; None without a readable one.

        Returns:
            The date if it is accepted; else the last accepted time, advanced to now. Before the first accepted time:
            the earlier of the date and this machine's clock, because a series that begins too late would lose days;
            None if there is no date.
        """
        now, wall = self._monotonic(), self._wall()
        at = None if date is None else date.timestamp()
        self.offset = self.offset if at is None else at - wall
        if at is not None:
            reading = at - now
            is_plausible = abs(at - wall) <= DAY_SECONDS or _are_near(reading, self._accepted)
            if not is_plausible:
                self._doubt(reading)
            if is_plausible or self._agreeing >= ANSWERS_BELIEVED:
                self.believed, self._accepted = at, reading
                self._doubted, self._agreeing = None, 0
                return date
        if self._accepted is not None:
            return datetime.fromtimestamp(self._accepted + now, UTC)
        return None if date is None else min(date, datetime.fromtimestamp(wall, UTC))

    def _doubt(self, reading: float) -> None:
        """Count the successive answers that agree with a time that is not accepted."""
        self._agreeing = self._agreeing + 1 if _are_near(reading, self._doubted) else 1
        self._doubted = reading


def _are_near(reading: float, other: float | None) -> bool:
    return other is not None and abs(reading - other) <= DAY_SECONDS
