"""How often an account's targets can be polled."""

import pytest

from exporter.polling.intervals import Capacity


def test_the_demand_is_every_collector_s_polls_times_the_calls_of_one() -> None:
    capacity = Capacity(rate=10, max_in_flight=32)
    capacity.note("discovery", 5, 1.0)
    assert capacity.demand({"dns_statistics": 2.0, "discovery": 0.1}) == pytest.approx(2.0 + 0.5)


def test_intervals_stand_while_the_budget_carries_them() -> None:
    assert Capacity(rate=10, max_in_flight=32).stretch(9.0) == 1.0


def test_intervals_stretch_by_what_is_asked_over_what_is_there() -> None:
    assert Capacity(rate=10, max_in_flight=32).stretch(19.0) == pytest.approx(2.0)


def test_a_slow_platform_gives_less_than_the_budget() -> None:
    capacity = Capacity(rate=100, max_in_flight=10)
    capacity.note("dns_statistics", 1, 5.0)
    assert capacity.requests_per_second() == pytest.approx(2.0)
    assert capacity.stretch(3.8) == pytest.approx(2.0)


def test_a_platform_that_recovers_is_believed_by_and_by() -> None:
    capacity = Capacity(rate=100, max_in_flight=10)
    capacity.note("dns_statistics", 1, 5.0)
    for _ in range(60):
        capacity.note("dns_statistics", 1, 0.05)
    assert capacity.requests_per_second() > 50


def test_a_poll_without_a_call_tells_nothing() -> None:
    capacity = Capacity(rate=10, max_in_flight=32)
    capacity.note("dns_statistics", 0, 5.0)
    assert (capacity.seconds, capacity.calls) == (0.0, {})
