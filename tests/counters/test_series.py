"""The rules of exact counting from days, one in each test, and the stored form of series."""

import math
import random
import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from exporter.counters.days import DaySeries
from exporter.counters.series import from_plain, to_plain
from exporter.metric import DayBuckets
from tests.counters.series import DAY_0, FIRST_SIGHT, Counter, window


@pytest.fixture
def counter() -> Counter:
    return Counter()


def test_the_first_sight_serves_0(counter: Counter) -> None:
    assert counter.days(0, window(0)) == 0


def test_what_comes_after_the_first_sight_is_counted(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    assert counter.days(0.1, window(0, day_0=17)) == 7


def test_the_same_answer_twice_is_counted_once(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(0.1, window(0, day_0=17))
    assert counter.days(0.2, window(0, day_0=17)) == 7


def test_a_day_after_the_first_sight_is_counted_whole(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    assert counter.days(1, window(1, day_0=10, day_1=25)) == 25


def test_the_rest_of_a_day_comes_with_a_poll_of_the_next(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    assert counter.days(1, window(1, day_0=90, day_1=5)) == 85


def test_a_late_rise_of_a_day_before_the_first_sight_is_counted(counter: Counter) -> None:
    counter.days(0, window(0))
    assert counter.days(0.1, window(0, before_12=103)) == 3


def test_each_late_rise_of_a_day_before_the_first_sight_is_counted(counter: Counter) -> None:
    counter.days(0, window(0))
    assert [counter.days(0.1, window(0, before_12=count)) for count in (103, 105, 105, 112)] == [3, 5, 5, 12]


def test_a_late_rise_of_a_day_after_the_first_sight_is_counted(counter: Counter) -> None:
    counter.days(0, window(0))
    counter.days(20, window(20))
    assert counter.days(20.1, window(20, day_7=104)) == 20 * 100 + 4


def test_a_first_day_that_the_first_sight_did_not_show_is_counted_whole(counter: Counter) -> None:
    before = {day: count for day, count in window(0).items() if day < 0}
    counter.days(0, before)
    assert [counter.days(0.1, {**before, 0: count}) for count in (5, 8)] == [5, 8]


def test_a_fall_leaves_the_counter_and_is_a_correction(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(0.1, window(0, day_0=50))
    assert counter.days(0.2, window(0, day_0=30)) == 40
    assert counter.corrections == 1


def test_a_fall_that_stays_is_one_correction(counter: Counter) -> None:
    counter.days(0, window(0, day_0=50))
    for _ in range(5):
        counter.days(0.2, window(0, day_0=30))
    assert counter.corrections == 1


def test_a_further_fall_is_a_further_correction(counter: Counter) -> None:
    counter.days(0, window(0, day_0=50))
    counter.days(0.1, window(0, day_0=30))
    counter.days(0.2, window(0, day_0=20))
    assert counter.corrections == 2


def test_each_day_that_falls_is_a_correction(counter: Counter) -> None:
    counter.days(0, window(0))
    counter.days(0.1, window(0, before_2=99, before_3=99))
    assert counter.corrections == 2


def test_a_rise_up_to_what_was_counted_adds_nothing(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(0.1, window(0, day_0=50))
    counter.days(0.2, window(0, day_0=30))
    assert counter.days(0.3, window(0, day_0=50)) == 40


def test_a_rise_above_what_was_counted_adds_what_exceeds_it(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(0.1, window(0, day_0=50))
    counter.days(0.2, window(0, day_0=30))
    assert counter.days(0.3, window(0, day_0=56)) == 46


def test_a_fall_after_a_rise_is_a_correction_again(counter: Counter) -> None:
    for count in (50, 30, 50, 30):
        counter.days(0, window(0, day_0=count))
    assert counter.corrections == 2


def test_a_day_before_the_first_sight_that_falls_and_rises_counts_from_its_height(counter: Counter) -> None:
    counter.days(0, window(0, before_5=100))
    counter.days(0.1, window(0, before_5=60))
    assert counter.days(0.2, window(0, before_5=101)) == 1


def test_a_chart_that_is_null_at_first_sight_serves_0(counter: Counter) -> None:
    assert counter.days(0, None) == 0


def test_after_a_null_chart_the_day_of_the_first_sight_counts_from_0(counter: Counter) -> None:
    counter.days(0, None)
    assert counter.days(0.1, window(0, day_0=12)) == 12


def test_after_a_null_chart_days_before_the_first_sight_stay_history(counter: Counter) -> None:
    counter.days(0, None)
    counter.days(0.1, window(0, day_0=0))
    assert counter.days(0.2, window(0, day_0=0, before_1=108)) == 8


def test_an_empty_chart_at_first_sight_is_like_a_null_one(counter: Counter) -> None:
    counter.days(0, {})
    assert counter.days(0.1, window(0, day_0=12)) == 12


def test_a_day_before_the_first_sight_that_is_seen_late_is_history(counter: Counter) -> None:
    shown = window(0)
    hidden = {day: count for day, count in shown.items() if day != -4}
    counter.days(0, hidden)
    assert counter.days(2, window(2, day_1=0, day_2=0, day_0=100)) == 0
    assert counter.days(2.1, window(2, day_1=0, day_2=0, before_4=105)) == 5


def test_a_chart_that_is_null_today_changes_nothing(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(0.1, window(0, day_0=30))
    assert counter.days(1, None) == 20
    assert counter.corrections == 0
    assert counter.days(1.1, window(1, day_0=30, day_1=4)) == 24


def test_a_day_that_is_missing_changes_nothing(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(1, window(1, day_0=40, day_1=5))
    without = {day: count for day, count in window(2, day_1=5, day_2=0).items() if day != 0}
    assert counter.days(2, without) == 35
    assert counter.corrections == 0


def test_a_missing_day_that_comes_back_is_not_counted_twice(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(1, window(1, day_0=40, day_1=5))
    counter.days(2, {day: count for day, count in window(2, day_1=5, day_2=0).items() if day != 0})
    assert counter.days(2.1, window(2, day_0=42, day_1=5, day_2=0)) == 37


def test_days_that_nobody_polled_are_counted_from_the_window(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    assert counter.days(21, window(21, day_0=10, day_21=1)) == 20 * 100 + 1


def test_a_window_that_slides_for_60_days_loses_and_doubles_nothing(counter: Counter) -> None:
    counter.days(0, window(0, day_0=0))
    for day in range(1, 61):
        assert counter.days(day, window(day, **{f"day_{day}": 30})) == day * 100 + 30
    assert counter.days(61, window(61, day_61=0)) == 61 * 100
    assert counter.corrections == 0


def test_a_total_that_falls_with_the_window_is_no_matter(counter: Counter) -> None:
    counter.days(0, window(0, each=1000, day_0=1000))
    assert counter.days(20, {day: 5 for day in range(-10, 21) if day > 0} | {-10: 3}) == 20 * 5
    assert counter.corrections == 0


def test_the_oldest_day_may_be_clipped_and_is_left_out(counter: Counter) -> None:
    counter.days(0, window(0))
    assert counter.days(0.5, window(0, before_30=90)) == 0
    assert counter.days(0.6, window(0, before_30=20)) == 0
    assert counter.corrections == 0


def test_a_day_that_becomes_the_clipped_one_is_no_correction(counter: Counter) -> None:
    counter.days(0, window(0))
    assert counter.days(30, window(30, day_30=0, day_0=40)) == 29 * 100
    assert counter.corrections == 0


def test_the_oldest_day_is_left_out_however_short_the_window_before_the_first_sight(counter: Counter) -> None:
    counter.days(0, {-2: 80, -1: 100, 0: 10})
    assert counter.days(0.1, {-2: 90, -1: 100, 0: 10}) == 0
    assert counter.days(0.2, {-2: 20, -1: 100, 0: 10}) == 0
    assert counter.corrections == 0


def test_the_clipped_day_of_a_long_outage_is_left_out(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    assert counter.days(40, window(40, day_40=0)) == 29 * 100


def test_a_map_of_days_with_events_alone_is_exact_from_its_first_event(counter: Counter) -> None:
    counter.days(0, {})
    assert counter.days(3, {3: 5}) == 5
    assert counter.days(3.1, {3: 9}) == 9
    assert counter.days(20, {3: 9, 20: 1}) == 10


def test_the_first_sight_of_a_lone_day_is_its_baseline(counter: Counter) -> None:
    counter.days(0, {0: 10})
    assert counter.days(0.1, {0: 15}) == 5


def test_a_lone_old_event_does_not_hide_todays(counter: Counter) -> None:
    counter.days(0, {-20: 7})
    assert counter.days(0.1, {-20: 7, 0: 4}) == 4


def test_a_late_event_on_a_day_between_is_counted(counter: Counter) -> None:
    counter.days(0, {0: 1})
    counter.days(5, {0: 1, 5: 2})
    assert counter.days(5.1, {0: 1, 2: 6, 5: 2}) == 8


def test_an_event_that_leaves_the_map_by_age_stays_counted(counter: Counter) -> None:
    counter.days(0, {})
    counter.days(1, {1: 50})
    assert counter.days(28, {28: 0}) == 50
    assert counter.days(29, {}) == 50
    assert counter.days(80, {80: 3}) == 53
    assert counter.corrections == 0


def test_buckets_that_become_finer_add_up_to_the_same_days(counter: Counter) -> None:
    """The reader of charts sums hours by day; a day that is not clipped has the same count."""
    counter.days(0, window(0, day_0=10))
    by_hours = {day: float(sum(count / 24 for _ in range(24))) for day, count in window(0, day_0=24).items()}
    assert counter.days(0.1, by_hours) == pytest.approx(14)


def test_days_leave_by_age_never_by_absence(counter: Counter) -> None:
    counter.days(0, window(0, day_0=0))
    counter.days(44, {44: 1})
    assert isinstance(counter.series, DaySeries)
    assert DAY_0 in counter.series.highs
    counter.days(45, {44: 1, 45: 1})
    assert DAY_0 not in counter.series.highs


def test_no_more_than_46_days_are_kept(counter: Counter) -> None:
    for day in range(200):
        counter.days(day, window(day))
    assert isinstance(counter.series, DaySeries)
    assert len(counter.series.highs) == 45
    assert counter.value == 199 * 100


def test_a_window_of_more_than_45_days_is_counted_once(counter: Counter) -> None:
    for day in range(100):
        counter.days(day, dict.fromkeys(range(day - 89, day + 1), 10))
    assert counter.value == 990


def test_a_window_of_more_than_45_days_makes_up_for_a_long_outage(counter: Counter) -> None:
    counter.days(0, dict.fromkeys(range(-89, 1), 10))
    assert counter.days(60, dict.fromkeys(range(-29, 61), 10)) == 600


def test_nothing_ages_while_there_is_no_chart(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(90, None)
    assert counter.days(0.1, window(0, day_0=15)) == 5


def test_a_clock_that_was_ahead_for_a_poll_doubles_nothing(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(10, window(10))
    before = counter.value
    assert counter.days(75, window(10)) == before
    assert counter.days(10.1, window(10, day_10=101)) == before + 1


def test_a_platform_that_goes_back_in_time_doubles_nothing(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    counter.days(20, window(20))
    counter.days(80, window(80))
    before = counter.value
    assert counter.days(20, window(20)) == before
    assert counter.days(80.1, window(80, day_80=104)) == before + 4


def test_a_day_that_the_clock_has_not_reached_is_counted_when_it_comes(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    assert counter.days(0.499, window(1, day_0=10, day_1=2)) == 2


def test_a_day_ahead_of_the_clock_at_first_sight_serves_0(counter: Counter) -> None:
    counter.days(0, {-1: 5, 0: 10, 1: 3})
    assert counter.value == 0
    assert counter.days(1, {-1: 5, 0: 10, 1: 7}) == 4


def test_a_clipped_day_is_left_out_though_the_clock_is_a_day_behind_the_chart(counter: Counter) -> None:
    """The newest day of the chart shows better where the window ends."""
    counter.days(0, dict.fromkeys(range(-27, 1), 100))
    for day in range(1, 40):
        counter.days(day - 1, dict.fromkeys(range(day - 27, day + 1), 100))
    assert counter.days(38.1, dict.fromkeys(range(12, 40), 100) | {12: 60}) == 39 * 100
    assert counter.days(38.2, dict.fromkeys(range(12, 40), 100) | {12: 20}) == 39 * 100
    assert counter.corrections == 0


def test_a_clock_a_day_ahead_of_the_chart_at_first_sight_loses_nothing(counter: Counter) -> None:
    counter.days(1, window(0, day_0=10))
    assert counter.days(1.9, window(0, day_0=30)) == 20
    assert counter.days(2, window(1, day_0=30, day_1=5)) == 25


def test_a_clock_a_day_behind_the_chart_at_first_sight_loses_nothing(counter: Counter) -> None:
    counter.days(-1, window(0, day_0=10))
    assert counter.days(-0.9, window(0, day_0=30)) == 20
    assert counter.days(0, window(1, day_0=30, day_1=5)) == 25


def test_a_clock_that_goes_back_over_midnight_counts_the_same_days(counter: Counter) -> None:
    counter.days(0, window(0, day_0=10))
    assert counter.days(1, window(1, day_0=40, day_1=5)) == 35
    assert counter.days(0.4, window(0, day_0=41)) == 36
    assert counter.days(1.1, window(1, day_0=41, day_1=7)) == 38
    assert counter.corrections == 0


def test_a_year_ends_as_any_other_day_does(counter: Counter) -> None:
    eve = datetime(2027, 12, 31, 23, 59, 59, tzinfo=UTC)
    old, new = date(2027, 12, 31).toordinal(), date(2028, 1, 1).toordinal()
    counter.poll(DayBuckets({old - 1: 100, old: 90}), eve)
    assert counter.poll(DayBuckets({old - 1: 100, old: 95, new: 3}), eve + timedelta(seconds=1)) == 8
    leap, after = date(2028, 2, 29).toordinal(), date(2028, 3, 1).toordinal()
    assert counter.poll(DayBuckets({leap - 1: 1, leap: 20, after: 4}), datetime(2028, 3, 1, tzinfo=UTC)) == 8 + 25


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles", "Pacific/Kiritimati"])
def test_the_zone_of_the_machine_bounds_no_day(counter: Counter, monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Around the night in which European clocks change to summer time."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        day = date(2026, 3, 29).toordinal()
        before, after = (datetime(2026, 3, 28 + later, hour, tzinfo=UTC) for later, hour in ((0, 23), (1, 0)))
        counter.poll(DayBuckets({day - 2: 1, day - 1: 50}), before)
        assert counter.poll(DayBuckets({day - 2: 1, day - 1: 52, day: 1}), after) == 3
        assert counter.poll(DayBuckets({day - 2: 1, day - 1: 52, day: 9}), after + timedelta(hours=23)) == 11
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_platforms_utc_date_bounds_the_day(counter: Counter) -> None:
    """Half past one in the night of the 7th, two hours east of Greenwich, is still the 6th."""
    east = datetime(2026, 2, 7, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    counter.poll(DayBuckets({}), east)
    assert counter.poll(DayBuckets({DAY_0: 10}), east) == 10


def test_the_first_second_of_a_day_belongs_to_it(counter: Counter) -> None:
    counter.poll(DayBuckets({}), datetime(2026, 2, 7, tzinfo=UTC))
    assert counter.poll(DayBuckets({DAY_0 - 1: 1, DAY_0: 10, DAY_0 + 1: 3}), FIRST_SIGHT + timedelta(days=1)) == 3


@pytest.mark.parametrize("odd", [-1.0, math.nan, math.inf, 1e300])
def test_numbers_that_are_no_counts_are_left_out(counter: Counter, odd: float) -> None:
    counter.days(0, window(0, day_0=10))
    assert counter.days(0.1, window(0, day_0=odd)) == 0
    assert counter.days(1, window(1, day_0=12, day_1=odd)) == 2
    assert counter.days(1.1, window(1, day_0=12, day_1=5)) == 7
    assert counter.corrections == 0


def test_the_largest_counts_add_up(counter: Counter) -> None:
    counter.days(0, window(0, day_0=0))
    assert counter.days(1, window(1, day_0=2.0**63, day_1=2.0**63)) == 2.0**64


def test_floats_do_not_drift(counter: Counter) -> None:
    counter.days(0, window(0, each=0.1, day_0=0.0))
    for poll in range(1, 1001):
        counter.days(poll / 1001 / 2, window(0, each=0.1, day_0=poll / 1000))
    assert counter.value == 1.0


@pytest.mark.parametrize("seed", range(10, 15))
def test_a_day_that_leaves_never_lowers_a_counter_by_a_bit(counter: Counter, seed: int) -> None:
    """Tenths are not exact in binary, so closing a day rounds its sum; with seed 12 it would round down."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    counts = [round(chance.uniform(0, 3), 1) for _ in range(120)]
    counter.days(0, {0: 0.0})
    served = [counter.days(day, {day - 1: counts[day - 1], day: 0.0}) for day in range(1, 100)]
    assert served == sorted(served)
    assert served[-1] == pytest.approx(sum(counts[:99]))


def test_the_creation_is_the_first_sight_and_stays(counter: Counter) -> None:
    counter.days(0, window(0))
    counter.days(50, window(50))
    assert counter.series is not None
    assert counter.series.created == 1770379200.0
    again = counter.restored()
    again.days(51, window(51))
    assert again.series is not None
    assert again.series.created == 1770379200.0


def test_a_series_of_days_comes_back_as_it_was_stored() -> None:
    series = DaySeries(
        1770379200.25,
        DAY_0,
        closed=0.1,
        shut=DAY_0 - 46,
        highs={DAY_0 - 1: 100.0, DAY_0: 0.5, DAY_0 + 1: 2.0**63},
        baselines={DAY_0: 0.25},
        lasts={DAY_0 - 1: 99.0},
    )
    assert from_plain(to_plain(series)) == series


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        "m",
        ["x", 1, 2, 3],
        ["m", 1, 2, 3, 4, 5, 6],
        ["m", 1, 2, 3, 4, 5, 6, "7"],
        ["m", 1, 2, 3, 4, 5, 6, math.inf],
        ["d", 1, math.nan, 0, 0, [], [], []],
        ["d", 1, DAY_0, 0, 0, [[1], [2, 3]], [], []],
        ["d", 1, DAY_0, 0, 0, [[1], ["2"]], [], []],
        ["d", 1, DAY_0, 0, 0, [[1, 2], [1e308, 1e308]], [], []],
        ["d", 1, DAY_0, 0, 0, [1], [], []],
        ["d", 1, DAY_0, 0, 0, None, [], []],
        ["d", 1, DAY_0, 0, 0, [], []],
        ["d", 1, DAY_0, 0, 0, [], [], [], 2],
        ["m", *range(13)],
    ],
)
def test_a_row_that_is_not_ours_is_refused(plain: object) -> None:
    with pytest.raises(ValueError, match="a series of the state"):
        from_plain(plain)
