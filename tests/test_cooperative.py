import asyncio

from exporter.cooperative import SLICE_SECONDS, unhurried
from tests.rig import TurnedClock


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
