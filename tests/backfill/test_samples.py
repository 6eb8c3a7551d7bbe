"""The samples before a live counter."""

from datetime import UTC, date, datetime, timedelta

import pytest

from exporter.backfill.charts import BUILT_IN, families
from exporter.backfill.samples import DAY_MS, SEAM_MS, STEPS, Point, Span, head, lines, midnight, points
from exporter.counters.days import DaySeries, Poll
from exporter.counters.series import Series, advance_family
from exporter.metric import DayBuckets, LabelValues

FIRST_SIGHT = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
F = date(2026, 2, 8).toordinal()


def seen(days: dict[int, float], at: datetime = FIRST_SIGHT) -> DaySeries:
    return polled(None, DayBuckets({F + day: count for day, count in days.items()}), at)


def polled(series: DaySeries | None, source: DayBuckets, at: datetime) -> DaySeries:
    states: dict[LabelValues, Series] = {} if series is None else {(): series}
    advance_family(states, [((), source)], Poll(at, at.timestamp()))
    after = states[()]
    assert isinstance(after, DaySeries)
    return after


def at_days_ends(series: DaySeries | None, shown: dict[int, float], span: Span) -> list[Point]:
    """Return the samples at midnights, and the last two of the history."""
    made = points(series, shown, span, STEPS["15m"])
    assert made == sorted(made, key=lambda point: point[0]), "in order"
    return [point for point in made[:-2] if point[0] % DAY_MS == 0] + made[-2:]


def test_it_ends_with_what_the_ledger_left_out_of_the_first_day_and_a_zero() -> None:
    series = seen({-3: 1, -2: 10, -1: 20, 0: 5})
    seam = int(FIRST_SIGHT.timestamp() * 1000) - SEAM_MS
    assert at_days_ends(series, {}, Span(F - 2, F)) == [
        (midnight(F - 2), 0.0),
        (midnight(F - 1), 10.0),
        (midnight(F), 30.0),
        (seam, 35.0),
        (seam + 1, 0.0),
    ]


def test_what_rose_later_is_the_live_counters() -> None:
    series = seen({-3: 1, -2: 10, -1: 20, 0: 5})
    polled(series, DayBuckets({F - 3: 1, F - 2: 10, F - 1: 29, F: 50, F + 1: 7}), FIRST_SIGHT + timedelta(days=1))
    assert [value for _, value in at_days_ends(series, {}, Span(F - 2, F + 1))] == [0, 10, 30, 35, 0]
    assert series.value == 9 + 45 + 7


def test_days_that_the_ledger_never_saw_are_the_platforms() -> None:
    series = seen({-2: 10, -1: 20, 0: 5})
    shown = {F - 3: 7.0, F - 2: 9.0, F - 1: 9999.0}
    assert [value for _, value in at_days_ends(series, shown, Span(F - 3, F))] == [0, 7, 16, 36, 41, 0]


