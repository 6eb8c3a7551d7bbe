"""The clocks of this machine, in one object that tests replace, and the time of a platform."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

DAY_SECONDS = 86_400.0
# The beginning of the last day for which Python has dates, in unix seconds.
_LAST_DAY = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
# How many successive answers must agree on an implausible date before the date is accepted.
AGREEING_ANSWERS_NEEDED = 3


def boot_seconds() -> float:
    """Return monotonic seconds; on Linux, they include the time while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks that a part of the program uses; by default the machine's own.

    Attributes:
        wall: returns the unix time in seconds, which jumps when the machine's clock is set.
        monotonic: returns seconds that go on evenly; on Linux, also while the machine is suspended.
    """

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = boot_seconds
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def utc(self) -> datetime:
        """Return the time of the wall clock, in UTC."""
        return datetime.fromtimestamp(self.wall(), UTC)


SYSTEM = Clocks()


class PlatformTime:
    """The time of a platform, from the `Date` headers of its answers.

    A date is plausible if it differs by at most a day from this machine's clock, or from the last accepted date plus
    the time since then. Plausible dates are accepted. An implausible date is accepted when three successive answers
    agree on it, to within a day. So a single date that is years ahead does not start a new month or remove days from
    the counters.

    Attributes:
        accepted_date: the last accepted or restored date, in unix seconds; None before the first.
        offset: the last date, accepted or not, minus this machine's wall clock, in seconds; None before the first.
    """

    def __init__(self, clocks: Clocks) -> None:
        self.accepted_date: float | None = None
        self.offset: float | None = None
        self._clocks = clocks
        # The last accepted or restored date, and the last implausible one: each minus the monotonic time at arrival.
        self._accepted_minus_monotonic: float | None = None
        self._doubted_minus_monotonic: float | None = None
        # The number of successive answers that agree on the implausible date.
        self._agreeing_answers = 0

    def restore(self, accepted_date: float) -> None:
        """Continue from a stored `accepted_date` (unix seconds), unless there is one already."""
        if self.accepted_date is None:
            self.accepted_date = accepted_date
            self._accepted_minus_monotonic = accepted_date - self._clocks.monotonic()

    def now(self) -> datetime | None:
        """Return the last accepted or restored date plus the time since its arrival; None before the first."""
        if self._accepted_minus_monotonic is None:
            return None
        unix_seconds = self._accepted_minus_monotonic + self._clocks.monotonic()
        return datetime.fromtimestamp(min(unix_seconds, _LAST_DAY), UTC)

    def update(self, date: datetime) -> datetime:
        """Update the time with the `Date` of an answer, and return the platform's time.

        Returns:
            The date if it is accepted, otherwise `now()`. If `now()` is None, the earlier of the date and this
            machine's time: with too late a time, a new series would leave out days.
        """
        unix_seconds = date.timestamp()
        self.offset = unix_seconds - self._clocks.wall()
        minus_monotonic = unix_seconds - self._clocks.monotonic()
        is_plausible = abs(self.offset) <= DAY_SECONDS or _are_near(minus_monotonic, self._accepted_minus_monotonic)
        if not is_plausible:
            self._count_agreeing(minus_monotonic)
        if is_plausible or self._agreeing_answers >= AGREEING_ANSWERS_NEEDED:
            self.accepted_date = unix_seconds
            self._accepted_minus_monotonic = minus_monotonic
            self._agreeing_answers = 0
            return date
        return self.now() or min(date, self._clocks.utc())

    def _count_agreeing(self, minus_monotonic: float) -> None:
        """Count successive implausible dates that agree. If a date disagrees with the one before it, the count is 1."""
        agrees = _are_near(minus_monotonic, self._doubted_minus_monotonic)
        self._agreeing_answers = self._agreeing_answers + 1 if agrees else 1
        self._doubted_minus_monotonic = minus_monotonic


def _are_near(seconds: float, other_seconds: float | None) -> bool:
    return other_seconds is not None and abs(seconds - other_seconds) <= DAY_SECONDS
