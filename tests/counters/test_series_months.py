"""The rules of exact counting from a month to date, one a test."""

import math
from datetime import UTC, datetime

import pytest

from exporter.counters.months import MonthSeries, month_of
from exporter.counters.series import from_plain, to_plain
from tests.counters.series import Counter, window


@pytest.fixture
def counter() -> Counter:
    return Counter()


def test_a_month_serves_0_at_first_sight(counter: Counter) -> None:
    assert counter.month("2026-02-06T12:00:00", 80.0) == 0


def test_a_month_counts_its_rises(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    assert counter.month("2026-02-06T12:15:00", 81.5) == 1.5


def test_a_fall_to_below_half_in_another_month_is_a_reset_at_once(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 80.0)
    assert counter.month("2026-03-01T00:05:00", 39.0) == 39.0
    assert counter.corrections == 0


def test_a_smaller_fall_in_another_month_is_a_reset_when_the_next_poll_confirms_it(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 80.0)
    assert counter.month("2026-03-01T00:05:00", 79.0) == 0
    assert counter.month("2026-03-01T00:20:00", 79.5) == 79.5
    assert counter.corrections == 0


def test_a_fall_in_the_same_month_to_half_is_a_correction(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    assert counter.month("2026-02-06T12:15:00", 40.0) == 0
    assert counter.corrections == 1


def test_a_fall_in_the_same_month_to_below_half_is_a_reset_when_the_next_poll_confirms_it(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    assert counter.month("2026-02-06T12:15:00", 39.5) == 0
    assert counter.month("2026-02-06T12:30:00", 39.75) == 39.75
    assert counter.corrections == 0


def test_half_is_measured_by_the_high_water(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    counter.month("2026-02-06T12:15:00", 50.0)
    counter.month("2026-02-06T12:30:00", 39.5)
    assert counter.month("2026-02-06T12:45:00", 39.5) == 39.5


def test_one_zero_in_the_middle_of_a_month_counts_nothing_and_is_a_correction(counter: Counter) -> None:
    assert [counter.month("2026-02-06T12:00:00", value) for value in (1000, 1010, 0, 1020)] == [0, 10, 10, 20]
    assert counter.corrections == 1


def test_zeros_apart_from_each_other_count_nothing(counter: Counter) -> None:
    for value in (1000, 0, 1001, 0, 1002, 0, 1003):
        served = counter.month("2026-02-06T12:00:00", value)
    assert served == 3
    assert counter.corrections == 3


def test_a_zero_as_a_month_begins_counts_nothing(counter: Counter) -> None:
    """The platform has not reset yet, and its month differs from the last poll's only at the first of the zeros."""
    counter.month("2026-02-28T23:50:00", 1000)
    counter.month("2026-03-01T00:05:00", 1001)
    assert counter.month("2026-03-01T00:20:00", 0) == 1
    assert counter.month("2026-03-01T00:35:00", 1002) == 2


def test_a_fall_of_any_size_on_the_first_day_of_a_month_is_a_reset_when_the_next_poll_confirms_it(
    counter: Counter,
) -> None:
    counter.month("2026-02-28T23:50:00", 80.0)
    counter.month("2026-03-01T00:05:00", 80.5)
    assert counter.month("2026-03-01T23:45:00", 60.0) == 0.5
    assert counter.month("2026-03-02T00:15:00", 61.0) == 61.5


def test_a_smaller_fall_a_day_into_the_month_is_a_correction(counter: Counter) -> None:
    counter.month("2026-03-01T23:50:00", 80.0)
    assert counter.month("2026-03-02T00:00:00", 60.0) == 0
    assert counter.corrections == 1


def test_a_fall_after_a_silence_of_over_a_day_is_a_reset_when_the_next_poll_confirms_it(counter: Counter) -> None:
    counter.month("2026-02-20T12:00:00", 80.0)
    assert counter.month("2026-03-05T12:00:00", 60.0) == 0
    assert counter.month("2026-03-05T12:15:00", 61.0) == 61.0


def test_a_fall_that_waits_for_its_confirmation_waits_over_a_restart(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    counter.month("2026-02-06T12:15:00", 3.0)
    assert counter.restored().month("2026-02-06T12:30:00", 4.0) == 4.0
    assert counter.restored().month("2026-02-06T12:30:00", 81.0) == 1.0


def test_a_value_of_the_old_month_after_a_reset_counts_nothing(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 1000)
    values = {"00:05": 2, "00:20": 1000, "00:35": 3, "00:50": 1001, "01:05": 4}
    assert [counter.month(f"2026-03-01T{at}:00", value) for at, value in values.items()] == [2, 2, 3, 3, 4]
    assert counter.corrections == 0


def test_a_high_value_after_a_reset_counts_when_it_has_stood_for_a_day(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 1000)
    counter.month("2026-03-01T00:05:00", 2)
    assert counter.month("2026-03-01T12:00:00", 1500) == 2
    assert counter.month("2026-03-02T11:59:00", 2500) == 2
    assert counter.month("2026-03-02T12:00:00", 2600) == 2600


def test_a_high_value_is_held_over_restarts(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 1000)
    counter.month("2026-03-01T00:05:00", 2)
    counter.month("2026-03-01T12:00:00", 1500)
    again = counter.restored()
    assert again.month("2026-03-02T11:59:00", 2500) == 2
    assert again.restored().month("2026-03-02T12:00:00", 2600) == 2600


def test_a_month_that_passes_the_one_before_in_its_time_is_not_held(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 1000)
    counter.month("2026-03-01T00:05:00", 2)
    counter.month("2026-03-20T12:00:00", 998)
    assert counter.month("2026-03-20T12:15:00", 1003) == 1003


def test_a_month_that_fell_and_rises_again_adds_what_exceeds_the_most(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    counter.month("2026-02-06T12:15:00", 70.0)
    assert counter.month("2026-02-06T12:30:00", 80.0) == 0
    assert counter.month("2026-02-06T12:45:00", 83.0) == 3.0


def test_a_month_that_stays_fallen_is_one_correction(counter: Counter) -> None:
    for value in (80.0, 70.0, 70.0, 75.0, 72.0):
        counter.month("2026-02-06T12:00:00", value)
    assert counter.corrections == 2


def test_a_platform_that_begins_its_month_late_is_counted_on(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 80.0)
    assert counter.month("2026-03-01T00:05:00", 80.5) == 0.5
    assert counter.month("2026-03-01T00:20:00", 1.0) == 0.5
    assert counter.month("2026-03-01T00:35:00", 1.5) == 2.0


def test_a_rise_after_more_than_24_hours_into_another_month_is_counted_whole(counter: Counter) -> None:
    counter.month("2026-02-28T12:00:00", 10.0)
    assert counter.month("2026-03-01T12:00:01", 30.0) == 30.0


def test_a_rise_after_a_long_silence_is_counted_on_while_the_month_is_young(counter: Counter) -> None:
    """Platforms reset late."""
    counter.month("2026-02-27T12:00:00", 1010)
    assert counter.month("2026-03-01T06:00:00", 1020) == 10
    assert counter.month("2026-03-01T06:15:00", 1) == 10
    assert counter.month("2026-03-01T06:30:00", 2) == 12


def test_a_jump_of_the_platforms_clock_is_no_silence(counter: Counter) -> None:
    """Ours says that a quarter of an hour has passed."""
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


def test_a_rise_after_exactly_24_hours_into_another_month_is_counted_on(counter: Counter) -> None:
    counter.month("2026-02-28T12:00:00", 10.0)
    assert counter.month("2026-03-01T12:00:00", 30.0) == 20.0


def test_a_rise_after_more_than_24_hours_in_the_same_month_is_counted_on(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 10.0)
    assert counter.month("2026-02-20T12:00:00", 30.0) == 20.0


def test_the_same_value_in_another_month_adds_nothing(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 0.0)
    assert counter.month("2026-03-20T12:00:00", 0.0) == 0


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


def test_a_platform_that_begins_its_month_late_after_a_correction_counts_nothing_twice(counter: Counter) -> None:
    """Neither the same value nor a rise is a fall, though both are below what was counted."""
    counter.month("2026-02-28T23:40:00", 80.0)
    counter.month("2026-02-28T23:50:00", 70.0)
    assert counter.month("2026-03-01T00:05:00", 70.0) == 0
    assert counter.month("2026-03-01T00:10:00", 70.5) == 0
    assert counter.month("2026-03-01T00:20:00", 0.25) == 0
    assert counter.month("2026-03-01T00:30:00", 0.25) == 0.25
    assert counter.corrections == 1


def test_after_a_correction_a_rise_over_a_months_end_is_counted_whole_after_a_long_silence(counter: Counter) -> None:
    counter.month("2026-02-27T23:40:00", 80.0)
    counter.month("2026-02-27T23:50:00", 70.0)
    assert counter.month("2026-03-01T06:05:00", 75.0) == 75.0
    assert counter.month("2026-03-01T06:20:00", 76.0) == 76.0
    assert counter.corrections == 1


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