def test_a_day_is_spread_over_pairs_at_every_fourth_step_and_the_middles_of_steps() -> None:
    hour = 3_600_000
    day = midnight(F - 1)
    assert points(None, {F - 1: 25.0}, Span(F - 1, F - 1), STEPS["3h"]) == [
        (day, 0.0),
        (day + 1, 0.0),
        (day + hour * 3 // 2, 1.0),
        (day + hour * 9 // 2, 4.0),
        (day + hour * 15 // 2, 7.0),
        (day + hour * 21 // 2, 10.0),
        (day + hour * 12, 12.0),
        (day + hour * 12 + 1, 12.0),
        (day + hour * 27 // 2, 14.0),
        (day + hour * 33 // 2, 17.0),
        (day + hour * 39 // 2, 20.0),
        (day + hour * 45 // 2, 23.0),
        (day + hour * 24 - 1, 25.0),
        (day + hour * 24 + 1, 0.0),
    ]


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_counter_never_falls_before_its_end(step: int) -> None:
    series = seen({-3: 1, -2: 10, -1: 20000001, 0: 7})
    values = [value for _, value in points(series, {F - 2: 0.7}, Span(F - 2, F), step)]
    assert values[:-1] == sorted(values[:-1])
    assert values[-2:] == [10 + 20000001 + 7, 0]


def test_what_was_there_at_the_first_sight_is_spread_over_the_time_before_it() -> None:
    series = seen({-1: 0, 0: 719}, FIRST_SIGHT)
    made = [(at - midnight(F), value) for at, value in points(series, {}, Span(F, F), STEPS["3h"])]
    minute = 60_000
    assert made[2:4] == [(90 * minute, 90.0), (270 * minute, 270.0)]
    assert made[-2:] == [(719 * minute, 719.0), (719 * minute + 1, 0.0)]


def test_of_a_day_of_which_nobody_knows_there_is_no_sample() -> None:
    shown = {F - 3: 4.0, F - 1: 20.0}
    times = [at for at, _ in points(None, shown, Span(F - 3, F - 1), STEPS["15m"])]
    gap = (midnight(F - 2), midnight(F - 1) + 1)
    assert [at for at in times if gap[0] <= at <= gap[1]] == list(gap)


def test_the_first_days_baseline_outlives_its_day() -> None:
    series = seen({-2: 3, -1: 20, 0: 5})
    for day in range(1, 70):
        polled(series, DayBuckets({F + day - 1: 100, F + day: 50}), FIRST_SIGHT + timedelta(days=day))
    assert series.uncounted(F - 1) is None, "the ledger has forgotten it, and the platform is asked"
    assert [value for _, value in at_days_ends(series, {F - 1: 20.0, F: 100.0}, Span(F - 1, F))] == [0, 20, 25, 0]


def test_a_span_that_ends_before_the_seam_leaves_room_for_the_one_that_follows() -> None:
    series = seen({-9: 1, -3: 1, -2: 10, -1: 20, 0: 5})
    end = midnight(F - 1)
    assert at_days_ends(series, {}, Span(F - 3, F - 2)) == [
        (midnight(F - 3), 0.0),
        (midnight(F - 2), 1.0),
        (end - 1, 11.0),
        (end + 1, 0.0),
    ]


def test_a_span_after_the_first_sight_is_the_live_counters() -> None:
    assert at_days_ends(seen({-1: 20, 0: 5}), {F + 1: 3.0}, Span(F + 1, F + 3)) == []


def test_a_first_sight_at_midnight_keeps_the_order() -> None:
    series = seen({-2: 10, -1: 20, 0: 0}, datetime(2026, 2, 8, tzinfo=UTC))
    times = [at for at, _ in at_days_ends(series, {}, Span(F - 1, F))]
    assert times == [midnight(F - 1), midnight(F), midnight(F) + 1, midnight(F) + 2]


def test_of_a_chart_that_was_always_null_there_is_nothing() -> None:
    series = polled(None, DayBuckets({}, charted=False), FIRST_SIGHT)
    assert at_days_ends(series, {}, Span(F - 2, F)) == []


def test_without_a_live_counter_whole_days_are_written() -> None:
    assert [value for _, value in at_days_ends(None, {F - 2: 4.0, F - 1: 5.5}, Span(F - 2, F - 1))] == [0, 4, 9.5, 0]


def test_lines_are_openmetrics() -> None:
    info = next(info for info in families(BUILT_IN) if info.name == "edge_dns_queries_total")
    assert list(lines(info, {"job": 'a"b'}, ("main", "7", "x\\y\nz"), [(1500, 2.5), (2000, 1e20)])) == [
        'edge_dns_queries_total{job="a\\"b",account="main",zone_id="7",domain="x\\\\y\\nz"} 2.5 1.500\n',
        'edge_dns_queries_total{job="a\\"b",account="main",zone_id="7",domain="x\\\\y\\nz"} 1e+20 2.000\n',
    ]
    assert head(info).splitlines()[1] == "# TYPE edge_dns_queries counter"
