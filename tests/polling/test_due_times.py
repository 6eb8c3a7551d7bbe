"""When each target is due: the order of polls, repeats after failures, and the interval that a budget allows."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from exporter.clock import Clocks
from exporter.collectors import dns_record_scans, dns_statistics
from exporter.platform.errors import Forbidden, PlatformError, RateLimited, ServerError, TransportError
from exporter.platform.http.client import Client, Credential
from exporter.polling.due_times import DueTimes
from exporter.polling.pace import SHARE, Account, Pace, Plan
from exporter.polling.schedule import FIRST_WAIT, DuePoll, Schedule
from exporter.targets.registry import Registry, Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import PollKey, Target
from exporter.telemetry import Telemetry
from tests.exporter_parts import drained
from tests.turned_clock import TurnedClock

HOUR = 3600.0
NAME = dns_statistics.COLLECTOR.name
QUERY = Target("", "query", "orders/open", interval=HOUR)


@pytest.mark.parametrize(
    ("change", "is_due_anew"),
    [
        # A target that was renamed stays due when it was; one of which another thing is asked is due anew.
        ({"name": "open orders"}, False),
        ({"interval": 60.0}, True),
        ({"attributes": {"sql": "SELECT 2 AS value"}}, True),
        ({"watched": ("stable",)}, True),
    ],
)
def test_a_target_that_has_changed_is_due_when_it_was_or_anew(change: dict[str, Any], *, is_due_anew: bool) -> None:
    due, changed = DueTimes(), replace(QUERY, **change)
    due.put(NAME, QUERY, 5000.0)
    assert due.replace(NAME, [changed]) == ([changed] if is_due_anew else [])
    first = due.first("database:orders")
    assert (None if first is None else (first.at, first.target.name)) == (
        None if is_due_anew else (5000.0, changed.name)
    )


def test_the_earliest_comes_first_and_what_was_replaced_or_removed_does_not_come() -> None:
    due, times = DueTimes(), (4000.0, 3000.0, 1000.0, 2000.0)
    targets = [replace(QUERY, id=f"orders/{number}") for number in range(4)]
    for target, at in zip(targets, times, strict=True):
        due.put(NAME, target, at)
    due.put(NAME, targets[2], 5000.0)
    assert due.replace(NAME, targets[1:]) == []

    taken = []
    while (entry := due.first("database:orders")) is not None:
        taken.append(entry.at)
        due.put(NAME, entry.target, math.inf) if entry.at < math.inf else due.replace(NAME, [])
    assert taken[:3] == [2000.0, 3000.0, 5000.0]
    assert due.replace(NAME, []) == []
    assert due.first("database:orders") is None


class Failing:
    """An account whose zones are polled once an hour, and fail. Random numbers are as large as they can be."""

    def __init__(self, zones: int = 1, *, rate: float = 10.0) -> None:
        self.clock, self.begun = TurnedClock(0.0), list[DuePoll]()
        clocks, registry = Clocks(self.clock, self.clock), Registry(Shard())
        fixed = tuple(Target("main", "dns_zone", str(number)) for number in range(zones))
        registry.configure([Selection("main", "dns_zone", fixed=fixed)])
        limiter = SimpleNamespace(effective_rate=rate, pause=lambda *_names: 0.0)
        self.credential = Credential("access_key", str)
        client = cast("Client", SimpleNamespace(credential=self.credential, rate_limiter=limiter))
        telemetry = Telemetry(CollectorRegistry(), "test")
        self.schedule = Schedule(registry, telemetry, clocks, lambda: 1.0, lambda _change: None)
        self.plan, self.zone, self.account = (
            Plan(dns_statistics.COLLECTOR, HOUR),
            fixed[0],
            Account(client, Pace(rate, 8)),
        )
        self.schedule.use({NAME: self.plan}, {"main": self.account})
        self.schedule.poll = self._poll

    async def _poll(self, due: DuePoll) -> None:
        """Make no call."""
        self.begun.append(due)

    async def polls_all(self) -> None:
        """Poll all that is due, and wait for its end."""
        self.begun.clear()
        await drained(self.schedule)

    def fails(self, error: PlatformError) -> float:
        """Let the last poll of the first zone fail; return in how many seconds it is polled again."""
        self.schedule.failed(dns_statistics.COLLECTOR, self.zone, error)
        return self.schedule.next_due(NAME) - self.clock.now


async def test_a_poll_that_keeps_failing_is_repeated_after_a_minute_two_four_and_so_on_until_its_regular_poll() -> None:
    failing, waits = Failing(), []
    for _ in range(12):
        await failing.polls_all()
        waits.append(failing.fails(TransportError("no answer")))
        failing.clock.now += waits[-1]
    assert [wait / FIRST_WAIT for wait in waits[:5]] == [1, 2, 4, 8, 16]
    assert all(HOUR / 2 <= wait <= 1.5 * HOUR for wait in waits[7:]), "the regular polls"
    failing.schedule.succeeded(PollKey(failing.zone.key, NAME))
    await failing.polls_all()
    assert failing.fails(TransportError("no answer")) == FIRST_WAIT


@pytest.mark.parametrize(
    ("error", "wait"),
    [
        (RateLimited("", status=429, retry_after=7000.0), 7000.0),
        (RateLimited("", status=429, retry_after=5.0), FIRST_WAIT),
        (ServerError("", status=503, retry_after=7000.0), 7000.0),
        (Forbidden("", status=403, retry_after=7000.0), 7000.0),
        (ServerError("", status=500, retry_after=7000.0), FIRST_WAIT),
    ],
)
async def test_a_target_is_never_polled_before_the_time_that_the_platform_asked_for(
    error: PlatformError, wait: float
) -> None:
    failing = Failing()
    await failing.polls_all()
    assert failing.fails(error) == wait


async def test_with_a_refused_key_or_a_budget_that_is_used_up_a_failed_poll_waits_for_its_regular_time() -> None:
    refused, poor = Failing(), Failing(36_000, rate=5.0)
    await refused.polls_all()
    refused.credential.refused = "wrong"
    await poor.polls_all()
    assert poor.account.pace.stretch > 2
    regular = [refused.schedule.next_due(NAME), poor.schedule.next_due(NAME)]
    assert [refused.fails(TransportError("")), poor.fails(TransportError(""))] == regular


async def test_the_polls_of_an_account_are_spread_over_the_interval() -> None:
    failing, dues = Failing(1200, rate=1e6), list[int]()
    for _ in range(30):
        failing.clock.now += HOUR / 12
        await failing.polls_all()
        dues.append(len(failing.begun))
    assert dues[18:] == [100] * 12


def test_an_interval_is_the_longer_of_the_configured_one_and_the_one_that_the_budget_allows() -> None:
    zones, pace = [Target("main", "dns_zone", str(number)) for number in range(1000)], Pace(rate=10.0, max_in_flight=8)
    statistics, scans = Plan(dns_statistics.COLLECTOR, 300.0), Plan(dns_record_scans.COLLECTOR, 600.0)
    pace.note_targets(statistics, zones)
    assert pace.demand == pytest.approx(1000 / 300)
    assert pace.interval(statistics, zones[0]) == 300.0
    # A poll of the other collector needs ten calls, and eight at a time are slower than the budget.
    pace.note_targets(scans, zones)
    pace.note(scans.collector.name, 10, 5.0)
    pace.measure(10.0)
    assert pace.limits() == {"requests_per_second": 10.0, "max_in_flight": 16.0}
    assert pace.interval(scans, zones[0]) == pytest.approx(600 * (1000 / 300 + 10_000 / 600) / 10 / SHARE)
    pace.note(scans.collector.name, 10, 100.0)
    assert pace.limits()["max_in_flight"] < 10
    # A rate that is lowered for a short time changes little.
    pace.measure(10.0 / 16)
    assert pace.limits()["requests_per_second"] > 9.9
