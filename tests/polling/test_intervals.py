"""How often each target is polled."""

from collections.abc import Iterator, Mapping

from exporter.collectors import dns_record_scans, dns_statistics
from exporter.polling.intervals import Intervals
from exporter.polling.plan import Plan
from exporter.targets.sharding import Shard
from exporter.targets.target import Target

ZONE = Target("main", "dns_zone", "101")
PLANS = {
    collector.name: Plan(collector, interval)
    for collector, interval in ((dns_statistics.COLLECTOR, 300.0), (dns_record_scans.COLLECTOR, 600.0))
}


class Interrupted(Mapping[str, Plan]):
    """The plans; each lookup waits while the event loop takes other targets in."""

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
    plans.intervals = Intervals(plans, {}, Shard())
    plans.intervals.note(PLANS["dns_statistics"], [ZONE])
    assert [plans.intervals.shortest("main"), plans.intervals.slowest("dns_record_scans")] == [300.0, 600.0]


def test_the_shortest_interval_of_an_account_is_that_of_its_most_frequent_collector() -> None:
    intervals = Intervals(PLANS, {}, Shard())
    for plan in PLANS.values():
        intervals.note(plan, [ZONE])
    assert intervals.shortest("main") == 300.0


def test_an_account_of_which_nothing_is_polled_has_no_interval() -> None:
    intervals = Intervals(PLANS, {}, Shard())
    assert intervals.shortest("another") == 0.0
