"""Makes APScheduler use a monotonic clock, so that changes of this machine's wall clock have no effect on the ticks."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MonotonicTime(tzinfo):
    """A time zone in which `datetime.now` shows a monotonic clock; APScheduler reads the time in its own time zone."""

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
    """Fires at an interval. If some intervals were missed, it fires once for all of them.

    APScheduler's own trigger computes each missed time, which takes too long after a long suspension of the machine.
    """

    def __init__(self, seconds: float) -> None:
        self._interval = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Return the next time, which is never before `now`."""
        return max((previous_fire_time or now) + self._interval, now)


def scheduler(monotonic: Callable[[], float]) -> AsyncIOScheduler:
    """Return a scheduler that uses a monotonic clock in seconds. A late tick still runs; of several, only one does."""
    return AsyncIOScheduler(
        timezone=MonotonicTime(monotonic), job_defaults={"misfire_grace_time": None, "coalesce": True}
    )
