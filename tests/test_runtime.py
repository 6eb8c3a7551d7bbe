"""What the process changes of the interpreter for itself."""

import pytest

from exporter.daemon import runtime
from tests.turned_clock import TurnedClock


async def test_lag_is_what_a_sleep_takes_too_long() -> None:
    clock = TurnedClock()
    late = iter([0.0, 2.5])
    seen: list[float] = []

    async def sleep(seconds: float) -> None:
        clock.now += seconds + next(late)

    with pytest.raises(RuntimeError, match="StopIteration"):
        await runtime.watch_lag(lambda lag: seen.append(round(lag, 6)), clock, sleep)
    assert seen == [0.0, 2.5]
