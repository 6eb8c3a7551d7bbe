"""When a failed poll is repeated."""

from typing import cast

from exporter.collectors import dns_statistics
from exporter.platform.http.client import Client
from exporter.polling.timetable import FIRST_WAIT, Account, Backoff, Capacity, Intervals, Plan
from exporter.responsive.slices import at_once
from exporter.targets.sharding import Shard
from exporter.targets.target import Target

HOUR = 3600.0
NAME = dns_statistics.COLLECTOR.name


def zones(count: int) -> list[Target]:
    return [Target("main", "dns_zone", str(number)) for number in range(count)]


def backoff(targets: list[Target], rate: float) -> Backoff:
    """Return the backoff of an account whose targets are polled once an hour."""
    plan = Plan(dns_statistics.COLLECTOR, HOUR)
    account = Account(cast("Client", None), Capacity(rate, 32))
    intervals = Intervals({NAME: plan}, {"main": account}, Shard())
    at_once(intervals.noting(plan, targets))
    return Backoff(intervals)


def test_a_poll_that_keeps_failing_is_repeated_after_one_minute_two_four_and_so_on_until_its_regular_poll() -> None:
    (zone,) = zones(1)
    repeats = backoff([zone], rate=10)
    now, moments = 0.0, []
    while now < HOUR:
        now = repeats.failed(NAME, zone, now, HOUR)
        moments.append(now / FIRST_WAIT)
    assert moments == [1, 3, 7, 15, 31, 60]


def test_a_regular_poll_that_comes_sooner_stands() -> None:
    (zone,) = zones(1)
    assert backoff([zone], rate=10).failed(NAME, zone, 100.0, 130.0) == 130.0


def test_a_target_that_went_and_came_back_begins_anew() -> None:
    gone, kept = zones(2)
    repeats = backoff([gone, kept], rate=10)
    for zone in (gone, kept):
        repeats.failed(NAME, zone, 0.0, HOUR)
    repeats.forget_others(NAME, [kept])
    waits = [repeats.failed(NAME, zone, 1000.0, HOUR) - 1000.0 for zone in (gone, kept)]
    assert [round(wait / FIRST_WAIT) for wait in waits] == [1, 2]


def test_when_all_fail_repeats_take_no_more_than_the_polls_leave_of_the_budget() -> None:
    # 9,000 zones an hour are 2.5 polls a second, so half of the budget is left.
    all_zones = zones(9000)
    repeats = backoff(all_zones, rate=5)
    moments = sorted(repeats.failed(NAME, zone, 0.0, HOUR) for zone in all_zones)
    early = [moment for moment in moments if moment < HOUR]
    assert (moments[0], len(moments) - len(early)) == (FIRST_WAIT, 150)
    assert max(sum(start <= moment < start + 60 for moment in early) for start in range(0, 3600, 60)) <= 151


def test_a_budget_that_does_not_carry_its_targets_leaves_a_twentieth_for_repeats() -> None:
    all_zones = zones(36000)
    repeats = backoff(all_zones, rate=5)
    moments = [repeats.failed(NAME, zone, 0.0, HOUR) for zone in all_zones]
    assert sum(moment < HOUR for moment in moments) == (HOUR - FIRST_WAIT) / 4
