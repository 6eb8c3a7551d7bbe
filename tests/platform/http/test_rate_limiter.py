"""The account's budget and its pauses, with a clock that moves only when every task waits for it."""

import asyncio
import heapq
import itertools
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from exporter.clock import Clocks
from exporter.platform.errors import RateLimited
from exporter.platform.http.rate_limiter import RateLimiter
from tests.platform.clients import settle

WALL = 1_770_000_000.0


@dataclass
class Time:
    """A clock on which tasks sleep; when no task can continue, it advances to the next wake-up."""

    now: float = 1000.0
    sleepers: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)
    turns: "itertools.count[int]" = field(default_factory=itertools.count)

    async def sleep(self, seconds: float) -> None:
        """Sleep until the clock has advanced by a number of seconds."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self.sleepers, (self.now + seconds, next(self.turns), woken))
        await woken

    async def pass_until(self, moment: float) -> None:
        """Advance the clock, and wake every sleeping task at its time."""
        await settle()
        while self.sleepers and self.sleepers[0][0] <= moment:
            self.now, _, woken = heapq.heappop(self.sleepers)
            if not woken.done():
                woken.set_result(None)
            await settle()
        self.now = moment

    async def stall(self, seconds: float) -> None:
        """Stall the process for a time: sleeping tasks wake only afterwards."""
        self.now += seconds
        for _, _, woken in self.sleepers:
            woken.set_result(None)
        self.sleepers.clear()
        await settle()


@dataclass
class LimitedCalls:
    """A budget, and the tasks that need it. A call is named by its operation and, after a colon, a mark of its own."""

    time: Time
    rate_limiter: RateLimiter
    waited: list[float] = field(default_factory=list)
    granted: list[tuple[float, str]] = field(default_factory=list)
    refused: list[tuple[str, float]] = field(default_factory=list)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def ask(self, *calls: str, longest: float = math.inf) -> None:
        """Request calls, each in its own task; `longest` is how long they wait for the end of a pause."""
        for call in calls:
            self.tasks[call] = asyncio.create_task(self._acquire(call, longest))

    async def _acquire(self, call: str, longest: float) -> None:
        try:
            began = self.time.now
            await self.rate_limiter.acquire(call.partition(":")[0], longest)
            if self.time.now > began:
                self.waited.append(self.time.now - began)
        except RateLimited as paused:
            self.refused.append((call, round(paused.retry_after or 0, 6)))
            return
        self.granted.append((round(self.time.now - 1000.0, 6), call))

    async def at(self, seconds: float) -> list[str]:
        """Return the calls that were granted up to this time since the beginning."""
        await self.time.pass_until(1000.0 + seconds)
        return [call for _, call in self.granted]

    async def play(self, scenario: str) -> None:
        """Play a scenario: its steps are divided by `|`; a number is a time, at which these calls have been granted."""
        limiter = self.rate_limiter
        for step in scenario.split("|"):
            word, *calls = step.split()
            match word, calls:
                case "ask", _:
                    self.ask(*calls)
                case (("answer" | "lose"), _):
                    for call in calls:
                        if word == "answer":
                            limiter.recover(call.partition(":")[0])
                        limiter.release()
                case "limit", [call, *wait]:
                    limiter.pause(call.partition(":")[0], float(wait[0]) if wait else None)
                    limiter.release()
                case "cancel", [call]:
                    await settle()
                    self.tasks[call].cancel()
                    await settle()
                case "pause", [*operations, left, "rate", rate]:
                    found = round(limiter.paused_for(*operations), 6), round(limiter.effective_rate, 6)
                    assert found == (float(left), float(rate))
                case _:
                    assert await self.at(float(word)) == calls, step


@asynccontextmanager
async def limited_calls(rate: float = 1e9, max_in_flight: float = 1000) -> AsyncIterator[LimitedCalls]:
    """Return a budget at the beginning of time; guessed pauses are as long as they can be."""
    time = Time()
    clocks = Clocks(monotonic=lambda: time.now, sleep=time.sleep)
    limiter = RateLimiter(rate, int(max_in_flight), clocks=clocks, random=lambda: 1.0)
    made = LimitedCalls(time, limiter)
    yield made
    for task in made.tasks.values():
        task.cancel()
    await asyncio.gather(*made.tasks.values(), return_exceptions=True)


# The name of a scenario, the rate and the calls at once; below them its steps.
SCENARIOS = """
no more calls are in flight than allowed; 1e9 3
ask a b c d e | 1 a b c | answer b | 2 a b c d | lose a | 3 a b c d e

a call that is given up in the queue leaves its place and its turn; 10 2
ask a b c d | 0 a | cancel b | 0.1 a c | cancel d | answer a c | ask e f | 0.31 a c e f | answer e f
| ask g h | 1 a c e f g h

