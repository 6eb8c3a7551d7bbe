"""How often an account's targets can be polled."""

import pytest

from exporter.polling.capacity import Pace


def test_the_demand_is_every_collector_s_polls_times_the_calls_of_one() -> None:
    pace = Pace(rate=10, max_in_flight=32)
    pace.note("discovery", 5, 1.0)
    assert pace.demand({"dns_statistics": 2.0, "discovery": 0.1}) == pytest.approx(2.0 + 0.5)


def test_intervals_stand_while_the_budget_carries_them() -> None:
    assert Pace(rate=10, max_in_flight=32).stretch({"dns_statistics": 9.0}) == 1.0


def test_intervals_stretch_by_what_is_asked_over_what_is_there() -> None:
    assert Pace(rate=10, max_in_flight=32).stretch({"dns_statistics": 19.0}) == pytest.approx(2.0)


def test_a_slow_platform_gives_less_than_the_budget() -> None:
    pace = Pace(rate=100, max_in_flight=10)
    pace.note("dns_statistics", 1, 5.0)
    assert pace.capacity() == pytest.approx(2.0)
    assert pace.stretch({"dns_statistics": 3.8}) == pytest.approx(2.0)


def test_a_platform_that_recovers_is_believed_by_and_by() -> None:
    pace = Pace(rate=100, max_in_flight=10)
    pace.note("dns_statistics", 1, 5.0)
    for _ in range(60):
        pace.note("dns_statistics", 1, 0.05)
    assert pace.capacity() > 50


def test_a_poll_without_a_call_tells_nothing() -> None:
    pace = Pace(rate=10, max_in_flight=32)
    pace.note("dns_statistics", 0, 5.0)
    assert (pace.seconds, pace.calls) == (0.0, {})
