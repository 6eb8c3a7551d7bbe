"""The rules of exact counting once more, written down from their text as plainly as can be, to compare with.

Everything is worked out afresh from the list of all polls that went well and were committed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction


@dataclass(frozen=True)
class Days:
    """What a chart showed: the ordinal of a UTC day → how much the platform had truly served on it by then."""

    now: datetime
    shown: Mapping[int, int]


@dataclass(frozen=True)
class Month:
    """What a month to date was."""

    now: datetime
    value: float


def days_counter(polls: Sequence[Days]) -> int:
    """What a counter over days serves after these polls."""
    first_day = polls[0].now.toordinal()
    seen: dict[int, list[int]] = {}
    for poll in polls:
        for day, count in poll.shown.items():
            if not may_be_clipped(day, poll, first_day):
                seen.setdefault(day, []).append(count)
    total = 0
    for day, counts in seen.items():
        if day < first_day:
            baseline = counts[0]
        elif day == first_day:
            baseline = polls[0].shown.get(day, 0)
        else:
            baseline = 0
        total += max(counts) - baseline
    return total


def may_be_clipped(day: int, poll: Days, first_day: int) -> bool:
    """Whether a day is the oldest of its chart, and may be cut by the window: of 28 days at least, if it is known."""
    is_oldest = day == min(poll.shown)
    is_known_whole = day >= first_day and poll.now.toordinal() - day < 27
    return is_oldest and not is_known_whole


def month_counter(polls: Sequence[Month]) -> Fraction:
    """What a counter over a month to date serves after these polls."""
    total = Fraction(0)
    high = last = Fraction(polls[0].value)
    before = latest = polls[0].now
    for poll in polls[1:]:
        value = Fraction(poll.value)
        other_month = (poll.now.year, poll.now.month) != (before.year, before.month)
        if value < last:
            if other_month or value < high / 2:
                total, high = total + value, value
        elif value > last:
            # The platform's clock may go back; how long nobody asked is measured from the latest time that was seen.
            if other_month and poll.now - latest > timedelta(hours=24):
                total, high = total + value, value
            elif value > high:
                total, high = total + value - high, value
        before, latest, last = poll.now, max(latest, poll.now), value
    return total
