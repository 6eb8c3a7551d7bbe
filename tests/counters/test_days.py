"""The rules of exact counting that a table of `polls/` does not show, and the stored form of series.

A rule of `rules.txt` is a line of words, then a line for each poll: the moment, the answer, and the sum of the
counters; then the number of corrections if there are any. A moment in days since noon of the first day has a chart: `w`
is a window of 31 days with 100 on each and 40 on the oldest; `w5` ends on day 5; `3:7` is the count of day 3; `1..5:7`
that of five days; `3:-` is no day 3; `3:1/2/3` are breaches by action; `3:p6` is a plain number. A moment with a
date has a month; after `@` comes this machine's clock.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from exporter.counters.counting import CountedFamily, Families, Series, count_poll
from exporter.counters.days import ChangeSeries, DaySeries, PollTime
from exporter.counters.months import MonthSeries
from exporter.counters.rows import pack, unpack
from exporter.metric import Count, DayBuckets, LabelValues, MonthToDate, Source
from tests.counters.ledger_driver import DAY_0, FIRST_SIGHT, QUERIES, URL
from tests.golden import assert_golden

ACTIONS = ("logged", "challenged", "blocked")
RULES = Path(__file__).with_name("rules.txt")


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
        counted = count_poll(self.families, counts, URL, poll, math.inf, limit=1000)
        self.families = unpack(pack(counted.families))
        self.corrections += sum(counted.corrections.values())
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
    return shown or [((), DayBuckets({}, has_chart=chart != "null"))]


def played(polls: Sequence[str]) -> Iterator[str]:
    """Count the polls of a rule; yield their lines with what was counted."""
    family = PollResult()
    for poll in polls:
        if " | " not in poll:
            continue
        moment, answer, _ = poll.strip().split(" | ")
        if "T" in moment:
            now, *wall = (datetime.fromisoformat(f"{one}+00:00") for one in moment.split("@"))
            value = family.poll(MonthToDate(float(answer)), now, *wall)
        else:
            value = family.poll(answer, FIRST_SIGHT + timedelta(days=float(moment)))
        yield f"  {moment} | {answer} | {repr(value).removesuffix('.0')}"
    if family.corrections:
        yield f"  {family.corrections} corrections"


def test_polls_count_as_the_rules_say() -> None:
    rules = (rule.splitlines() for rule in RULES.read_text(encoding="utf-8").strip().split("\n\n"))
    assert_golden("\n\n".join("\n".join([words, *played(polls)]) for words, *polls in rules) + "\n", RULES)


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


def test_the_utc_date_of_the_platform_bounds_a_day(family: PollResult) -> None:
    """Half past one in the night of the 7th, two hours east of Greenwich, is still the 6th."""
    east = datetime(2026, 2, 7, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    family.poll(DayBuckets({}), east)
    assert family.poll(chart(10), east) == 10
    month = PollResult()
    month.poll(MonthToDate(80), datetime(2026, 2, 28, 9, tzinfo=UTC))
    assert month.poll(MonthToDate(20), datetime(2026, 2, 28, 10, 15, tzinfo=UTC)) == 0


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
        MonthSeries(24314, 2.5, 0.1, 0.3, 0.2, 17.5, wall_time=3.5),
        MonthSeries(24314, 2.5, 0.1, 0.3, 0.2, 17.5, wall_time=3.5, has_fallen=True),
        MonthSeries(24314, 2.5, 0.1, 0.3, 0.2, 17.5, wall_time=3.5, former=0.0, guard_seconds=60.0),
        MonthSeries(24314, 2.5, 0.1, 0.3, 0.2, 17.5, wall_time=3.5, has_fallen=True, former=9.0, is_held=True),
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
    """Return a row with a family of these series, and no other facts of the family."""
    series = {(str(number),): one for number, one in enumerate(plain)}
    return msgspec.msgpack.encode({"edge_a_total": [b"digest", DAY_0, series]})


def test_a_shorter_row_is_read() -> None:
    series: dict[LabelValues, Series] = {
        ("0",): DaySeries(DAY_0, highs={2: 7}),
        ("1",): MonthSeries(2, 3, 4.0, 5.0, 6.0),
    }
    plain = ["d", DAY_0, 0, -1_000_000, {2: 7}], ["m", 2, 3, 4.0, 5.0, 6.0]
    assert unpack(stored(*plain)) == {"edge_a_total": CountedFamily(b"digest", DAY_0, series)}
