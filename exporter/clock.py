"""The clocks of this machine, in one value that tests replace, and the time of an account's platform."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

DAY_SECONDS = 86_400.0
# After this many successive answers that agree on a time, it is accepted even if this machine's clock differs.
ANSWERS_BELIEVED = 3


def boot_seconds() -> float:
    """Return the seconds since the machine started, including the time while it was suspended."""
    # Only Linux has this clock under this name; elsewhere, the time of a suspension is not included.
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
    """The time of an account's platform, from the `Date` headers of its answers.

    A date is accepted if it is within a day of this machine's clock, or of the last accepted date, advanced to now. Any
    other date is accepted when three successive answers agree on it. So one wrong date, years ahead, does not start a
    new month or remove days from the counters.

    Args:
        clocks: this machine's clocks; the monotonic one advances the last accepted date.

    Attributes:
        believed: the last accepted date, in unix seconds; None before the first.
        offset: the last date that was read minus this machine's wall clock, in seconds; None before the first.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.believed: float | None = None
        self.offset: float | None = None
        self._wall = clocks.wall
        self._monotonic = clocks.monotonic
        # The last accepted date minus the monotonic time of its receipt.
        self._accepted: float | None = None
        # The same for the last date that was not accepted, and how many successive answers agree on it.
        self._doubted: float | None = None
        self._agreeing = 0

    def restore(self, believed: float) -> None:
        """Continue from the date (unix seconds) that an earlier process accepted, unless one is accepted already."""
        if self.believed is None:
            self.believed, self._accepted = believed, believed - self._monotonic()

    def now(self) -> datetime | None:
        """Return the last accepted date, advanced to now; None before the first."""
        return None if self._accepted is None else datetime.fromtimestamp(self._accepted + self._monotonic(), UTC)

    def read(self, date: datetime) -> datetime:
        """Take in the `Date` of an answer with a success status, and return the platform's time.

        Returns:
            The date if it is accepted; else the last accepted date, advanced to now. Before the first accepted date:
            the earlier of the date and this machine's clock, because a series that begins too late would lose days.
        """
        at = date.timestamp()
        wall = self._wall()
        self.offset = at - wall
        reading = at - self._monotonic()
        is_plausible = abs(at - wall) <= DAY_SECONDS or _are_near(reading, self._accepted)
        if not is_plausible:
            self._count_agreeing(reading)
        if is_plausible or self._agreeing >= ANSWERS_BELIEVED:
            self.believed, self._accepted = at, reading
            self._doubted, self._agreeing = None, 0
            return date
        return self.now() or min(date, datetime.fromtimestamp(wall, UTC))

    def _count_agreeing(self, reading: float) -> None:
        """Count how many successive answers, with this one, have implausible dates that agree with each other."""
        self._agreeing = self._agreeing + 1 if _are_near(reading, self._doubted) else 1
        self._doubted = reading


def _are_near(reading: float, other: float | None) -> bool:
    return other is not None and abs(reading - other) <= DAY_SECONDS
