"""Makes APScheduler use a monotonic clock, so that changes of this machine's wall clock have no effect on the ticks."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MonotonicTime(tzinfo):
    """A time zone for which `datetime.now` returns monotonic time; APScheduler calls `datetime.now(timezone)`."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic

    def fromutc(self, _dt: datetime, /) -> datetime:
        """Return the time of the monotonic clock, in place of a time of the wall clock."""
        return (_EPOCH + timedelta(seconds=self._monotonic())).replace(tzinfo=self)

    def utcoffset(self, _dt: datetime | None, /) -> timedelta:
        """Return 0."""
        return timedelta(0)

    def dst(self, _dt: datetime | None, /) -> timedelta:
        """Return 0."""
        return timedelta(0)

    def tzname(self, _dt: datetime | None, /) -> str:
        """Return the name of this zone."""
        return "monotonic"


class Every(BaseTrigger):  # type: ignore[misc] # APScheduler has no types
    """A trigger that fires at an interval, and once for several missed intervals.

    APScheduler's interval trigger computes each missed time, which takes too long after the machine slept for long.
    """

    def __init__(self, seconds: float) -> None:
        self._interval = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Return the time of the next tick: an interval after the previous tick, or `now` if that is later."""
        return max((previous_fire_time or now) + self._interval, now)


def scheduler(monotonic: Callable[[], float]) -> AsyncIOScheduler:
    """Return a scheduler that uses a monotonic clock in seconds. A late tick runs; several late ticks run as one."""
    return AsyncIOScheduler(
        timezone=MonotonicTime(monotonic), job_defaults={"misfire_grace_time": None, "coalesce": True}
    )