an operation that is limited pauses, and no other does; 100 1000
ask a:1 | 0.01 a:1 | limit a:1 30 | ask a:2 b | 1 a:1 b | pause a 29.01 rate 50 | pause b 0 rate 50
| 29 a:1 b | 30.1 a:1 b a:2

two operations that are paused at once pause the account, until both may be called; 100 1000
ask a b | 0.1 a b | limit a 10 | limit b 30 | ask a:2 b:2 c | pause c 30 rate 25 | 29 a b | 31 a b a:2 b:2 c

an operation whose pause is over is none of two; 100 1000
ask a b | 0.1 a b | limit a 10 | 20 a b | limit b 30 | ask c | 21 a b c

paused calls leave their places to others; 1e9 2
ask a:1 | 0 a:1 | limit a:1 60 | ask a:2 a:3 a:4 b | 1 a:1 b

limits that are met during a pause halve the rate no further, and make it longer but not shorter; 100 1000
ask a:1 a:2 a:3 a:4 | 1 a:1 a:2 a:3 a:4 | limit a:1 5 | limit a:2 | limit a:3 9 | limit a:4 2 | pause a 9 rate 50

an answer during a pause does not end it; 100 1000
ask a:1 a:2 | 1 a:1 a:2 | limit a:1 30 | answer a:2 | pause a 30 rate 52

a call that waits for its turn looks at the pause again, and holds no place meanwhile; 10 3
ask a:1 a:2 a:3 | 0 a:1 | limit a:1 20 | 19 a:1 | 21 a:1 a:2 a:3

one answer that asks for an hour pauses all others for five minutes; 100 1000
ask a:1 | 0.1 a:1 | limit a:1 3600 | ask a:2 | 300 a:1 | 301 a:1 a:2

the rate comes back with the answers; 100 1000
ask a:1 | 0.1 a:1 | limit a:1 | ask a:2 | 10 a:1 a:2 | answer a:2 | pause 0 rate 52 | ask b | 11 a:1 a:2 b
| answer b | pause 0 rate 54
"""


@pytest.mark.parametrize("scenario", SCENARIOS.strip().split("\n\n"), ids=lambda scenario: scenario.partition(";")[0])
async def test_calls_pass(scenario: str) -> None:
    head, _, steps = scenario.partition("\n")
    async with limited_calls(*map(float, head.partition("; ")[2].split())) as it:
        await it.play(steps)


def names(count: int, prefix: str = "/") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


async def test_after_a_rest_no_more_than_a_tenth_of_a_second_is_made_up_for() -> None:
    async with limited_calls(rate=100) as it:
        await it.at(60)
        it.ask(*names(50))
        assert (len(await it.at(60)), len(await it.at(60.2))) == (11, 31)


async def test_a_wake_up_that_is_a_little_late_loses_nothing_of_the_rate() -> None:
    async with limited_calls(rate=100) as it:
        it.ask(*names(30))
        await settle()
        await it.time.stall(0.1)
        assert len(it.granted) == 11


async def test_after_a_stall_calls_that_waited_pass_at_the_rate_and_not_all_at_once() -> None:
    async with limited_calls(rate=5, max_in_flight=32) as it:
        it.ask(*names(60))
        await it.at(1.1)
        before = len(it.granted)
        await it.time.stall(20.0)
        await it.play(f"answer {' '.join(call for _, call in it.granted)}")
        at_once = len(it.granted) - before
        assert (before, at_once, len(await it.at(22.1)) - before) == (6, 1, 6)


async def test_a_pause_that_was_not_asked_for_grows_twofold_up_to_a_minute_and_an_answer_ends_that() -> None:
    async with limited_calls(rate=100) as it:
        pauses: list[float] = []
        for number in range(8):
            it.ask(f"a:{number}")
            await it.at(number * 100 + 99)
            # A Retry-After of 0 has the same effect as none.
            await it.play(f"limit a:{number} 0" if number % 2 else f"limit a:{number}")
            pauses.append(it.rate_limiter.paused_for("a"))
        await it.at(1000)
        assert (pauses, it.rate_limiter.effective_rate) == ([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0], 100 / 16)
        it.ask("a:good")
        await it.at(1100)
        await it.play("answer a:good | ask a:bad")
        await it.at(1200)
        await it.play("limit a:bad")
        assert it.rate_limiter.paused_for("a") == 1.0


async def test_a_call_that_may_not_wait_for_the_end_of_a_pause_is_refused_at_once_and_leaves_its_place() -> None:
    async with limited_calls(max_in_flight=2) as it:
        await it.play("ask a:1 | 0.01 a:1 | limit a:1 30")
        it.ask(*names(5, "a:early"), longest=29)
        await it.at(1)
        assert it.refused == [(call, 30.0) for call in names(5, "a:early")]
        it.ask("a:late", "a:later", longest=31)
        await it.play("30.02 a:1 a:late a:later")
        assert [round(seconds) for seconds in it.waited] == [29, 29], "a pause is throttling, too"
