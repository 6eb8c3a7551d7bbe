"""The rules for an exact counter over a month-to-date value."""

import math
from datetime import UTC, date, datetime

import msgspec
from msgspec.structs import replace

from exporter.counters.days import PollTime
from exporter.metric import MonthToDate

DAY_SECONDS = 86_400.0
# A fall to below this share of the highest value may be a reset on any day. A smaller fall may be one only on the first
# day of a month, after a day without a poll, or at the poll after a fall that may be one. Other falls are corrections.
RESET_SHARE = 0.5
# Some platforms reset the month late. After a long time without a poll, a higher value belongs to the new month only if
# this much of the month has passed, because late platforms have reset by then.
LATE_RESET_SECONDS = 6 * 3600.0


class MonthSeries(msgspec.Struct, array_like=True, frozen=True, tag="m"):
    """A counter over a value that starts again with each UTC month.

    A value is either accepted at once, or ignored until a later poll confirms it: a fall that may be a reset, and,
    after a reset, a value that may come from before it.

    Attributes:
        month: the month of the last accepted value, as `month_of` numbers it.
        platform_time: `PollTime.now` of the last poll, in unix seconds.
        baseline: the part of `high` that is not counted.
        high: the highest accepted value since the last reset.
        last: the last accepted value.
        closed: what was counted before the last reset.
        wall_time: `PollTime.wall` of the last poll.
        has_fallen: whether the last poll found a fall of which the next poll decides whether it is a reset.
        former: the last accepted value before the last fall that was a reset, until a value that is not below
            it is accepted; None after that, and before such a fall.
        guard_seconds: for how many seconds from the last poll on a value of at least `former` is not accepted.
        is_held: whether the last value was at least `former` and is not accepted yet.
    """

    month: int
    platform_time: float
    baseline: float
    high: float
    last: float
    closed: float = 0.0
    wall_time: float = 0.0
    has_fallen: bool = False
    former: float | None = None
    guard_seconds: float = 0.0
    is_held: bool = False

    @property
    def next_day(self) -> int:
        """The ordinal of the first day of the month after `month`."""
        next_month = self.month + 1
        # January of a year has the number 12 * year + 1.
        year, months_before = divmod(next_month - 1, 12)
        if year > date.max.year:
            # The month after the last one that has dates.
            return date.max.toordinal() + 1
        return date(year, months_before + 1, 1).toordinal()

    @property
    def value(self) -> float:
        """The counter."""
        return math.fsum((self.closed, self.high, -self.baseline))

    def count(self, source: MonthToDate, poll: PollTime) -> tuple["MonthSeries", int]:
        """Count the month-to-date value of a poll.

        Returns:
            The series after the poll, and 1 if a fall is taken for a correction and not for a reset; else 0.
        """
        platform_time = poll.now.timestamp()
        # Seconds since the last poll by the platform's clock or by this machine's: the smaller, because one may jump.
        silence = max(0.0, min(platform_time - self.platform_time, poll.wall - self.wall_time))
        guard_seconds = max(0.0, self.guard_seconds - silence)
        series = replace(self, platform_time=platform_time, wall_time=poll.wall, guard_seconds=guard_seconds)
        if source.value < self.last:
            return _fall(series, float(source.value), poll.now, silence)
        return _rise(series, float(source.value), poll.now, silence)


def _fall(series: MonthSeries, value: float, now: datetime, silence: float) -> tuple[MonthSeries, int]:
    """Count a value below `last`: it is a reset or a correction, or the next poll decides which of them."""
    month = month_of(now)
    is_deep = value < series.high * RESET_SHARE
    if series.has_fallen or (is_deep and month != series.month):
        # For a day, an answer from before the reset may still come.
        return replace(_reset(series, value, month), former=series.last, guard_seconds=DAY_SECONDS), 0
    # It may be a reset that is late or in another time zone, or a wrong answer: the next poll decides.
    if is_deep or silence > DAY_SECONDS or _seconds_into_month(now) < DAY_SECONDS:
        return replace(series, has_fallen=True, is_held=False), 0
    return replace(series, month=month, last=value, is_held=False), 1


def _rise(series: MonthSeries, value: float, now: datetime, silence: float) -> tuple[MonthSeries, int]:
    """Count a value that is not below the last accepted one. A fall at the poll before is taken for a correction."""
    month = month_of(now)
    corrections = 1 if series.has_fallen else 0
    may_be_former = series.former is not None and value >= series.former
    if may_be_former and series.guard_seconds > 0:
        # The value may come from before the last reset. If it stands for a day, it is accepted.
        guard_seconds = series.guard_seconds if series.is_held else DAY_SECONDS
        return replace(series, has_fallen=False, is_held=True, guard_seconds=guard_seconds), corrections
    former = None if may_be_former else series.former
    # If the exporter did not poll when the month began, the month's value may be above the former month's by chance.
    is_new_month = month != series.month and silence > DAY_SECONDS and _seconds_into_month(now) > LATE_RESET_SECONDS
    if is_new_month and value > series.last:
        series = _reset(series, value, month)
    high = max(series.high, value)
    series = replace(series, month=month, high=high, last=value, has_fallen=False, former=former, is_held=False)
    return series, corrections


def _reset(series: MonthSeries, value: float, month: int) -> MonthSeries:
    # Use the served sum: rounding it again could make it smaller, which looks like a reset of the counter.
    return replace(
        series, month=month, baseline=0.0, high=value, last=value, closed=series.value, has_fallen=False, is_held=False
    )


def month_of(moment: datetime) -> int:
    """Return a number for the UTC month of a time; it grows by 1 each month."""
    utc = moment.astimezone(UTC)
    return utc.year * 12 + utc.month


def begin_month(source: MonthToDate, poll: PollTime, full_from: int | None) -> MonthSeries:
    """Return a series after its first poll.

    `full_from` is the ordinal of a day. From the month of that day on, the value is counted in full. In an earlier
    month, or if `full_from` is None, the value is the baseline, so that the counter is 0.
    """
    value, month = float(source.value), month_of(poll.now)
    is_full = full_from is not None and month >= month_of(datetime.fromordinal(full_from).replace(tzinfo=UTC))
    baseline = 0.0 if is_full else value
    return MonthSeries(month, poll.now.timestamp(), baseline, high=value, last=value, wall_time=poll.wall)


def _seconds_into_month(moment: datetime) -> float:
    utc = moment.astimezone(UTC)
    return (utc - utc.replace(day=1, hour=0, minute=0, second=0, microsecond=0)).total_seconds()
