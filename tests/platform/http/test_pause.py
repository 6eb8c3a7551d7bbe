"""A pause ends by the monotonic clock, and continues in the next process by the wall clock."""

import pytest

from exporter.clock import Clocks
from exporter.platform.http.rate_limiter import Pause
from tests.platform.clients import FakeClock

WALL = 1_770_000_000.0


def pause_at(wall: float, monotonic: FakeClock) -> Pause:
    return Pause(Clocks(lambda: wall, monotonic))


def test_a_pause_ends_by_itself() -> None:
    clock = FakeClock()
    pause = pause_at(WALL, clock)
    assert (pause.left(), pause.until()) == (0.0, None)
    pause.begin(30)
    assert (pause.left(), pause.until()) == (30.0, WALL + 30)
    clock.now += 30
    assert (pause.left(), pause.until()) == (0.0, None)


@pytest.mark.parametrize(("later", "left"), [(0, 30), (20, 10), (30, 0), (10**9, 0), (-10, 40), (-(10**9), 3600)])
def test_a_pause_goes_on_in_the_next_process(later: float, left: float) -> None:
    """Also if the wall clock was set in the meantime; a pause is never longer than an hour."""
    first = pause_at(WALL, FakeClock())
    first.begin(30)
    until = first.until()
    assert until is not None
    second = pause_at(WALL + later, FakeClock(now=5.0))
    second.restore(until)
    assert second.left() == left


def test_a_pause_that_is_restored_shortens_no_other() -> None:
    pause = pause_at(WALL, FakeClock())
    pause.begin(60)
    pause.restore(WALL + 30)
    assert pause.left() == 60


def test_that_a_pause_begins_is_reported() -> None:
    begun: list[str] = []
    pause = Pause(changed=lambda: begun.append("begun"))
    pause.restore(0)
    assert begun == []
    pause.begin(1)
    assert begun == ["begun"]
