"""The samples before a live counter."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from exporter.backfill.charts import BUILT_IN, families
from exporter.backfill.samples import DAY_MS, SEAM_MS, STEPS, Point, Span, head, lines, midnight, points
from exporter.counters.series import DaySeries, Poll, Series, advance_family
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


def at_days_ends(series: DaySeries | None, shown: dict[int, float], first: int, last: int) -> list[Point]:
    """Return the samples at midnights, and the last two of the history, at milliseconds from the first sight's day."""
    held = {F + day: count for day, count in shown.items()}
    made = points(series, held, Span(F + first, F + last), STEPS["15m"])
    assert made == sorted(made, key=lambda point: point[0]), "in order"
    chosen = [point for point in made[:-2] if point[0] % DAY_MS == 0] + made[-2:]
    return [(at - midnight(F), value) for at, value in chosen]


DAY, NOON = DAY_MS, DAY_MS // 2 - SEAM_MS


@pytest.mark.parametrize(
    ("series", "shown", "span", "expected"),
    [
        # It ends with what the ledger left out of the first day, and a zero.
        (
            seen({-3: 1, -2: 10, -1: 20, 0: 5}),
            {},
            (-2, 0),
            [(-2 * DAY, 0), (-DAY, 10), (0, 30), (NOON, 35), (NOON + 1, 0)],
        ),
        # Days that the ledger never saw are the platform's.
        (
            seen({-2: 10, -1: 20, 0: 5}),
            {-3: 7.0, -2: 9.0, -1: 9999.0},
            (-3, 0),
            [(-3 * DAY, 0), (-2 * DAY, 7), (-DAY, 16), (0, 36), (NOON, 41), (NOON + 1, 0)],
        ),
        # A span that ends before the seam leaves room for the one that follows.
        (
            seen({-9: 1, -3: 1, -2: 10, -1: 20, 0: 5}),
            {},
            (-3, -2),
            [(-3 * DAY, 0), (-2 * DAY, 1), (-DAY - 1, 11), (-DAY + 1, 0)],
        ),
        # The live counter of what another declaration has counted since the first sight.
        (
            replace(seen({-3: 1, -2: 10, -1: 20, 1: 5}, FIRST_SIGHT + timedelta(2)), created=FIRST_SIGHT.timestamp()),
            {0: 7.0},
            (-2, 2),
            [(-2 * DAY, 0), (-DAY, 10), (-1, 30), (1, 0)],
        ),
        # A span after the first sight is the live counter's.
        (seen({-1: 20, 0: 5}), {1: 3.0}, (1, 3), []),
        # A first sight at midnight keeps the order.
        (
            seen({-2: 10, -1: 20, 0: 0}, datetime(2026, 2, 8, tzinfo=UTC)),
            {},
            (-1, 0),
            [(-DAY, 0), (0, 20), (1, 20), (2, 0)],
        ),
        # A chart that was always null has no history.
        (polled(None, DayBuckets({}, charted=False), FIRST_SIGHT), {}, (-2, 0), []),
        # Without a live counter, whole days are written.
        (None, {-2: 4.0, -1: 5.5}, (-2, -1), [(-2 * DAY, 0), (-DAY, 4), (-1, 9.5), (1, 0)]),
    ],
)
def test_the_history_before_a_live_counter(
    series: DaySeries | None, shown: dict[int, float], span: tuple[int, int], expected: list[Point]
) -> None:
    assert at_days_ends(series, shown, *span) == expected


def test_what_rose_later_is_the_live_counters() -> None:
    series = seen({-3: 1, -2: 10, -1: 20, 0: 5})
    polled(series, DayBuckets({F - 3: 1, F - 2: 10, F - 1: 29, F: 50, F + 1: 7}), FIRST_SIGHT + timedelta(days=1))
    assert [value for _, value in at_days_ends(series, {}, -2, 1)] == [0, 10, 30, 35, 0]
    assert series.value == 9 + 45 + 7


def test_a_day_is_spread_over_pairs_at_every_fourth_step_and_the_middles_of_steps() -> None:
    hour = 3_600_000
    assert {"15m": hour // 4, "1h": hour, "3h": hour * 3} == STEPS
    day = midnight(F - 1)
    assert points(None, {F - 1: 25.0}, Span(F - 1, F - 1), STEPS["3h"]) == [
        (day, 0.0),
        (day + 1, 0.0),
        *((day + hour * half // 2, float(half * 25 // 48)) for half in (3, 9, 15, 21)),
        (day + hour * 12, 12.0),
        (day + hour * 12 + 1, 12.0),
        *((day + hour * half // 2, float(half * 25 // 48)) for half in (27, 33, 39, 45)),
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
    assert [value for _, value in at_days_ends(series, {-1: 20.0, 0: 100.0}, -1, 0)] == [0, 20, 25, 0]


def test_lines_are_openmetrics() -> None:
    info = next(info for info in families(BUILT_IN) if info.name == "edge_dns_queries_total")
    assert list(lines(info, {"job": 'a"b'}, ("main", "7", "x\\y\nz"), [(1500, 2.5), (2000, 1e20)])) == [
        'edge_dns_queries_total{job="a\\"b",account="main",zone_id="7",domain="x\\\\y\\nz"} 2.5 1.500\n',
        'edge_dns_queries_total{job="a\\"b",account="main",zone_id="7",domain="x\\\\y\\nz"} 1e+20 2.000\n',
    ]
    assert head(info).splitlines()[1] == "# TYPE edge_dns_queries counter"
