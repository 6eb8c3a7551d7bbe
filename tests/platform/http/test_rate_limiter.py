"""The account's budget and its pauses, with a clock that moves only when every task waits for it."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from exporter.clock import Clocks
from exporter.platform.errors import RateLimited
from exporter.platform.http.rate_limiter import Permit, RateLimiter
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
    """A budget, and the tasks that need it."""

    time: Time
    rate_limiter: RateLimiter
    waited: list[float]
    granted: list[tuple[float, str]] = field(default_factory=list)
    refused: list[tuple[str, int, float]] = field(default_factory=list)
    permits: dict[str, Permit] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def ask(self, *paths: str, until: float | None = None) -> None:
        """Request calls, each in its own task; the permits are kept until the calls are answered."""
        for path in paths:
            self.tasks[path] = asyncio.create_task(self._acquire(path, until))

    async def _acquire(self, path: str, until: float | None) -> None:
        try:
            self.permits[path] = await self.rate_limiter.acquire(path, until)
        except RateLimited as paused:
            self.refused.append((path, paused.status, round(paused.retry_after or 0, 6)))
            return
        self.granted.append((round(self.time.now - 1000.0, 6), path))

    async def at(self, seconds: float) -> list[str]:
        """Return the calls that were granted up to this time since the beginning."""
        await self.time.pass_until(1000.0 + seconds)
        return [path for _, path in self.granted]

    async def play(self, scenario: str) -> None:
        """Play a scenario: its steps are divided by `|`; a number is a time, at which these calls have been granted."""
        for step in scenario.split("|"):
            word, *paths = step.split()
            match word, paths:
                case "ask", _:
                    self.ask(*paths)
                case "answer", _:
                    for path in paths:
                        self.rate_limiter.release(self.permits.pop(path), answered=True)
                case "lose", [path]:
                    self.rate_limiter.release(self.permits.pop(path))
                case "429", [path]:
                    self.rate_limiter.release(self.permits.pop(path), limited=True)
                case "429", [path, wait]:
                    self.rate_limiter.release(self.permits.pop(path), limited=True, wait=float(wait))
                case "cancel", [path]:
                    await settle()
                    self.tasks[path].cancel()
                    await settle()
                case "pause", [left, "rate", rate]:
                    limiter = self.rate_limiter
                    assert (limiter.pause(), round(limiter.effective_rate, 6)) == (float(left), float(rate))
                case _:
                    assert await self.at(float(word)) == paths, step


@asynccontextmanager
async def limited_calls(rate: float = 1e9, max_in_flight: float = 1000) -> AsyncIterator[LimitedCalls]:
    """Return a budget at the beginning of time."""
    time, waited = Time(), list[float]()
    clocks = Clocks(monotonic=lambda: time.now, sleep=time.sleep)
    limiter = RateLimiter(rate, int(max_in_flight), clocks=clocks, throttled=waited.append)
    made = LimitedCalls(time, limiter, waited)
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

one resource's limit stops no other for longer than one probe; 1e9 1000
ask a | 0.01 a | 429 a 60 | ask b c d | 1 a b | answer b | 2 a b c d | pause 0 rate 1e9

the account's limit pauses everything after one probe, and after the pause there is one again; 100 1000
ask a | 0.01 a | 429 a 30 | ask b c d | 1 a b | 429 b 30 | pause 30 rate 50 | 30.9 a b | 31.1 a b c
| answer c | 32 a b c d

answers to calls from before the limit prove nothing; 1e9 1000
ask a b c | 0.01 a b c | 429 a | answer b | ask d e | 1 a b c d | answer c | 2 a b c d

the same resource again proves nothing about the account, and an answer ends whichever limit it was; 1e9 1000
ask a | 0 a | 429 a 10 | ask a | 1 a a | 429 a 10 | ask a | 2 a a a | 429 a 10 | pause 0 rate 1e9
| ask a b | 5 a a a a | answer a | 6 a a a a b

limits that were met during a pause do not lengthen it; 100 1000
ask a b c d | 1 a b c d | 429 a 5 | 429 b 5 | 429 c 5 | 429 d 5 | pause 5 rate 50

a call that has passed the gate and waits for its turn looks at the gate again; 10 1000
ask a b c d | 0 a | 429 a | 1 a b | 429 b 20 | 20 a b | 22 a b c

a probe that waits for its turn looks at the gate again, too, however short the pause is; 1 1000
ask a b | 1 a b | 429 a | ask c | 1.5 a b | 429 b 1 | 2.4 a b | 10 a b c

a probe that is lost makes room for the next; 10 1000
ask a | 0.01 a | 429 a | ask b c d | 1 a b | lose b | 2 a b c | answer c | ask e | 3 a b c d e

a probe that is cancelled while it waits makes room for the next; 10 1000
ask a | 0.01 a | 429 a | ask b c d | cancel b | 2 a c | answer c | ask e | 3 a c d e

the rate comes back with the answers; 100 1000
ask a b | 0.1 a b | 429 a | 429 b | ask c | 10 a b c | answer c | pause 0 rate 52 | ask d | 11 a b c d
| answer d | pause 0 rate 54
"""


@pytest.mark.parametrize("scenario", SCENARIOS.strip().split("\n\n"), ids=lambda scenario: scenario.partition(";")[0])
async def test_calls_pass(scenario: str) -> None:
    head, _, steps = scenario.partition("\n")
    async with limited_calls(*map(float, head.partition("; ")[2].split())) as it:
        await it.play(steps)


def names(count: int, prefix: str = "/") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


async def test_calls_pass_at_the_rate_in_the_order_in_which_they_came_and_their_waits_are_told() -> None:
    async with limited_calls(rate=10) as it:
        it.ask(*names(30))
        await it.at(100)
    assert it.granted == [(round(number / 10, 6), path) for number, path in enumerate(names(30))]
    assert [round(seconds, 6) for seconds in it.waited] == [round(number / 10, 6) for number in range(1, 30)]


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
        await it.play(f"answer {' '.join(it.permits)}")
        at_once = len(it.granted) - before
        assert (before, at_once, len(await it.at(22.1)) - before) == (6, 1, 6)


async def test_a_pause_that_was_not_asked_for_grows_twofold_up_to_a_minute_and_an_answer_ends_that() -> None:
    async with limited_calls(rate=100) as it:
        await it.play("ask first | 0.01 first | 429 first")
        pauses: list[float] = []
        for number in range(8):
            it.ask(f"/{number}")
            await it.at(number * 100 + 99)
            # A Retry-After of 0 says as little as none.
            await it.play(f"429 /{number} 0" if number % 2 else f"429 /{number}")
            pauses.append(it.rate_limiter.pause())
        await it.at(1000)
        assert (pauses, it.rate_limiter.effective_rate) == ([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0], 100 / 16)
        it.ask("/good")
        await it.at(1100)
        await it.play("answer /good | ask /bad /worse")
        await it.at(1200)
        await it.play("429 /bad | 429 /worse")
        assert it.rate_limiter.pause() == 1.0


async def test_a_call_that_is_of_no_use_after_the_pause_is_refused_at_once_and_leaves_its_place() -> None:
    async with limited_calls(max_in_flight=2) as it:
        await it.play("ask a b | 0.01 a b | 429 a | 429 b 30")
        it.ask(*names(5, "/early"), until=1000.0 + 29)
        await it.at(1)
        assert it.refused == [(path, 429, 30.0) for path in names(5, "/early")]
        it.ask("late", "later", until=1000.0 + 31)
        await it.play("30.02 a b late | answer late | 30.5 a b late later")
