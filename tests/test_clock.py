"""Which time of a platform is accepted."""

from datetime import UTC, datetime, timedelta

import pytest

from exporter.clock import Clocks, PlatformTime
from tests.platform.clients import FakeClock

NOON = datetime(2026, 2, 6, 12, tzinfo=UTC)
DAY = 86_400
AHEAD = 773 * DAY
LAST = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() - NOON.timestamp())

# Seconds that pass, the `Date` of an answer in seconds after noon, and the accepted time; None is no date.
Step = tuple[int, int | None, int | None]
CASES: dict[str, list[Step]] = {
    "a day behind this machine's clock": [(0, -DAY, -DAY)],
    "a day ahead of it": [(0, DAY, DAY)],
    "more than a day ahead of it": [(0, DAY + 1, 0)],
    "no date": [(0, None, None)],
    "a missing date continues the last one": [(0, 5, 5), (90, None, 95)],
    "one date years ahead or behind changes nothing": [(0, 0, 0), (60, AHEAD, 60), (60, -AHEAD, 120), (60, 180, 180)],
    "three that agree are accepted, and so is the way back": [
        *((0, 0, 0), (0, AHEAD, 0), (0, AHEAD, 0), (0, AHEAD, AHEAD)),
        *((60, None, AHEAD + 60), (0, 60, 60), (0, AHEAD, 60)),
    ],
    "two that agree, with another between them": [(0, 0, 0), (0, AHEAD, 0), (0, AHEAD, 0)] * 5,
    "dates that do not agree": [(0, 0, 0), *((0, AHEAD + days * DAY, 0) for days in range(0, 40, 2))],
    "dates that agree as time passes": [
        *((5 * DAY, AHEAD + 5 * DAY, 5 * DAY), (5 * DAY, AHEAD + 10 * DAY, 10 * DAY)),
        (5 * DAY, AHEAD + 15 * DAY, AHEAD + 15 * DAY),
    ],
    "an accepted time, while this machine's clock is wrong": [
        *((0, AHEAD, 0), (0, AHEAD + DAY, 0), (0, AHEAD + 2 * DAY, AHEAD + 2 * DAY), (0, AHEAD + DAY, AHEAD + DAY)),
    ],
    "the first, far in the past": [(0, -300 * DAY, -300 * DAY)],
    "the last day of the calendar": [*((0, LAST, 0),) * 2, (0, LAST, LAST), (DAY, None, LAST)],
}


def at(seconds: int | None) -> datetime | None:
    """Return a time by its seconds after noon."""
    return None if seconds is None else NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize("steps", CASES.values(), ids=CASES)
def test_a_time_is_accepted(steps: list[Step]) -> None:
    wall, monotonic = FakeClock(NOON.timestamp()), FakeClock()
    time = PlatformTime(Clocks(wall, monotonic))
    accepted, elapsed, offset = [], 0, None
    for passed, date, _ in steps:
        wall.now += passed
        monotonic.now += passed
        elapsed += passed
        accepted.append(time.now() if date is None else time.update(NOON + timedelta(seconds=date)))
        offset = offset if date is None else date - elapsed
    expected = [at(seconds) for *_, seconds in steps]
    assert (accepted, time.offset) == (expected, offset), "the offset is that of the last date, also of a doubted one"


def test_what_was_accepted_continues_after_a_restart() -> None:
    time = PlatformTime(Clocks(NOON.timestamp, FakeClock(100.0 * DAY)))
    time.restore(NOON.timestamp() + AHEAD)
    assert time.update(NOON + timedelta(seconds=AHEAD + 23 * 3600)) == at(AHEAD + 23 * 3600)
    for other in (0, 2 * AHEAD):
        time.restore(NOON.timestamp() + other)
        assert time.now() == at(AHEAD + 23 * 3600), "an answer came after what another exporter has stored"
