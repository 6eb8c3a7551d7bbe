"""The rules for an exact counter over a month-to-date value."""

import math
from datetime import UTC, date, datetime

import msgspec

from exporter.counters.days import PollTime
from exporter.metric import MonthToDate

DAY_SECONDS = 86_400.0
# A fall below this share of the highest value is a reset; a smaller fall is a correction.
RESET_SHARE = 0.5
# Some platforms reset the month late. After a long time without a poll, a higher value belongs to the new month only if
# this much of the month has passed, because late platforms have reset by then.
LATE_RESET_SECONDS = 6 * 3600.0


class MonthSeries(msgspec.Struct, array_like=True, tag="m"):
    """A counter over a value that starts again with each UTC month.

    A value is either accepted at once or ignored until a later poll confirms it, so that one wrong answer counts
    nothing.

    Attributes:
        month: year * 12 + month of the last accepted value.
        polled: the platform's unix seconds at the last poll.
        baseline: the part of the current month's value that is not counted.
        high: the highest value of the current month.
        last: the last accepted value.
        closed: the sum counted for earlier months.
        seen: unix seconds of this machine's clock at the last poll.
        has_fallen: whether the last value was below `last`, so that the next poll decides whether that was a reset.
        former: the last value before the last reset, while an outdated answer may still come; None afterwards.
        guard: seconds for which a value of at least `former` is not accepted.
        is_held: whether the last value was at least `former` and is not accepted yet.
    """

    month: int
    polled: float
    baseline: float
    high: float
    last: float
    closed: float = 0.0
    seen: float = 0.0
    has_fallen: bool = False
    former: float | None = None
    guard: float = 0.0
    is_held: bool = False

    @property
    def following(self) -> int:
        """The first day of the month after the one that it has counted."""
        year, month = divmod(self.month, 12)
        return date(min(year, date.max.year), month + 1, 1).toordinal()

    @property
    def value(self) -> float:
        """The counter."""
        return math.fsum((self.closed, self.high, -self.baseline))

    def count(self, source: MonthToDate, poll: PollTime) -> bool:
        """Update the counter from the month-to-date value of a poll.

        Returns:
            Whether the value was corrected: it fell, and this was not a reset.
        """
        value, month, age = float(source.value), month_of(poll.now), _age(poll.now)
        # The fewer seconds of two clocks: one may jump.
        silence = max(0.0, min(poll.now.timestamp() - self.polled, poll.wall - self.seen))
        self.polled, self.seen = poll.now.timestamp(), poll.wall
        self.guard = max(0.0, self.guard - silence)
        if value < self.last:
            return self._fall(value, month, silence=silence, age=age)
        # A fall that this poll does not confirm was a wrong answer.
        is_correction, self.has_fallen = self.has_fallen, False
        self._hold(value)
        if self.is_held:
            return is_correction
        if month != self.month and value > self.last and silence > DAY_SECONDS and age > LATE_RESET_SECONDS:
            # The new month's value is above the old one's by chance: the exporter did not poll at the beginning of the
            # month.
            self._reset(value)
        self.high = max(self.high, value)
        self.month, self.last = month, value
        return is_correction

    def _fall(self, value: float, month: int, *, silence: float, age: float) -> bool:
        self.is_held = False
        is_deep = value < self.high * RESET_SHARE
        if self.has_fallen or (is_deep and month != self.month):
            self.former, self.guard = self.last, DAY_SECONDS
            self._reset(value)
        elif is_deep or silence > DAY_SECONDS or age < DAY_SECONDS:
            # The next poll decides: some platforms reset late or in another time zone, and the answer may be wrong.
            self.has_fallen = True
            return False
        else:
            self.month, self.last = month, value
            return True
        self.month = month
        return False

    def _hold(self, value: float) -> None:
        """Hold a value that may be an outdated one, from before the last reset; after a day, it is accepted."""
        may_be_former = self.former is not None and value >= self.former
        if may_be_former and self.guard > 0:
            self.guard = self.guard if self.is_held else DAY_SECONDS
            self.is_held = True
        else:
            self.is_held = False
            self.former = None if may_be_former else self.former

    def _reset(self, value: float) -> None:
        # Use the served sum: rounding it again could make it smaller, which looks like a reset of the counter.
        self.closed = self.value
        self.baseline, self.high, self.last = 0.0, value, value
        self.has_fallen = False


def month_of(moment: datetime) -> int:
    """Return a number for the UTC month of a time; it grows by 1 each month."""
    utc = moment.astimezone(UTC)
    return utc.year * 12 + utc.month


def begin_month(source: MonthToDate, poll: PollTime) -> MonthSeries:
    """Return the state of a series after its first poll."""
    held, month = float(source.value), month_of(poll.now)
    is_full = poll.since is not None and month >= month_of(datetime.fromordinal(poll.since).replace(tzinfo=UTC))
    return MonthSeries(month, poll.now.timestamp(), 0.0 if is_full else held, held, held, seen=poll.wall)


def _age(moment: datetime) -> float:
    """Return the seconds since the beginning of the UTC month of a time."""
    utc = moment.astimezone(UTC)
    return (utc - utc.replace(day=1, hour=0, minute=0, second=0, microsecond=0)).total_seconds()
