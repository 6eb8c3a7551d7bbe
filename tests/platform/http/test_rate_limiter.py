"""The account's budget, with a clock that moves only when every task waits for it."""

import itertools

import pytest

from tests.platform.limited_calls import LimitedCalls, limited_calls, settle


def names(count: int, prefix: str = "/") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


async def test_calls_pass_at_the_rate_in_the_order_in_which_they_came() -> None:
    async with limited_calls(rate=10) as it:
        it.ask(*names(30))
        await it.at(100)
    assert [path for _, path in it.granted] == names(30)
    moments = [moment for moment, _ in it.granted]
    assert moments[:2] == [0.0, 0.1]
    assert [round(later - earlier, 6) for earlier, later in itertools.pairwise(moments)] == [0.1] * 29


async def test_after_a_rest_no_more_than_a_tenth_of_a_second_is_made_up_for() -> None:
    async with limited_calls(rate=100) as it:
        await it.at(60)
        it.ask(*names(50))
        at_once = len(await it.at(60))
        after_a_second = len(await it.at(60.2))
    assert (at_once, after_a_second) == (11, 31)


async def wake_late(it: LimitedCalls, seconds: float) -> None:
    """Stall the process for a time: sleeping tasks wake only afterwards."""
    it.time.now += seconds
    for _, _, woken in it.time.sleepers:
        woken.set_result(None)
    it.time.sleepers.clear()
    await settle()


async def test_a_wake_up_that_is_a_little_late_loses_nothing_of_the_rate() -> None:
    async with limited_calls(rate=100) as it:
        it.ask(*names(30))
        await settle()
        await wake_late(it, 0.1)
        assert len(it.granted) == 11


async def test_after_a_stall_calls_that_waited_pass_at_the_rate_and_not_all_at_once() -> None:
    async with limited_calls(rate=5, max_in_flight=32) as it:
        it.ask(*names(60))
        await it.at(1.1)
        before = len(it.granted)
        await wake_late(it, 20.0)
        it.answer(*list(it.permits))
        at_once = len(it.granted) - before
        after_a_second = len(await it.at(22.1)) - before
    assert (before, at_once, after_a_second) == (6, 1, 6)


async def test_no_more_calls_are_in_flight_than_allowed() -> None:
    async with limited_calls(max_in_flight=3) as it:
        it.ask(*names(5))
        assert await it.at(1) == names(3)
        it.answer("/1")
        assert await it.at(2) == names(4)
        it.lose("/0")
        assert await it.at(3) == names(5)


async def test_the_time_that_a_call_waited_is_told() -> None:
    async with limited_calls(rate=10) as it:
        it.ask("/a", "/b", "/c")
        await it.at(5)
    assert [round(seconds, 6) for seconds in it.waited] == [0.1, 0.2]


async def test_a_call_that_is_given_up_in_the_queue_leaves_its_place_and_its_turn() -> None:
    async with limited_calls(rate=10, max_in_flight=2) as it:
        it.ask("/a", "/b", "/c", "/d")
        assert await it.at(0) == ["/a"]
        it.tasks["/b"].cancel()
        await settle()
        assert await it.at(0.1) == ["/a", "/c"]
        it.tasks["/d"].cancel()
        await settle()
        it.answer("/a", "/c")
        it.ask("/e", "/f")
        assert await it.at(0.31) == ["/a", "/c", "/e", "/f"]
        it.answer("/e", "/f")
        it.ask("/g", "/h")
        assert len(await it.at(1)) == 6


async def test_one_resources_limit_stops_no_other_for_longer_than_one_probe() -> None:
    async with limited_calls() as it:
        it.ask("/a")
        await it.at(0.01)
        it.limit("/a", wait=60)
        it.ask("/b", "/c", "/d")
        # They pass one at a time until one tells.
        assert await it.at(1) == ["/a", "/b"]
        it.answer("/b")
        assert await it.at(2) == ["/a", "/b", "/c", "/d"]
        assert (it.rate_limiter.pause_left(), it.rate_limiter.effective_rate) == (0.0, 1e9)


async def test_the_accounts_limit_pauses_everything_after_one_probe() -> None:
    async with limited_calls(rate=100) as it:
        it.ask("/a")
        await it.at(0.01)
        it.limit("/a", wait=30)
        it.ask("/b", "/c", "/d")
        assert await it.at(1) == ["/a", "/b"]
        it.limit("/b", wait=30)
        assert (it.rate_limiter.pause_left(), it.rate_limiter.effective_rate) == (30.0, 50.0)
        assert await it.at(30.9) == ["/a", "/b"]
        # The pause is over: again one probe, and the rest when it has been answered.
        assert await it.at(31.1) == ["/a", "/b", "/c"]
        it.answer("/c")
        assert await it.at(32) == ["/a", "/b", "/c", "/d"]


async def test_a_pause_that_was_not_asked_for_grows_twofold_up_to_a_minute() -> None:
    pauses: list[float] = []
    async with limited_calls(rate=100) as it:
        it.ask("/first")
        await it.at(0.01)
        it.limit("/first")
        for number in range(8):
            path = f"/{number}"
            it.ask(path)
            await it.at(number * 100 + 99)
            # A Retry-After of 0 says as little as none.
            it.limit(path, wait=0.0 if number % 2 else None)
            pauses.append(it.rate_limiter.pause_left())
        await it.at(1000)
        assert it.rate_limiter.effective_rate == 100 / 16
        it.ask("/good")
        await it.at(1100)
        it.answer("/good")
        it.ask("/bad", "/worse")
        await it.at(1200)
        it.limit("/bad")
        it.limit("/worse")
        assert (pauses, it.rate_limiter.pause_left()) == ([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0], 1.0)


