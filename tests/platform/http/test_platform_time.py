"""Which time of a platform is accepted."""

from datetime import UTC, datetime, timedelta

import pytest

from exporter.clock import Clocks
from exporter.platform.http.platform_time import PlatformTime
from tests.platform.clients import FakeClock

NOON = datetime(2026, 2, 6, 12, tzinfo=UTC)
AHEAD = datetime(2028, 3, 20, 12, tzinfo=UTC)


class Hands:
    """This machine's clock, the monotonic clock, and the platform's accepted time."""

    def __init__(self) -> None:
        self.wall = NOON.timestamp()
        self.monotonic = FakeClock()
        self.time = PlatformTime(Clocks(lambda: self.wall, self.monotonic))

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.wall += seconds
        self.monotonic.now += seconds


@pytest.fixture
def clocks() -> Hands:
    return Hands()


@pytest.mark.parametrize("hours", [-24, 0, 24])
def test_a_date_within_a_day_of_our_own_clock_is_believed(clocks: Hands, hours: int) -> None:
    date = NOON + timedelta(hours=hours)
    assert clocks.time.read(date) == date


def test_without_any_date_there_is_none(clocks: Hands) -> None:
    assert clocks.time.read(None) is None


def test_where_a_date_is_missing_the_last_one_is_carried_on(clocks: Hands) -> None:
    clocks.time.read(NOON)
    clocks.wait(90)
    assert clocks.time.read(None) == NOON + timedelta(seconds=90)


def test_one_date_years_ahead_changes_nothing(clocks: Hands) -> None:
    clocks.time.read(NOON)
    clocks.wait(60)
    assert clocks.time.read(AHEAD) == NOON + timedelta(seconds=60)
    clocks.wait(60)
    assert clocks.time.read(NOON + timedelta(seconds=120)) == NOON + timedelta(seconds=120)


def test_three_successive_answers_that_agree_are_believed_and_so_is_the_way_back(clocks: Hands) -> None:
    clocks.time.read(NOON)
    assert clocks.time.read(AHEAD) == NOON
    assert clocks.time.read(AHEAD) == NOON
    assert clocks.time.read(AHEAD) == AHEAD
    clocks.wait(60)
    assert clocks.time.read(None) == AHEAD + timedelta(seconds=60)
    assert clocks.time.read(NOON + timedelta(seconds=60)) == NOON + timedelta(seconds=60)
    assert clocks.time.read(AHEAD) == NOON + timedelta(seconds=60)


def test_answers_with_others_between_them_are_not_believed(clocks: Hands) -> None:
    for _ in range(5):
        assert [clocks.time.read(date) for date in (NOON, AHEAD, AHEAD)] == [NOON, NOON, NOON]


def test_answers_that_do_not_agree_are_not_believed(clocks: Hands) -> None:
    clocks.time.read(NOON)
    for days in range(0, 40, 2):
        assert clocks.time.read(AHEAD + timedelta(days=days)) == NOON


def test_answers_agree_as_time_passes_between_them(clocks: Hands) -> None:
    clocks.time.read(NOON)
    for _ in range(2):
        clocks.wait(5 * 86_400)
        clocks.time.read(datetime.fromtimestamp(clocks.wall, UTC) + timedelta(days=800))
    clocks.wait(5 * 86_400)
    last = datetime.fromtimestamp(clocks.wall, UTC) + timedelta(days=800)
    assert clocks.time.read(last) == last


def test_where_our_own_clock_is_wrong_the_platforms_time_stays_believed(clocks: Hands) -> None:
    for _ in range(3):
        clocks.time.read(AHEAD)
    clocks.wait(3600)
    assert clocks.time.read(AHEAD + timedelta(seconds=3600)) == AHEAD + timedelta(seconds=3600)


def test_what_was_believed_is_gone_on_from_after_a_restart(clocks: Hands) -> None:
    clocks.time.restore(AHEAD.timestamp())
    later = AHEAD + timedelta(hours=23)
    assert clocks.time.read(later) == later


@pytest.mark.parametrize(
    ("date", "expected"), [(AHEAD, NOON), (NOON - timedelta(days=300), NOON - timedelta(days=300))]
)
def test_before_anything_is_believed_the_earlier_time_is_gone_by(
    clocks: Hands, date: datetime, expected: datetime
) -> None:
    assert clocks.time.read(date) == expected
