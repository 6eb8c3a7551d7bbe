"""A second, simple implementation of the counting rules, to compare with.

Every value is computed from the list of all successful and committed polls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

DAY = 86_400.0


@dataclass(frozen=True)
class Days:
    """The content of a chart: the ordinal of a UTC day → the platform's true count on it at that time.

    Attributes:
        oldest: the oldest day of the answer, if other charts of it have more days; None for that of this chart.
    """

    now: datetime
    shown: Mapping[int, int]
    oldest: int | None = None


@dataclass(frozen=True)
class Month:
    """A month-to-date value; `wall` is this machine's clock in unix seconds."""

    now: datetime
    value: float
    wall: float = 0.0


def days_counter(polls: Sequence[Days]) -> int:
    """Return the value of a counter over days after these polls."""
    first_day = polls[0].now.toordinal()
    seen: dict[int, list[int]] = {}
    for poll in polls:
        for day, count in poll.shown.items():
            if not may_be_clipped(day, poll, first_day):
                seen.setdefault(day, []).append(count)
    total = 0
    for day, counts in seen.items():
        # A chart may contain days after the believed one; their counts at the first sight are not counted either.
        baseline = counts[0] if day < first_day else polls[0].shown.get(day, 0)
        total += max(counts) - baseline
    return total


def may_be_clipped(day: int, poll: Days, first_day: int) -> bool:
    """Return whether a day is the oldest of its chart, and may be incomplete; a window has at least 28 days."""
    if day != (min(poll.shown) if poll.oldest is None else poll.oldest):
        return False
    # Its newest day may be after the time that is believed.
    return day < first_day or max(poll.now.toordinal(), *poll.shown) - day >= 27


def month_counter(polls: Sequence[Month]) -> Fraction:
    """Return the value of a counter over a month-to-date value after these polls."""
    total = Fraction(0)
    believed, high, before = polls[0], Fraction(polls[0].value), polls[0]
    doubted = False
    # After a reset: the value before it, how long such a value is held back, and whether one is held back now.
    former: Fraction | None = None
    guard, held = 0.0, False
    for poll in polls[1:]:
        value, last = Fraction(poll.value), Fraction(believed.value)
        # Neither a jump of our clock nor one of the platform's is a silence.
        silence = max(0.0, min((poll.now - before.now).total_seconds(), poll.wall - before.wall))
        guard = max(0.0, guard - silence)
        before = poll
        young = poll.now - datetime(poll.now.year, poll.now.month, 1, tzinfo=UTC)
        other_month = (poll.now.year, poll.now.month) != (believed.now.year, believed.now.month)
        if value < last:
            held = False
            if doubted or (other_month and value < high / 2):
                former, guard, doubted = last, DAY, False
                total, high, believed = total + value, value, poll
            elif value < high / 2 or silence > DAY or young < timedelta(days=1):
                doubted = True
            else:
                believed = poll
            continue
        doubted = False
        if former is not None and value >= former:
            if guard > 0 and not held:
                held, guard = True, DAY
            if guard > 0:
                continue
            former = None
        held = False
        if other_month and value > last and silence > DAY and young > timedelta(hours=6):
            total, high = total + value, value
        elif value > high:
            total, high = total + value - high, value
        believed = poll
    return total