async def test_the_rate_comes_back_with_the_answers() -> None:
    async with limited_calls(rate=100) as it:
        it.ask("/a", "/b")
        await it.at(0.1)
        it.limit("/a")
        it.limit("/b")
        rates = []
        for number in range(30):
            path = f"/good{number}"
            it.ask(path)
            await it.at(10 + number)
            it.answer(path)
            rates.append(round(it.rate_limiter.effective_rate, 6))
    assert (rates[:3], rates[24:]) == ([52.0, 54.0, 56.0], [100.0] * 6)


async def test_answers_to_calls_from_before_the_limit_prove_nothing() -> None:
    async with limited_calls() as it:
        it.ask("/a", "/b", "/c")
        await it.at(0.01)
        it.limit("/a")
        it.answer("/b")
        it.ask("/d", "/e")
        # Still one at a time.
        assert await it.at(1) == ["/a", "/b", "/c", "/d"]
        it.answer("/c")
        assert await it.at(2) == ["/a", "/b", "/c", "/d"]


async def test_the_same_resource_again_proves_nothing_about_the_account() -> None:
    async with limited_calls() as it:
        for turn in range(3):
            it.ask("/a")
            await it.at(turn)
            it.limit("/a", wait=10)
        assert it.rate_limiter.pause_left() == 0.0
        it.ask("/a", "/b")
        assert (await it.at(5))[3:] == ["/a"]
        # Its limit is over, and whichever limit it was.
        it.answer("/a")
        assert (await it.at(6))[3:] == ["/a", "/b"]


async def test_limits_that_were_met_during_a_pause_do_not_lengthen_it() -> None:
    async with limited_calls(rate=100) as it:
        it.ask(*names(10))
        await it.at(1)
        it.limit("/0", wait=5)
        for path in names(10)[1:]:
            it.limit(path, wait=5)
        assert (it.rate_limiter.pause_left(), it.rate_limiter.effective_rate) == (5.0, 50.0)


async def test_a_call_that_waited_for_its_turn_looks_at_the_gate_again() -> None:
    async with limited_calls(rate=10) as it:
        it.ask("/a", "/b", "/c", "/d")
        assert await it.at(0) == ["/a"]
        # The others have passed the gate and wait for their turns, and now there is a limit.
        it.limit("/a")
        assert await it.at(1) == ["/a", "/b"]
        it.limit("/b", wait=20)
        assert await it.at(20) == ["/a", "/b"]
        assert await it.at(22) == ["/a", "/b", "/c"]


@pytest.mark.parametrize("end", ["lost", "cancelled while it waits", "cancelled while it calls"])
async def test_a_probe_that_tells_nothing_makes_room_for_the_next(end: str) -> None:
    async with limited_calls(rate=10) as it:
        it.ask("/a")
        await it.at(0.01)
        it.limit("/a")
        it.ask("/b", "/c", "/d")
        if end == "cancelled while it waits":
            await settle()
            it.tasks["/b"].cancel()
            expected = ["/a", "/c"]
        else:
            assert await it.at(1) == ["/a", "/b"]
            it.lose("/b")
            expected = ["/a", "/b", "/c"]
        assert await it.at(2) == expected
        it.answer("/c")
        it.ask("/e")
        assert await it.at(3) == [*expected, "/d", "/e"]


async def test_a_call_that_is_of_no_use_after_the_pause_is_refused_at_once() -> None:
    async with limited_calls() as it:
        it.ask("/a", "/b")
        await it.at(0.01)
        it.limit("/a")
        it.limit("/b", wait=30)
        it.ask("/early", until=1000.0 + 29)
        it.ask("/late", until=1000.0 + 31)
        await it.at(1)
        assert [(path, round(seconds, 6)) for _, path, seconds in it.refused] == [("/early", 30.0)]
        assert await it.at(30.02) == ["/a", "/b", "/late"]


async def test_a_refused_call_leaves_its_place() -> None:
    async with limited_calls(max_in_flight=2) as it:
        it.ask("/a", "/b")
        await it.at(0.01)
        it.limit("/a")
        it.limit("/b", wait=30)
        it.ask(*names(5, "/early"), until=1000.0 + 1)
        await it.at(1)
        assert len(it.refused) == 5
        it.ask("/c", "/d")
        await it.at(31)
        it.answer("/c")
        assert await it.at(32) == ["/a", "/b", "/c", "/d"]


async def test_a_part_of_the_budget_is_a_part_of_its_rate_and_of_its_calls_at_once() -> None:
    async with limited_calls(rate=1000, max_in_flight=8) as it:
        it.rate_limiter.resize(0.25)
        assert (it.rate_limiter.rate, it.rate_limiter.max_in_flight) == (250, 2)
        it.ask(*names(20))
        await it.at(1)
        # Places that were free before the change are given once more.
        it.answer(*list(it.permits))
        await it.at(2)
        for second in range(3, 7):
            assert len(it.permits) == 2
            it.answer(*list(it.permits))
            await it.at(second)
        it.rate_limiter.resize(1.0)
        it.ask(*names(20, "/more/"))
        await it.at(9)
        assert len(it.permits) == 8


async def test_after_a_pause_that_an_earlier_process_left_calls_pass_one_at_a_time_until_one_is_answered() -> None:
    async with limited_calls(paused=30) as it:
        it.ask("/a", "/b", "/c")
        in_the_pause = list(await it.at(29))
        first = list(await it.at(31))
        it.answer(*first)
        assert (in_the_pause, first, sorted(await it.at(32))) == ([], ["/a"], ["/a", "/b", "/c"])
