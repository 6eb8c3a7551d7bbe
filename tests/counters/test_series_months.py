"""Month-to-date values beyond the rules of `polls/months.txt`: clocks, odd numbers, and what is stored."""

import math
from datetime import UTC, datetime

import pytest

from exporter.counters.months import MonthSeries, month_of
from exporter.counters.series import from_plain, to_plain
from tests.counters.series import Counter, window


@pytest.fixture
def counter() -> Counter:
    return Counter()


def test_a_jump_of_the_platforms_clock_is_no_silence(counter: Counter) -> None:
    """This machine's clock shows that a quarter of an hour has passed."""
    counter.month("2026-02-06T12:00:00", 1000)
    jump = datetime(2028, 3, 20, 12, 0, tzinfo=UTC) - datetime(2026, 2, 6, 12, 15, tzinfo=UTC)
    counter.ahead = -jump.total_seconds()
    assert counter.month("2028-03-20T12:00:00", 1002) == 2
    counter.ahead = 0
    assert counter.month("2026-02-06T12:30:00", 1004) == 4
    assert counter.corrections == 0


def test_a_jump_of_our_own_clock_is_no_silence(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 1000)
    counter.ahead = 60 * 86_400.0
    assert counter.month("2026-03-01T12:00:00", 1001) == 1


def test_the_same_month_of_another_year_is_another_month(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    assert counter.month("2027-02-06T12:00:00", 39.0) == 39.0


def test_december_is_followed_by_january(counter: Counter) -> None:
    assert month_of(datetime(2027, 1, 1, tzinfo=UTC)) - month_of(datetime(2026, 12, 31, tzinfo=UTC)) == 1
    counter.month("2026-12-31T23:59:00", 80.0)
    assert counter.month("2027-01-01T00:01:00", 30.0) == 30.0


def test_a_reset_to_0_leaves_the_counter_to_the_bit(counter: Counter) -> None:
    counter.month("2026-01-06T12:00:00", 0.1)
    before = 0.0
    for month in range(2, 13):
        served = counter.month(f"2026-{month:02d}-06T12:00:00", 0.7 / month)
        assert counter.month(f"2026-{month:02d}-06T12:15:00", 0.0) >= served >= before
        before = counter.value


def test_a_months_floats_do_not_drift(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 0.0)
    for poll in range(1, 1001):
        counter.month("2026-02-06T12:15:00", poll / 1000)
    assert counter.value == 1.0


def test_a_clock_that_went_back_over_a_months_end_counts_nothing_twice(counter: Counter) -> None:
    counter.month("2026-03-03T12:00:00", 10.0)
    counter.ahead = 4 * 86_400.0
    assert counter.month("2026-02-27T12:00:00", 11.0) == 1.0
    counter.ahead = 0
    assert counter.month("2026-03-03T12:15:00", 12.0) == 2.0


@pytest.mark.parametrize("odd", [-1.0, math.nan, math.inf, 1e300])
def test_a_month_that_is_no_number_changes_nothing(counter: Counter, odd: float) -> None:
    counter.month("2026-02-06T12:00:00", 10.0)
    assert counter.month("2026-02-06T12:15:00", odd) == 0
    assert counter.month("2026-02-06T12:30:00", 11.0) == 1.0
    assert counter.corrections == 0


def test_a_month_keeps_its_creation_over_restarts(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    again = counter.restored()
    again.month("2026-03-06T12:00:00", 1.0)
    assert again.series is not None
    assert again.series.created == 1770379200.0


def test_a_month_that_becomes_days_goes_on_from_where_it_stood(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    counter.month("2026-02-06T12:15:00", 95.0)
    assert counter.days(0.1, window(0, day_0=10)) == 15
    assert counter.days(0.2, window(0, day_0=12)) == 17
    assert counter.series is not None
    assert counter.series.created == 1770379200.0


def test_days_that_become_a_month_go_on_from_where_they_stood(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(0.1, window(0, day_0=25))
    assert counter.month("2026-02-07T12:00:00", 500.0) == 15
    assert counter.month("2026-02-07T12:15:00", 501.0) == 16
    assert counter.series is not None
    assert counter.series.created == 1770379200.0


@pytest.mark.parametrize("odd", [-1.0, math.nan, math.inf, 1e300])
def test_a_month_that_is_no_number_is_no_first_sight(counter: Counter, odd: float) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(0.1, window(0, day_0=25))
    assert counter.month("2026-02-07T12:00:00", odd) == 15
    assert counter.month("2026-02-07T12:15:00", 500.0) == 15
    assert counter.month("2026-02-07T12:30:00", 501.0) == 16


def test_a_row_of_version_0_1_is_read_and_counts_on() -> None:
    series = from_plain(["m", 1770379200.25, 24314, 1770379201.5, 0.1, 0.3, 0.2, 17.5])
    assert series == MonthSeries(1770379200.25, 24314, 1770379201.5, 0.1, 0.3, 0.2, 17.5)
    counter = Counter()
    counter.states = {(): series}
    assert counter.month("2026-03-20T12:00:00", 5.0) == pytest.approx(17.5 + 0.3 - 0.1 + 5.0)


@pytest.mark.parametrize(
    "series",
    [
        MonthSeries(1.5, 24314, 2.5, 0.1, 0.3, 0.2, 17.5, seen=3.5),
        MonthSeries(1.5, 24314, 2.5, 0.1, 0.3, 0.2, 17.5, seen=3.5, has_fallen=True),
        MonthSeries(1.5, 24314, 2.5, 0.1, 0.3, 0.2, 17.5, seen=3.5, former=0.0, guard=60.0),
        MonthSeries(1.5, 24314, 2.5, 0.1, 0.3, 0.2, 17.5, seen=3.5, has_fallen=True, former=9.0, is_held=True),
    ],
)
def test_a_series_of_months_comes_back_as_it_was_stored(series: MonthSeries) -> None:
    assert from_plain(to_plain(series)) == series
