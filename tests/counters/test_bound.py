"""How many label values a counter has, which ones are kept, and at which value late ones begin."""

import math
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from exporter.counters.counting import Families, count_poll, served
from exporter.counters.days import PollTime
from exporter.counters.ledger import Counters, PollRecord
from exporter.counters.rows import pack, unpack
from exporter.metric import Count, DayBuckets, FamilyInfo, Kind, MonthToDate, Source
from tests.counters.ledger_driver import DAY_0, FIRST_SIGHT, URL, LedgerDriver, key_of

THINGS = FamilyInfo("edge_things_total", "Things.", Kind.COUNTER, "", ("thing_id", "part"), is_limited=True)


@dataclass
class Target:
    """A target whose row is packed and unpacked between any two polls."""

    is_month: bool
    limit: int = 2
    hours: float = 0
    row: bytes = field(default_factory=lambda: pack({}))
    outside: int = 0

    def poll(self, retention: float = math.inf, **parts: float) -> dict[str, float]:
        """Poll the parts' totals of today or of the month an hour after the last poll; return the served counters."""
        self.hours += 1
        now = FIRST_SIGHT + timedelta(hours=self.hours / 100)
        sources: dict[str, Source] = {
            part: MonthToDate(value) if self.is_month else DayBuckets({DAY_0: value, DAY_0 - 1: 7.0})
            for part, value in parts.items()
        }
        counts = [Count(THINGS, ("1",), tuple(((part,), source) for part, source in sources.items()))]
        before: Families = unpack(self.row)
        counted = count_poll(before, counts, URL, PollTime(now, now.timestamp()), retention, limit=self.limit)
        self.row, self.outside = pack(counted.families), counted.left_out.get(THINGS.name, 0)
        return {sample.values[-1]: sample.value for one in served(counted.families, counts) for sample in one.samples}


@pytest.fixture(params=[False, True], ids=["days", "months"])
def target(request: pytest.FixtureRequest) -> Target:
    return Target(request.param)


def test_the_largest_enter_and_keep_their_places_over_absence(target: Target) -> None:
    assert (target.poll(a=1, b=3, c=2), target.outside) == ({"b": 0, "c": 0}, 1)
    assert (target.poll(a=50, b=4, d=60), target.outside) == ({"b": 1}, 2)
    assert (target.poll(a=50, b=4, c=9), target.outside) == ({"b": 1, "c": 7}, 1)
    assert (target.poll(b=4, c=9), target.outside) == ({"b": 1, "c": 7}, 0)


def test_one_in_time_counts_in_full_and_one_that_comes_late_or_returns_starts_at_0(target: Target) -> None:
    assert target.poll(a=1) == {"a": 0}
    assert target.poll(a=1, b=3, c=2) == {"a": 0, "b": 3}
    target.poll(b=3)
    target.hours -= 1000
    assert target.poll(retention=0, b=4, c=9) == {"b": 4}
    assert target.poll(b=4, c=9) == {"b": 4, "c": 0}, "the place of a is free, and c holds 9 already"
    assert target.poll(b=4, c=11) == {"b": 4, "c": 2}
    target.limit = 3
    assert target.poll(a=30, b=4, c=11) == {"a": 0, "b": 4, "c": 2}


def test_a_lower_limit_keeps_the_oldest(target: Target) -> None:
    target.limit = 3
    target.poll(a=1)
    target.poll(a=1, b=2, c=1)
    target.limit = 1
    assert (target.poll(a=1, b=5, c=5), target.outside) == ({"a": 0}, 2)
    target.limit = 3
    assert target.poll(a=1, b=5, c=5) == {"a": 0, "b": 0, "c": 0}


def test_what_is_left_out_goes_through_the_ledger(tmp_path: Path) -> None:
    key = key_of("102")
    count = Count(THINGS, ("1",), tuple(((part,), DayBuckets({DAY_0: 1.0})) for part in "cab"))
    with LedgerDriver(tmp_path / "state.db") as driver:
        entry = PollRecord(key, "x", FIRST_SIGHT.timestamp(), (count,), FIRST_SIGHT, max_label_values=2)
        (counters,) = driver.attempt(entry)
        assert isinstance(counters, Counters)
        assert [sample.values for sample in counters.families[0].samples] == [("1", "a"), ("1", "b")]
        assert counters.left_out == {THINGS.name: 1}
    with LedgerDriver(tmp_path / "state.db") as driver:
        ((family,),) = driver.record(entry._replace(counts=(count._replace(sources=count.sources[::-1]),)))
        assert {sample.values for sample in family.samples} == {("1", "a"), ("1", "b")}
