"""The rules of exact counting from month-to-date values."""

import math
from datetime import UTC, datetime

import pytest

from exporter.counters.months import MonthSeries, month_of
from exporter.counters.series import from_plain, to_plain
from tests.counters.series import Counter, window
from tests.for_each import for_each


@pytest.fixture
def counter() -> Counter:
    return Counter()


# Rule → the moment of each poll in 2026, its month to date and what the counter then serves; last, the corrections.
RULES = {
    "a month serves 0 at first sight": "02-06 12:00 80 -> 0",
    "a month counts its rises": "02-06 12:00 80 -> 0; 02-06 12:15 81.5 -> 1.5",
    "a fall to below half in another month is a reset at once": "02-28 23:50 80 -> 0; 03-01 00:05 39 -> 39",
    "a smaller fall in another month is a reset when the next poll confirms it": (
        "02-28 23:50 80 -> 0; 03-01 00:05 79 -> 0; 03-01 00:20 79.5 -> 79.5"
    ),
    "a fall in the same month to half is a correction": "02-06 12:00 80 -> 0; 02-06 12:15 40 -> 0; 1 corrected",
    "a fall in the same month to below half is a reset when the next poll confirms it": (
        "02-06 12:00 80 -> 0; 02-06 12:15 39.5 -> 0; 02-06 12:30 39.75 -> 39.75"
    ),
    "half is measured by the high water": (
        "02-06 12:00 80 -> 0; 02-06 12:15 50 -> 0; 02-06 12:30 39.5 -> 0; 02-06 12:45 39.5 -> 39.5; 1 corrected"
    ),
    "one zero in the middle of a month counts nothing and is a correction": (
        "02-06 12:00 1000 -> 0; 02-06 12:00 1010 -> 10; 02-06 12:00 0 -> 10; 02-06 12:00 1020 -> 20; 1 corrected"
    ),
    "zeros apart from each other count nothing": (
        "02-06 12:00 1000 -> 0; 02-06 12:00 0 -> 0; 02-06 12:00 1001 -> 1; 02-06 12:00 0 -> 1; "
        "02-06 12:00 1002 -> 2; 02-06 12:00 0 -> 2; 02-06 12:00 1003 -> 3; 3 corrected"
    ),
    # The platform has not reset yet, and its month differs from the last poll's only at the first of the zeros.
    "a zero as a month begins counts nothing": (
        "02-28 23:50 1000 -> 0; 03-01 00:05 1001 -> 1; 03-01 00:20 0 -> 1; 03-01 00:35 1002 -> 2; 1 corrected"
    ),
    "a fall of any size on the first day of a month is a reset when the next poll confirms it": (
        "02-28 23:50 80 -> 0; 03-01 00:05 80.5 -> 0.5; 03-01 23:45 60 -> 0.5; 03-02 00:15 61 -> 61.5"
    ),
    "a smaller fall a day into the month is a correction": "03-01 23:50 80 -> 0; 03-02 00:00 60 -> 0; 1 corrected",
    "a fall after a silence of over a day is a reset when the next poll confirms it": (
        "02-20 12:00 80 -> 0; 03-05 12:00 60 -> 0; 03-05 12:15 61 -> 61"
    ),
    "a value of the old month after a reset counts nothing": (
        "02-28 23:50 1000 -> 0; 03-01 00:05 2 -> 2; 03-01 00:20 1000 -> 2; 03-01 00:35 3 -> 3; "
        "03-01 00:50 1001 -> 3; 03-01 01:05 4 -> 4"
    ),
    "a high value after a reset counts when it has stood for a day": (
        "02-28 23:50 1000 -> 0; 03-01 00:05 2 -> 2; 03-01 12:00 1500 -> 2; 03-02 11:59 2500 -> 2; "
        "03-02 12:00 2600 -> 2600"
    ),
    "a month that passes the one before in its time is not held": (
        "02-28 23:50 1000 -> 0; 03-01 00:05 2 -> 2; 03-20 12:00 998 -> 998; 03-20 12:15 1003 -> 1003"
    ),
    "a month that fell and rises again adds what exceeds the most": (
        "02-06 12:00 80 -> 0; 02-06 12:15 70 -> 0; 02-06 12:30 80 -> 0; 02-06 12:45 83 -> 3; 1 corrected"
    ),
    "a month that stays fallen is one correction": (
        "02-06 12:00 80 -> 0; 02-06 12:00 70 -> 0; 02-06 12:00 70 -> 0; 02-06 12:00 75 -> 0; "
        "02-06 12:00 72 -> 0; 2 corrected"
    ),
    "a platform that begins its month late is counted on": (
        "02-28 23:50 80 -> 0; 03-01 00:05 80.5 -> 0.5; 03-01 00:20 1 -> 0.5; 03-01 00:35 1.5 -> 2"
    ),
    "a rise after more than 24 hours into another month is counted whole": (
        "02-28 12:00 10 -> 0; 03-01 12:00:01 30 -> 30"
    ),
    # Platforms reset late.
    "a rise after a long silence is counted on while the month is young": (
        "02-27 12:00 1010 -> 0; 03-01 06:00 1020 -> 10; 03-01 06:15 1 -> 10; 03-01 06:30 2 -> 12"
    ),
    "a rise after exactly 24 hours into another month is counted on": "02-28 12:00 10 -> 0; 03-01 12:00 30 -> 20",
    "a rise after more than 24 hours in the same month is counted on": "02-06 12:00 10 -> 0; 02-20 12:00 30 -> 20",
    "the same value in another month adds nothing": "02-06 12:00 0 -> 0; 03-20 12:00 0 -> 0",
    # Neither the same value nor a rise is a fall, though both are below what was counted.
    "a platform that begins its month late after a correction counts nothing twice": (
        "02-28 23:40 80 -> 0; 02-28 23:50 70 -> 0; 03-01 00:05 70 -> 0; 03-01 00:10 70.5 -> 0; "
        "03-01 00:20 0.25 -> 0; 03-01 00:30 0.25 -> 0.25; 1 corrected"
    ),
    "after a correction a rise over a month's end is counted whole after a long silence": (
        "02-27 23:40 80 -> 0; 02-27 23:50 70 -> 0; 03-01 06:05 75 -> 75; 03-01 06:20 76 -> 76; 1 corrected"
    ),
}


@for_each("rule", tuple(RULES), name=str)
def test_a_month_is_counted_by_the_rule(rule: str) -> None:
    counter = Counter()
    expected = 0
    for step in RULES[rule].split("; "):
        match step.split():
            case [day, at, value, _, served]:
                assert counter.month(f"2026-{day}T{at}", float(value)) == float(served), step
            case [count, _]:
                expected = int(count)
    assert counter.corrections == expected


def test_a_fall_that_waits_for_its_confirmation_waits_over_a_restart(counter: Counter) -> None:
    counter.month("2026-02-06T12:00:00", 80.0)
    counter.month("2026-02-06T12:15:00", 3.0)
    assert counter.restored().month("2026-02-06T12:30:00", 4.0) == 4.0
    assert counter.restored().month("2026-02-06T12:30:00", 81.0) == 1.0


def test_a_high_value_is_held_over_restarts(counter: Counter) -> None:
    counter.month("2026-02-28T23:50:00", 1000)
    counter.month("2026-03-01T00:05:00", 2)
    counter.month("2026-03-01T12:00:00", 1500)
    again = counter.restored()
    assert again.month("2026-03-02T11:59:00", 2500) == 2
    assert again.restored().month("2026-03-02T12:00:00", 2600) == 2600


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
