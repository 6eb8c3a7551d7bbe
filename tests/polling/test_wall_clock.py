"""Ticks follow a monotonic clock, not this machine's wall clock."""

from datetime import datetime, timedelta

import pytest

from exporter.polling.ticks import Every, MonotonicTime


@pytest.mark.parametrize(
    ("passed", "following"),
    [(0.0, [10.0]), (9.0, [10.0]), (10.0, [20.0, 20.0]), (3600.0, [3600.0, 3610.0])],
)
def test_a_tick_is_due_once_however_many_intervals_have_passed(passed: float, following: list[float]) -> None:
    clock = [1_000.0]
    zone = MonotonicTime(lambda: clock[0])
    began = datetime.now(zone)
    trigger, due = Every(10.0), Every(10.0).get_next_fire_time(None, began)
    clock[0] += passed
    found = [due]
    while found[-1] <= datetime.now(zone):
        found.append(trigger.get_next_fire_time(found[-1], datetime.now(zone)))
    assert found[-1] - began in {timedelta(seconds=one) for one in following}
    assert len(found) <= 3
