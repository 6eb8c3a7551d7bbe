"""A counted series that tests poll; days are numbered from the day of its first sight."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from exporter.counters.series import Series, advance_family, from_plain, to_plain
from exporter.metric import DayBuckets, LabelValues, MonthToDate, Source

FIRST_SIGHT = datetime(2026, 2, 6, 12, tzinfo=UTC)
DAY_0 = FIRST_SIGHT.toordinal()


class Counter:
    """A series that is polled, and the number of its corrections.

    Attributes:
        ahead: seconds by which this machine's clock is ahead of the platform's.
    """

    def __init__(self) -> None:
        self.states: dict[LabelValues, Series] = {}
        self.corrections = 0
        self.ahead = 0.0

    @property
    def series(self) -> Series | None:
        """The series; it must have been polled."""
        return self.states.get(())

    @property
    def value(self) -> float:
        """The served value."""
        assert self.series is not None
        return self.series.value

    def poll(self, source: Source, now: datetime) -> float:
        """Count a poll; return the served value."""
        self.corrections += advance_family(self.states, [((), source)], now, now.timestamp() + self.ahead)
        return self.value

    def days(self, day: float, counts: Mapping[int, float] | None) -> float:
        """Poll at noon of a day; None means a chart that is null."""
        days = {DAY_0 + offset: count for offset, count in (counts or {}).items()}
        return self.poll(DayBuckets(days, charted=counts is not None), FIRST_SIGHT + timedelta(days=day))

    def month(self, moment: str, value: float) -> float:
        """Poll a month-to-date value."""
        return self.poll(MonthToDate(value), datetime.fromisoformat(moment + "+00:00"))

    def restored(self) -> "Counter":
        """Return the same counter after a restart."""
        assert self.series is not None
        other = Counter()
        other.states, other.corrections = {(): from_plain(to_plain(self.series))}, self.corrections
        return other


def window(today: int, each: float = 100, **changed: float) -> dict[int, float]:
    """Return a chart of 31 days, the oldest of 40. `day_3=7` sets the count of day 3, `before_3=7` of day -3."""
    counts = dict.fromkeys(range(today - 30, today + 1), each)
    counts[today - 30] = 40
    for name, count in changed.items():
        side, _, number = name.partition("_")
        counts[int(number) * (1 if side == "day" else -1)] = count
    return counts
