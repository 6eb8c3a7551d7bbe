"""When a failed poll is repeated."""

from types import SimpleNamespace
from typing import cast

from exporter.collectors import dns_statistics
from exporter.platform.errors import TransportError
from exporter.platform.http.client import Client, Credential
from exporter.polling.first_discovery import FirstDiscovery
from exporter.polling.timetable import FIRST_WAIT, Account, Capacity, DueTimes, Plan
from exporter.targets.registry import Registry, Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import Target
from tests.turned_clock import TurnedClock

HOUR = 3600.0
COLLECTOR = dns_statistics.COLLECTOR


def zones(count: int) -> list[Target]:
    return [Target("main", "dns_zone", str(number)) for number in range(count)]


class Failing:
    """An account whose targets are polled once an hour, and fail."""

    def __init__(self, targets: list[Target], rate: float) -> None:
        self._plan, self._clock, self._registry = Plan(COLLECTOR, HOUR), TurnedClock(), Registry(Shard())
        client = cast("Client", SimpleNamespace(credential=Credential("access_key", str)))
        accounts = {"main": Account(client, Capacity(rate, 32))}
        self._due = DueTimes({COLLECTOR.name: self._plan}, accounts, self._registry, FirstDiscovery(set), self._clock)
        self.poll(targets)

    def poll(self, targets: list[Target]) -> None:
        """Poll these targets alone."""
        self._registry.configure([Selection("main", "dns_zone", fixed=tuple(targets))])
        self._due.take_targets(self._plan, self._clock.now)

    def failed(self, target: Target, now: float, due: float = HOUR) -> float:
        """Return when a target is polled after a failure, if its next regular poll is `due`."""
        self._clock.now = now
        self._due.timetables[COLLECTOR.name].put(target, due)
        self._due.failed(COLLECTOR, target, TransportError("no answer"))
        at = self._due.at(COLLECTOR.name, target)
        assert at is not None
        return at


def test_a_poll_that_keeps_failing_is_repeated_after_one_minute_two_four_and_so_on_until_its_regular_poll() -> None:
    (zone,) = zones(1)
    failing = Failing([zone], rate=10)
    now, moments = 0.0, []
    while now < HOUR:
        now = failing.failed(zone, now)
        moments.append(now / FIRST_WAIT)
    assert moments == [1, 3, 7, 15, 31, 60]
    assert Failing([zone], rate=10).failed(zone, 100.0, due=130.0) == 130.0, "a regular poll that comes sooner stands"


def test_a_target_that_went_and_came_back_begins_anew() -> None:
    gone, kept = zones(2)
    failing = Failing([gone, kept], rate=10)
    for zone in (gone, kept):
        failing.failed(zone, 0.0)
    failing.poll([kept])
    failing.poll([gone, kept])
    waits = [failing.failed(zone, 1000.0) - 1000.0 for zone in (gone, kept)]
    assert [round(wait / FIRST_WAIT) for wait in waits] == [1, 2]


def test_when_all_fail_repeats_take_no_more_than_the_polls_leave_of_the_budget() -> None:
    # 9,000 zones an hour are 2.5 polls a second, so half of the budget is left.
    all_zones = zones(9000)
    failing = Failing(all_zones, rate=5)
    moments = sorted(failing.failed(zone, 0.0) for zone in all_zones)
    early = [moment for moment in moments if moment < HOUR]
    assert (moments[0], len(moments) - len(early)) == (FIRST_WAIT, 150)
    assert max(sum(start <= moment < start + 60 for moment in early) for start in range(0, 3600, 60)) <= 151


def test_a_budget_that_does_not_carry_its_targets_leaves_a_twentieth_for_repeats() -> None:
    all_zones = zones(36000)
    failing = Failing(all_zones, rate=5)
    moments = [failing.failed(zone, 0.0) for zone in all_zones]
    assert sum(moment < HOUR for moment in moments) == (HOUR - FIRST_WAIT) / 4
