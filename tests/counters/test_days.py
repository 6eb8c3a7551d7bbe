"""The rules of exact counting that a table of `polls/` does not show, and the stored form of series."""

import math
import random
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from exporter.counters.counting import CountedFamily, Families, Series, count_poll
from exporter.counters.days import ChangeSeries, DaySeries, PollTime
from exporter.counters.months import MonthSeries
from exporter.counters.rows import pack, unpack
from exporter.metric import Count, DayBuckets, LabelValues, MonthToDate, Source
from tests.counters.ledger_driver import DAY_0, FIRST_SIGHT, QUERIES, URL

ACTIONS = ("logged", "challenged", "blocked")
# Rules, with polls `moment answer = the sum of the counters`, and the number of corrections if there are any. A moment
# in days since noon of the first day has a chart: `w` is a window of 31 days with 100 on each and 40 on the oldest;
# `w5` ends on day 5; `3:7` is the count of day 3; `1..5:7` that of five days; `3:-` is no day 3; `3:1/2/3` are breaches
# by action; `3:p6` is a plain number of them. A moment with a date has a month; after `@` comes this machine's clock.
RULES = {
    "each late rise of a day before the first sight is counted": "0 w = 0; 0.1 w -12:103 = 3; 0.1 w -12:105 = 5; "
    "0.1 w -12:105 = 5; 0.1 w -12:112 = 12",
    "a late rise of a day after the first sight is counted": "0 w = 0; 20 w = 2000; 20.1 w 7:104 = 2004",
    "a first day that the first sight did not show counts whole": "0 w 0:- = 0; 0.1 w 0:5 = 5; 0.1 w 0:8 = 8",
    "a fall after a rise, and a further one, are corrections": "0 w 0:10 = 0; 0 w 0:50 = 40; 0 w 0:30 = 40; "
    "0 w 0:50 = 40; 0 w 0:30 = 40; 0 w 0:20 = 40; 0 w 0:56 = 46; 3",
    "each day that falls is a correction": "0 w = 0; 0.1 w -2:99 -3:99 = 0; 2",
    "a day before the first sight counts from its height": "0 w -5:100 = 0; 0.1 w -5:60 = 0; 0.2 w -5:101 = 1; 1",
    "after a null chart the first day counts from 0, and earlier days stay history": "0 null = 0; 0.1 w 0:0 = 0; "
    "0.2 w 0:0 -1:108 = 8; 0.3 w 0:12 -1:108 = 20",
    "a day before the first sight, seen late, is history": "0 w -4:- = 0; 2 w 1:0 2:0 = 0; 2.1 w 1:0 2:0 -4:105 = 5",
    "a missing day changes nothing, and counts once when it is back": "0 w 0:10 = 0; 1 w 0:40 1:5 = 35; "
    "2 w 0:- 1:5 2:0 = 35; 2.1 w 0:42 1:5 2:0 = 37",
    "days that nobody polled are counted from the window": "0 w 0:10 = 0; 21 w 0:10 21:1 = 2001",
    "a sum that falls with the window is no matter": "0 -30..0:1000 = 0; 20 -10:3 1..20:5 = 100",
    "the oldest day may be clipped and is left out": "0 w = 0; 0.5 w0 -30:90 = 0; 0.6 w0 -30:20 = 0",
    "a day that becomes the clipped one is no correction": "0 w = 0; 30 w 30:0 0:40 = 2900",
    "a short window before the first sight may be clipped": "0 -2:80 -1:100 0:10 = 0; 0.1 -2:90 -1:100 0:10 = 0; "
    "0.2 -2:20 -1:100 0:10 = 0",
    "the clipped day of a long outage is left out": "0 w 0:10 = 0; 40 w 40:0 = 2900",
    "days with events alone are exact from the first": "0 {} = 0; 3 3:5 = 5; 3.1 3:9 = 9; 20 3:9 20:1 = 10",
    "the first sight of a lone day is its baseline": "0 0:10 = 0; 0.1 0:15 = 5",
    "a lone old event does not hide today's": "0 -20:7 = 0; 0.1 -20:7 0:4 = 4",
    "a late event on a day between is counted": "0 0:1 = 0; 5 0:1 5:2 = 2; 5.1 0:1 2:6 5:2 = 8",
    "a day is counted for 45 days": "0 w 0:0 = 0; 44 44:1 = 1; 44.1 -1:1 0:7 44:1 = 8; 45 44:1 45:1 = 9; "
    "45.1 -1:1 0:12 45:1 = 9",
    "a window of 90 days makes up for a long outage": "0 -89..0:10 = 0; 60 -29..60:10 = 600",
    "nothing ages while there is no chart": "0 w 0:10 = 0; 90 null = 0; 0.1 w 0:15 = 5",
    "a clock ahead for a poll doubles nothing": "0 w 0:10 = 0; 10 w = 1090; 75 w10 = 1090; 10.1 w 10:101 = 1091",
    "a platform that goes back in time doubles nothing": "0 w 0:10 = 0; 20 w = 2090; 80 w = 5090; 20 w = 5090; "
    "80.1 w 80:104 = 5094",
    "a day that the clock has not reached is counted": "0 w 0:10 = 0; 0.499 w1 0:10 1:2 = 2",
    "a day ahead of the clock at first sight serves 0": "0 -1:5 0:10 1:3 = 0; 1 -1:5 0:10 1:7 = 4",
    "the newest day shows better than the clock where a window ends": "0 -27..0:100 = 0; 19 -7..20:100 = 2000; "
    "38 12..39:100 = 3900; 38.1 12:60 13..39:100 = 3900; 38.2 12:20 13..39:100 = 3900",
    "a clock a day ahead at first sight loses nothing": "1 w0 0:10 = 0; 1.9 w0 0:30 = 20; 2 w1 0:30 1:5 = 25",
    "a clock a day behind at first sight loses nothing": "-1 w0 0:10 = 0; -0.9 w0 0:30 = 20; 0 w1 0:30 1:5 = 25",
    "a clock that goes back over midnight counts the same days": "0 w 0:10 = 0; 1 w 0:40 1:5 = 35; 0.4 w0 0:41 = 36; "
    "1.1 w 0:41 1:7 = 38",
    "the largest counts add up": f"0 w 0:0 = 0; 1 w 0:{2**63} 1:{2**63} = {2**64}",
    "a jump of the platform's clock is no silence": "2026-02-06T12:00 1000 = 0; "
    "2028-03-20T12:00@2026-02-06T12:15 1002 = 2; 2026-02-06T12:30 1004 = 4",
    "a jump of our own clock is no silence": "2026-02-28T23:50 1000 = 0; 2026-03-01T12:00@2026-04-30T12:00 1001 = 1",
    "the same month of another year is another month": "2026-02-06T12:00 80 = 0; 2027-02-06T12:00 39 = 39",
    "December is followed by January": "2026-12-31T23:59 80 = 0; 2027-01-01T00:01 30 = 30",
    "a clock that went back over a month's end counts nothing twice": "2026-03-03T12:00 10 = 0; "
    "2026-02-27T12:00@2026-03-03T12:00 11 = 1; 2026-03-03T12:15 12 = 2",
    "where plain numbers follow counts by action, or the other way round, the counters start again": "0 0:5/3/2 = 0; "
    "0.1 0:6/3/2 = 1; 0.2 0:p12 = 0; 0.3 0:p15 = 3; 0.3 {} = 3; 0.4 0:9/4/2 = 0; 0.4 0:9/4/4 = 2",
    "a map of both shapes starts again as it comes and as it ends": "0 0:p10 = 0; 1 1:1/1/1 0:p14 = 0; "
    "1.1 1:2/1/1 0:p15 = 1; 1.2 1:4/1/1 = 0; 1.3 1:5/1/1 = 1",
}


