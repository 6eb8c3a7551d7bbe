"""Makes APScheduler run ticks by a monotonic clock, so that changes of this machine's wall clock have no effect."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MonotonicTime(tzinfo):
    """A time zone in which `datetime.now` returns a monotonic clock: the scheduler asks for the time in its own zone.

    Args:
        monotonic: a clock in seconds that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic

    def fromutc(self, _dt: datetime, /) -> datetime:
        """Return the monotonic clock as a date, in place of the wall clock's date."""
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
    """Fires at an interval, and once for an interval or more that has passed without it.

    APScheduler's own trigger computes each missed moment, which after a jump of years takes for ever.

    Args:
        seconds: the interval.
    """

    def __init__(self, seconds: float) -> None:
        self._interval = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Return the next moment, which is never before `now`."""
        return max((previous_fire_time or now) + self._interval, now)


def scheduler(monotonic: Callable[[], float]) -> AsyncIOScheduler:
    """Return a scheduler on the running event loop, by a monotonic clock; a late tick is run, not skipped."""
    return AsyncIOScheduler(
        timezone=MonotonicTime(monotonic), job_defaults={"misfire_grace_time": None, "coalesce": True}
    )
