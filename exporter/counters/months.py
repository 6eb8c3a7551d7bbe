"""The rules by which an exact counter is made of a month-to-date value."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from exporter.metric import MonthToDate, is_count

DAY_SECONDS = 86_400.0
# A fall to below this share of the highest value is a reset; one to above it is a correction.
RESET_SHARE = 0.5
# After a long silence a value that rose belongs to the new month only when platforms that reset late have done so.
LATE_RESET_SECONDS = 6 * 3600.0


@dataclass(slots=True)
class MonthSeries:
    """A counter over a value that starts again with each UTC month.

    A value that is compared is *believed*, or is left out until a later poll confirms it: one wrong answer counts
    nothing. Fields after `closed` are unknown to rows of version 0.1, and their defaults stand for that.

    Attributes:
        created: unix seconds of the first sight.
        month: year * 12 + month of the last believed poll.
        polled: the platform's unix seconds at the last poll.
        baseline: what is not counted of the current month.
        high: the highest value of the current month.
        last: the last believed value.
        closed: what was counted of earlier months.
        seen: our own unix seconds at the last poll.
        has_fallen: whether the last poll was below `last`, and the next one decides if that was a reset.
        former: the last value before the last reset, while an old answer may still come; None afterwards.
        guard: seconds for which a value at or above `former` is not believed.
        is_held: whether the last poll was at or above `former` and is not believed yet.
    """

    created: float
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
    # See `MonthToDate.is_whole`.
    is_whole: ClassVar[bool] = False

    @property
    def value(self) -> float:
        """The counter."""
        return math.fsum((self.closed, self.high, -self.baseline))

    def count(self, source: MonthToDate, now: datetime, wall: float) -> int:
        """Count a poll.

        Args:
            source: the month to date.
            now: the platform's time.
            wall: our own clock, unix seconds.

        Returns:
            1 where the value fell and that was no reset, else 0.
        """
        if not is_count(source.value):
            return 0
        value, month, age = float(source.value), month_of(now), _age(now)
        silence = self._pass_time(now.timestamp(), wall)
        is_new_month = month != self.month
        if value < self.last:
            return self._fall(value, month, silence=silence, age=age)
        rejected, self.has_fallen = int(self.has_fallen), False
        if self._holds(value):
            return rejected
        if is_new_month and value > self.last and silence > DAY_SECONDS and age > LATE_RESET_SECONDS:
            # It is above the old month's value by chance: the exporter did not poll when the new month began.
            self._reset(value)
        self.high = max(self.high, value)
        self.month, self.last = month, value
        return rejected

    def _pass_time(self, now: float, wall: float) -> float:
        """Note the time of a poll; returns the seconds since the poll before.

        The platform's clock or ours may jump, and so the shorter time of the two counts.
        """
        silence = max(0.0, min(now - self.polled, wall - self.seen))
        self.polled, self.seen = now, wall
        self.guard = max(0.0, self.guard - silence)
        return silence

    def _fall(self, value: float, month: int, *, silence: float, age: float) -> int:
        self.is_held = False
        is_deep = value < self.high * RESET_SHARE
        if self.has_fallen or (is_deep and month != self.month):
            self.former, self.guard = self.last, DAY_SECONDS
            self._reset(value)
        elif is_deep or silence > DAY_SECONDS or age < DAY_SECONDS:
            # The next poll decides. Platforms reset late, or by another time zone; and answers may be wrong.
            self.has_fallen = True
            return 0
        else:
            self.month, self.last = month, value
            return 1
        self.month = month
        return 0

    def _holds(self, value: float) -> bool:
        """Whether a value may come from before the last reset, as from a replica that lags."""
        if self.former is None:
            return False
        if value < self.former:
            self.is_held = False
            return False
        if not self.is_held and self.guard > 0:
            self.is_held, self.guard = True, DAY_SECONDS
        if self.guard > 0:
            return True
        self.is_held, self.former = False, None
        return False

    def _reset(self, value: float) -> None:
        # The sum as it was served: rounded once more it might be less, which looks like a reset of the counter.
        self.closed = self.value
        self.baseline, self.high, self.last = 0.0, value, value
        self.has_fallen = False


def month_of(moment: datetime) -> int:
    """The UTC month of a moment as one number that grows by 1 a month."""
    utc = moment.astimezone(UTC)
    return utc.year * 12 + utc.month


def begin_month(source: MonthToDate, now: datetime, wall: float) -> MonthSeries:
    """The state of a series at its first sight, at which its counter is 0; arguments as of `MonthSeries.count`."""
    held = float(source.value)
    return MonthSeries(now.timestamp(), month_of(now), now.timestamp(), held, held, held, seen=wall)


# As in version 0.1; rows of which the rest is missing are complete.
_FEWEST_FIELDS = 7
_NEVER = -1.0
# Of `seen`, `has_fallen`, `former`, `guard` and `is_held`.
_DEFAULTS = (0.0, 0.0, _NEVER, 0.0, 0.0)


def month_to_plain(series: MonthSeries) -> list[float]:
    """A series as numbers, for a packed row; what stands at its default at the end is left out."""
    former = _NEVER if series.former is None else series.former
    rest = [series.seen, int(series.has_fallen), former, series.guard, int(series.is_held)]
    while rest and rest[-1] == _DEFAULTS[len(rest) - 1]:
        rest.pop()
    first = (series.created, series.month, series.polled, series.baseline, series.high, series.last, series.closed)
    return [*first, *rest]


def month_from_plain(fields: list[float]) -> MonthSeries:
    """The series of a packed row.

    Raises:
        ValueError: the row is not one of ours.
    """
    if not _FEWEST_FIELDS <= len(fields) <= _FEWEST_FIELDS + len(_DEFAULTS):
        raise ValueError("a series of the state is not as this version writes it")
    created, month, polled, baseline, high, last, closed, *rest = fields
    seen, has_fallen, former, guard, is_held = (*rest, *_DEFAULTS[len(rest) :])
    return MonthSeries(
        created,
        int(month),
        polled,
        baseline,
        high,
        last,
        closed,
        seen,
        has_fallen=bool(has_fallen),
        former=None if former < 0 else former,
        guard=guard,
        is_held=bool(is_held),
    )


def _age(moment: datetime) -> float:
    """Seconds since the UTC month of a moment began."""
    utc = moment.astimezone(UTC)
    return (utc - utc.replace(day=1, hour=0, minute=0, second=0, microsecond=0)).total_seconds()