class PollResult:
    """A family that is polled; after each poll it is stored and read again."""

    def __init__(self) -> None:
        self.families: Families = {}
        self.corrections = 0

    @property
    def series(self) -> Mapping[LabelValues, Series]:
        """The series of the family."""
        return self.families[QUERIES.name].series

    def poll(self, source: Source | str, now: datetime, wall: datetime | None = None) -> float:
        """Count a poll; return the sum of the counters."""
        sources = sources_of(source, (now - FIRST_SIGHT).days) if isinstance(source, str) else [((), source)]
        poll, counts = PollTime(now, (wall or now).timestamp()), [Count(QUERIES, ("main",), tuple(sources))]
        counted, corrections = count_poll(self.families, counts, URL, poll, math.inf, limit=1000)
        self.families = unpack(pack(counted))
        self.corrections += sum(corrections.values())
        return math.fsum(series.value for series in self.series.values())


def sources_of(chart: str, today: int) -> Sequence[tuple[LabelValues, Source]]:
    """Return the sources of a chart of the table."""
    days: dict[int, str] = {}
    for written in chart.split():
        if written[0] == "w":
            newest = int(written[1:] or today)
            days = dict.fromkeys(range(newest - 29, newest + 1), "100") | {newest - 30: "40"}
        elif ":" in written:
            span, _, count = written.partition(":")
            first, _, last = span.partition("..")
            days |= dict.fromkeys(range(int(first), int(last or first) + 1), count)
    charts: dict[LabelValues, dict[int, float]] = {}
    for day, count in days.items():
        by_label: dict[LabelValues, str] = {}
        if "/" in count:
            by_label = {(action,): one for action, one in zip(ACTIONS, count.split("/"), strict=True)}
        elif count != "-":
            by_label = {(("unclassified",) if count[0] == "p" else ()): count.removeprefix("p")}
        for labels, one in by_label.items():
            charts.setdefault(labels, {})[DAY_0 + day] = float(one)
    wholes = {labels: labels == ("unclassified",) for labels in charts}
    shown = [(labels, DayBuckets(counts, is_whole=wholes[labels])) for labels, counts in charts.items()]
    return shown or [((), DayBuckets({}, charted=chart != "null"))]


