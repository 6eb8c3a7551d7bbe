import asyncio
from collections.abc import Generator

import pytest

from exporter.responsive.event_loop import Turns, watch_lag
from exporter.responsive.slices import SLICE_SECONDS, at_once, in_slices, unhurried
from tests.turned_clock import TurnedClock


async def test_all_items_come_in_their_order() -> None:
    assert [item async for item in unhurried("abc", TurnedClock())] == ["a", "b", "c"]


async def test_the_loop_turns_when_a_slice_is_over_and_not_before() -> None:
    clock = TurnedClock()
    seen: list[str] = []

    async def others() -> None:
        while True:
            seen.append("loop")
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    async for item in unhurried("abcd", clock):
        seen.append(item)
        clock.now += SLICE_SECONDS * 0.6
    task.cancel()
    assert seen == ["a", "b", "loop", "c", "d", "loop"]


async def test_work_in_slices_returns_what_it_comes_to_and_lets_the_loop_turn() -> None:
    clock = TurnedClock()
    seen: list[str] = []

    def work() -> Generator[None, None, str]:
        for piece in "ab":
            seen.append(piece)
            clock.now += SLICE_SECONDS * 2
            yield
        return "done"

    asyncio.get_running_loop().call_soon(seen.append, "loop")
    assert await in_slices(work(), clock) == "done"
    assert seen == ["a", "loop", "b"]
    assert at_once(work()) == "done"


async def test_pieces_of_many_works_take_turns() -> None:
    turns = Turns()
    seen: list[str] = []

    async def work(name: str) -> None:
        for _ in range(3):
            await turns.take()
            seen.append(name)

    await asyncio.gather(work("a"), work("b"))
    assert sorted(seen) == ["a"] * 3 + ["b"] * 3
    assert seen[:2] in (["a", "b"], ["b", "a"])


async def test_lag_is_what_a_sleep_takes_too_long() -> None:
    clock = TurnedClock()
    late = iter([0.0, 2.5])
    seen: list[float] = []

    async def sleep(seconds: float) -> None:
        clock.now += seconds + next(late)

    with pytest.raises(RuntimeError, match="StopIteration"):
        await watch_lag(lambda lag: seen.append(round(lag, 6)), clock, sleep)
    assert seen == [0.0, 2.5]
