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


@dataclass(frozen=True)
class Shapes:
    """The content of a map of breaches: counts by action or a plain number; the other one is None."""

    now: datetime
    parts: Mapping[str, Mapping[int, int]] | None
    whole: Mapping[int, int] | None


@dataclass(frozen=True)
class Dated:
    """The date of an answer, this machine's clock and the monotonic clock; or the accepted time at a process start."""

    date: datetime | None
    wall: float
    monotonic: float
    restored: float | None = None


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
        # A chart may hold days after the believed one: at the first sight nothing of them is counted either.
        baseline = counts[0] if day < first_day else polls[0].shown.get(day, 0)
        total += max(counts) - baseline
    return total


def may_be_clipped(day: int, poll: Days, first_day: int) -> bool:
    """Return whether a day is the oldest of its chart, and may be incomplete; a window has at least 28 days."""
    if day != (min(poll.shown) if poll.oldest is None else poll.oldest):
        return False
    # Its newest day may be after the time that is believed.
    return day < first_day or max(poll.now.toordinal(), *poll.shown) - day >= 27


def shapes_counter(polls: Sequence[Shapes]) -> int:
    """Return the sum of the counters of all actions after these polls, whatever shapes the map had.

    For each day, each shape has a highest value: the sum over the actions, or the plain number. A rise in one shape is
    counted only as far as the other shape has not counted it.
    """
    first_day = polls[0].now.toordinal()
    parts: dict[int, dict[str, int]] = {}
    whole: dict[int, int] = {}
    total = 0
    for poll in polls:
        shown = _union(poll)
        is_first = poll is polls[0]
        for day in shown:
            if may_be_clipped(day, Days(poll.now, shown), first_day):
                continue
            of_parts, of_whole = sum(parts.get(day, {}).values()), whole.get(day, 0)
            is_history = (day < first_day or is_first) and day not in parts and day not in whole
            if poll.parts is not None:
                highs = parts.setdefault(day, {})
                for action, days in poll.parts.items():
                    if day in days:
                        highs[action] = max(highs.get(action, 0), days[day])
                rise, owed = sum(highs.values()) - of_parts, of_whole - of_parts
            else:
                whole[day] = max(of_whole, shown[day])
                rise, owed = whole[day] - of_whole, of_parts - of_whole
            total += 0 if is_history else max(0, rise - max(0, owed))
    return total


def _union(poll: Shapes) -> dict[int, int]:
    if poll.parts is None:
        return dict(poll.whole or {})
    days = {day for shown in poll.parts.values() for day in shown}
    return {day: sum(shown.get(day, 0) for shown in poll.parts.values()) for day in days}


def believed_time(answers: Sequence[Dated]) -> datetime:
    """Return the platform's accepted time at the last of these answers."""
    believed: tuple[float, float] | None = None
    run: list[tuple[float, float]] = []
    time = 0.0
    for answer in answers:
        if answer.date is None:
            believed = None if answer.restored is None else (answer.restored, answer.monotonic)
            run = []
            continue
        date = answer.date.timestamp()
        carried = None if believed is None else believed[0] + answer.monotonic - believed[1]
        is_near = abs(date - answer.wall) <= DAY or (carried is not None and abs(date - carried) <= DAY)
        if run and abs(date - (run[-1][0] + answer.monotonic - run[-1][1])) > DAY:
            run = []
        run.append((date, answer.monotonic))
        if is_near or len(run) == 3:
            believed, run, time = (date, answer.monotonic), [], date
        else:
            time = carried if carried is not None else min(date, answer.wall)
    return datetime.fromtimestamp(time, UTC)


def month_counter(polls: Sequence[Month]) -> Fraction:
    """Return the value of a counter over a month-to-date value after these polls."""
    total = Fraction(0)
    believed, high, before = polls[0], Fraction(polls[0].value), polls[0]
    doubted = False
    # After a reset: what the value was before, how long such a value is held, and whether it is.
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