@pytest.mark.parametrize("rule", RULES)
def test_polls_count_as_the_rule_says(rule: str) -> None:
    *polls, last = RULES[rule].split("; ")
    polls, corrections = (polls, int(last)) if last.isdigit() else ([*polls, last], 0)
    family, expected, served = PollResult(), [], []
    for poll in polls:
        asked, _, value = poll.partition(" = ")
        moment, _, answer = asked.partition(" ")
        expected.append(float(value))
        if "T" in moment:
            now, *wall = (datetime.fromisoformat(f"{one}+00:00") for one in moment.split("@"))
            served.append(family.poll(MonthToDate(float(answer)), now, *wall))
        else:
            now = FIRST_SIGHT + timedelta(days=float(moment))
            served.append(family.poll(answer, now))
    assert (served, family.corrections) == (expected, corrections)


@pytest.fixture
def family() -> PollResult:
    return PollResult()


def chart(*counts: float, today: int = 0) -> DayBuckets:
    """Return a chart whose last day is `today`."""
    return DayBuckets({DAY_0 + today - back: count for back, count in enumerate(reversed(counts))})


@pytest.mark.parametrize("old", [100.0, 99.0])
def test_a_window_that_slides_for_200_days_loses_and_doubles_nothing(family: PollResult, old: float) -> None:
    family.poll(chart(*[100.0] * 30, 0), FIRST_SIGHT)
    for day in range(1, 200):
        now = FIRST_SIGHT + timedelta(days=day)
        assert family.poll(chart(*[old] * 20, *[100.0] * 10, 30, today=day), now) == day * 100 + 30
    assert family.corrections == (0 if old == 100 else 217)
    assert len(pack(family.families)) < 400, "days leave the row by age"


