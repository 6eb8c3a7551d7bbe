"""What the process changes of the interpreter for itself."""

import gc
import sys
import weakref

import pytest

from exporter.daemon import runtime
from tests.turned_clock import TurnedClock


class Node:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself: Node | None = self


def test_what_settles_is_excluded_from_collections_and_freed_when_nothing_refers_to_it() -> None:
    cycle, single = Node(), Node()
    single.itself = None
    alive = [weakref.ref(cycle), weakref.ref(single)]
    try:
        runtime.settle()
        del cycle, single
        gc.collect()
        assert [one() is not None for one in alive] == [True, False]
    finally:
        gc.unfreeze()


def test_threads_change_more_often_and_garbage_is_collected_more_rarely_in_a_process_of_its_own() -> None:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    try:
        sys.setswitchinterval(0.005)
        gc.set_threshold(700, 11, 10)
        runtime.share()
        assert (round(sys.getswitchinterval(), 6), gc.get_threshold()) == (0.002, (20_000, 11, 35))
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)


async def test_lag_is_what_a_sleep_takes_too_long() -> None:
    clock = TurnedClock()
    late = iter([0.0, 2.5])
    seen: list[float] = []

    async def sleep(seconds: float) -> None:
        clock.now += seconds + next(late)

    with pytest.raises(RuntimeError, match="StopIteration"):
        await runtime.watch_lag(lambda lag: seen.append(round(lag, 6)), clock, sleep)
    assert seen == [0.0, 2.5]
