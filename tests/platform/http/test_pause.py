"""A pause ends by the monotonic clock, and continues in the next process by the wall clock."""

import pytest

from exporter.clock import Clocks
from exporter.platform.http.rate_limiter import Pause
from tests.platform.clients import FakeClock

WALL = 1_770_000_000.0


def test_a_pause_ends_by_itself_and_its_beginning_is_reported() -> None:
    clock, begun = FakeClock(), list[str]()
    pause = Pause(Clocks(lambda: WALL, clock), lambda: begun.append("begun"))
    seen = [(pause.left(), pause.until(), len(begun))]
    pause.begin(30)
    for passed in (0, 10, 20):
        clock.now += passed
        # What an earlier process left shortens no pause.
        pause.restore(WALL - 1)
        seen.append((pause.left(), pause.until(), len(begun)))
    assert seen == [(0, None, 0), (30, WALL + 30, 1), (20, WALL + 20, 1), (0, None, 1)]


@pytest.mark.parametrize(("later", "left"), [(0, 30), (20, 10), (30, 0), (10**9, 0), (-10, 40), (-(10**9), 3600)])
def test_a_pause_goes_on_in_the_next_process(later: float, left: float) -> None:
    """Also if the wall clock was set in the meantime; a pause is never longer than an hour."""
    pause = Pause(Clocks(lambda: WALL + later, FakeClock(now=5.0)))
    pause.restore(WALL + 30)
    assert pause.left() == left