def test_the_utc_date_of_the_platform_bounds_a_day(family: PollResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half past one in the night of the 7th, two hours east of Greenwich, is still the 6th; so it is on Kiritimati."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        east = datetime(2026, 2, 7, 1, 30, tzinfo=timezone(timedelta(hours=2)))
        family.poll(DayBuckets({}), east)
        assert family.poll(chart(10), east) == 10
        month = PollResult()
        month.poll(MonthToDate(80), datetime(2026, 2, 28, 9, tzinfo=UTC))
        assert month.poll(MonthToDate(20), datetime(2026, 2, 28, 10, 15, tzinfo=UTC)) == 0
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("odd", [-1.0, math.nan, math.inf, 1e300])
def test_numbers_that_are_no_counts_are_left_out(family: PollResult, odd: float) -> None:
    month = PollResult()
    days = [chart(*[100.0] * 30, 10), chart(*[100.0] * 30, odd), chart(*[100.0] * 30, 12, odd, today=1)]
    assert [family.poll(source, FIRST_SIGHT) for source in days] == [0, 0, 2]
    assert [month.poll(MonthToDate(value), FIRST_SIGHT) for value in (10.0, odd, 11.0)] == [0, 0, 1]
    assert family.corrections == month.corrections == 0


def test_floats_do_not_drift(family: PollResult) -> None:
    month = PollResult()
    for poll in range(1001):
        counters = (
            family.poll(chart(*[0.1] * 30, poll / 1000), FIRST_SIGHT),
            month.poll(MonthToDate(poll / 1000), FIRST_SIGHT),
        )
    assert counters == (1.0, 1.0)


@pytest.mark.parametrize("seed", range(10, 15))
def test_a_day_that_leaves_never_lowers_a_counter_by_a_bit(family: PollResult, seed: int) -> None:
    """Tenths are not exact in binary, so closing a day rounds its sum; with seed 12 it would round down."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    counts = [round(chance.uniform(0, 3), 1) for _ in range(120)]
    family.poll(chart(0.0), FIRST_SIGHT)
    served = [
        family.poll(chart(counts[day - 1], 0.0, today=day), FIRST_SIGHT + timedelta(days=day)) for day in range(1, 100)
    ]
    assert served == sorted(served)
    assert served[-1] == pytest.approx(sum(counts[:99]))


def test_a_reset_to_0_leaves_the_counter_to_the_bit(family: PollResult) -> None:
    family.poll(MonthToDate(0.1), datetime(2026, 1, 6, 12, tzinfo=UTC))
    before = 0.0
    for month in range(2, 13):
        now = datetime(2026, month, 6, 12, tzinfo=UTC)
        served = family.poll(MonthToDate(0.7 / month), now)
        after = family.poll(MonthToDate(0.0), now + timedelta(minutes=15))
        assert after >= served >= before
        before = after


@pytest.mark.parametrize(
    "series",
    [
        MonthSeries(24314, 2.5, 0.1, 0.3, 0.2, 17.5, seen=3.5),
        MonthSeries(24314, 2.5, 0.1, 0.3, 0.2, 17.5, seen=3.5, has_fallen=True),
        MonthSeries(24314, 2.5, 0.1, 0.3, 0.2, 17.5, seen=3.5, former=0.0, guard=60.0),
        MonthSeries(24314, 2.5, 0.1, 0.3, 0.2, 17.5, seen=3.5, has_fallen=True, former=9.0, is_held=True),
        DaySeries(DAY_0, 0.1, -46, {-1: 100, 0: 2**63}, {0: 0.25}, {-1: 99}),
        ChangeSeries(float(2**48 - 1), 1770379200.25),
    ],
)
def test_a_series_comes_back_as_it_was_stored(series: Series) -> None:
    families = {"edge_a_total": CountedFamily(b"digest", DAY_0, {("a",): series})}
    assert unpack(pack(families)) == families


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        "m",
        ["x", 1, 2, 3],
        ["m", 2, 3, 4, 5, 6, "7"],
        ["d", DAY_0, 0, 0, {1: "2"}],
        ["d", DAY_0, 0, 0, [1]],
    ],
)
def test_a_row_that_is_not_ours_is_refused(plain: object) -> None:
    with pytest.raises(ValueError, match=r"Expected|Invalid"):
        unpack(stored(plain))


def stored(*plain: object) -> bytes:
    """Return a row with a family of these series, which says nothing more of it."""
    series = {(str(number),): one for number, one in enumerate(plain)}
    return msgspec.msgpack.encode({"edge_a_total": [b"digest", DAY_0, series]})


def test_a_shorter_row_is_read() -> None:
    series: dict[LabelValues, Series] = {
        ("0",): DaySeries(DAY_0, highs={2: 7}),
        ("1",): MonthSeries(2, 3, 4.0, 5.0, 6.0),
    }
    plain = ["d", DAY_0, 0, -1_000_000, {2: 7}], ["m", 2, 3, 4.0, 5.0, 6.0]
    assert unpack(stored(*plain)) == {"edge_a_total": CountedFamily(b"digest", DAY_0, series)}
