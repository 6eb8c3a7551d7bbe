"""How often each target is polled."""

from collections.abc import Iterator, Mapping

import pytest

from exporter.collectors import dns_record_scans, dns_statistics
from exporter.polling.timetable import Capacity, Intervals, Plan
from exporter.targets.target import Target

ZONE = Target("main", "dns_zone", "101")
PLANS = {
    collector.name: Plan(collector, interval)
    for collector, interval in ((dns_statistics.COLLECTOR, 300.0), (dns_record_scans.COLLECTOR, 600.0))
}


class Interrupted(Mapping[str, Plan]):
    """The plans; each lookup waits while the event loop changes other targets."""

    intervals: Intervals

    def __getitem__(self, name: str) -> Plan:
        self.intervals.note(PLANS["dns_record_scans"], [ZONE])
        return PLANS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(PLANS)

    def __len__(self) -> int:
        return len(PLANS)


def test_what_another_thread_reads_stands_while_targets_change() -> None:
    plans = Interrupted()
    plans.intervals = Intervals(plans, {})
    plans.intervals.note(PLANS["dns_statistics"], [ZONE])
    assert [plans.intervals.shortest("main"), plans.intervals.slowest("dns_record_scans")] == [300.0, 600.0]


def test_the_shortest_interval_of_an_account_is_that_of_its_most_frequent_collector() -> None:
    intervals = Intervals(PLANS, {})
    for plan in PLANS.values():
        intervals.note(plan, [ZONE])
    assert (intervals.shortest("main"), intervals.shortest("another")) == (300.0, 0.0)


@pytest.mark.parametrize(
    ("rate", "most", "polls", "demand", "allowed", "stretch"),
    [
        (10, 32, [], 9.0, 10.0, 1.0),
        (10, 32, [], 19.0, 10.0, 2.0),
        # A slow platform gives less than the budget; one that recovers is believed by and by.
        (100, 10, [(1, 5.0)], 3.8, 2.0, 2.0),
        (100, 10, [(1, 5.0)] + [(1, 0.05)] * 60, 1.0, 100.0, 1.0),
        # A poll without a call tells nothing.
        (10, 32, [(0, 5.0)], 9.0, 10.0, 1.0),
    ],
)
def test_intervals_stretch_by_what_is_asked_over_what_is_there(  # noqa: PLR0917 - a table of cases
    rate: float, most: int, polls: list[tuple[int, float]], demand: float, allowed: float, stretch: float
) -> None:
    capacity = Capacity(rate, most)
    for calls, seconds in polls:
        capacity.note("dns_statistics", calls, seconds)
    assert (min(capacity.limits().values()), capacity.stretch(demand)) == pytest.approx((allowed, stretch), rel=0.01)
    # Each poll of another collector takes five calls.
    capacity.note("discovery", 5, 1.0)
    assert capacity.demand({"dns_statistics": 2.0, "discovery": 0.1}) == pytest.approx(2.0 + 0.5)
