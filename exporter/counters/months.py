"""The rules for an exact counter over a month-to-date value."""

import math
from datetime import UTC, date, datetime

import msgspec
from msgspec.structs import replace

from exporter.counters.days import PollTime
from exporter.metric import MonthToDate

DAY_SECONDS = 86_400.0
# A fall to below this share of the highest value is deep. In a new month, a deep fall is a reset. A deep fall in the
# same month, or a smaller fall on the first day of a month or after a day without a poll, is a reset only if the next
# poll's value is below the last accepted value, too. Other falls are corrections.
RESET_SHARE = 0.5
# A platform may reset a value up to this many seconds after a month has begun. If a value has risen during a day
# without a poll, the risen value is taken for that of the new month only after these seconds.
LATE_RESET_SECONDS = 6 * 3600.0


class MonthSeries(msgspec.Struct, array_like=True, frozen=True, tag="m"):
    """A counter over a month-to-date value.

    If it is uncertain whether a fall is a reset, the next poll decides. For a day after a reset, a value of at least
    `former` may come from before the reset. Such values are accepted when polls have found them for a day.

    Attributes:
        month: the month of the last accepted value, as a number (`month_of`).
        platform_time: `PollTime.now` of the last poll, in unix seconds.
        baseline: the part of `high` that is not counted.
        high: the highest accepted value since the last reset, or since the first poll.
        last: the last accepted value.
        closed: the counter's value at the last reset; 0 without a reset.
        wall_time: `PollTime.wall` of the last poll.
        has_fallen: whether the last poll found a fall that may be a reset; then the next poll decides.
        former: the last accepted value before the last reset by a fall. None before the first, and None again after a
            value of at least `former` is accepted.
        guard_seconds: for how many seconds after the last poll a value of at least `former` is not accepted.
        is_held: whether the last poll had a value of at least `former` that was not accepted.
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
            # Python has no dates after the year 9999.
            return date.max.toordinal() + 1
        return date(year, months_before + 1, 1).toordinal()

    @property
    def value(self) -> float:
        """The counter's value."""
        return math.fsum((self.closed, self.high, -self.baseline))

    def count(self, source: MonthToDate, poll: PollTime) -> tuple["MonthSeries", int]:
        """Count the month-to-date value of a poll.

        Returns:
            The series after the poll, and 1 if a fall is taken for a correction and not for a reset; else 0.
        """
        platform_time = poll.now.timestamp()
        # Seconds since the last poll: the smaller of the platform's and this machine's, because one clock may jump.
        silence = max(0.0, min(platform_time - self.platform_time, poll.wall - self.wall_time))
        guard_seconds = max(0.0, self.guard_seconds - silence)
        series = replace(self, platform_time=platform_time, wall_time=poll.wall, guard_seconds=guard_seconds)
        if source.value < self.last:
            return _fall(series, float(source.value), poll.now, silence)
        return _rise(series, float(source.value), poll.now, silence)


def _fall(series: MonthSeries, value: float, now: datetime, silence: float) -> tuple[MonthSeries, int]:
    """Count a value below `last`: a reset, a correction, or a fall that the next poll shows to be one or the other."""
    month = month_of(now)
    is_deep = value < series.high * RESET_SHARE
    is_second_fall, is_new_month = series.has_fallen, month != series.month
    if is_second_fall or (is_deep and is_new_month):
        # For a day, an answer from before the reset may still come.
        return replace(_reset(series, value, month), former=series.last, guard_seconds=DAY_SECONDS), 0
    # The fall may be a late reset, a reset in another time zone, or a wrong answer: the next poll decides.
    if is_deep or silence > DAY_SECONDS or _seconds_into_month(now) < DAY_SECONDS:
        return replace(series, has_fallen=True, is_held=False), 0
    return replace(series, month=month, last=value, is_held=False), 1


def _rise(series: MonthSeries, value: float, now: datetime, silence: float) -> tuple[MonthSeries, int]:
    """Count a value of at least `last`. If the poll before found a fall, the fall is taken for a correction."""
    month = month_of(now)
    corrections = 1 if series.has_fallen else 0
    may_be_former = series.former is not None and value >= series.former
    if may_be_former and series.guard_seconds > 0:
        # The value may come from before the last reset. It is accepted when polls have found such values for a day.
        guard_seconds = series.guard_seconds if series.is_held else DAY_SECONDS
        return replace(series, has_fallen=False, is_held=True, guard_seconds=guard_seconds), corrections
    former = None if may_be_former else series.former
    # An equal value may still be that of the month before.
    if value > series.last and _may_have_missed_reset(series, now, silence):
        series = _reset(series, value, month)
    high = max(series.high, value)
    series = replace(series, month=month, high=high, last=value, has_fallen=False, former=former, is_held=False)
    return series, corrections


def _may_have_missed_reset(series: MonthSeries, now: datetime, silence: float) -> bool:
    """Return whether a day without polls may hide a reset: the month is new, and the time for a late reset is over."""
    is_new_month = month_of(now) != series.month
    return is_new_month and silence > DAY_SECONDS and _seconds_into_month(now) > LATE_RESET_SECONDS


def _reset(series: MonthSeries, value: float, month: int) -> MonthSeries:
    # `closed` is the value as it was served. A sum of other terms could be rounded to less, and look like a reset.
    return replace(
        series, month=month, baseline=0.0, high=value, last=value, closed=series.value, has_fallen=False, is_held=False
    )


def month_of(moment: datetime) -> int:
    """Return the number of the UTC month of a time. Successive months have successive numbers."""
    utc = moment.astimezone(UTC)
    return utc.year * 12 + utc.month


def begin_month(source: MonthToDate, poll: PollTime, full_from: int | None) -> MonthSeries:
    """Return a new series that has counted its first poll.

    If the poll is in the month of the day `full_from` (an ordinal) or later, the value is counted in full. If the poll
    is in an earlier month, or `full_from` is None, the value is the baseline, so that the counter is 0.
    """
    value, month = float(source.value), month_of(poll.now)
    is_full = full_from is not None and month >= month_of(datetime.fromordinal(full_from).replace(tzinfo=UTC))
    baseline = 0.0 if is_full else value
    return MonthSeries(month, poll.now.timestamp(), baseline, high=value, last=value, wall_time=poll.wall)


def _seconds_into_month(moment: datetime) -> float:
    utc = moment.astimezone(UTC)
    return (utc - utc.replace(day=1, hour=0, minute=0, second=0, microsecond=0)).total_seconds()
