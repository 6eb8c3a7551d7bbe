"""A budget, tasks that need it, and a clock that advances when no task can continue."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from exporter.clock import Clocks
from exporter.platform.http.rate_limiter import Pause, Paused, Permit, RateLimiter


@dataclass
class Time:
    """A clock on which tasks sleep; when no task can continue, it advances to the next wake-up."""

    now: float = 1000.0
    sleepers: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)
    turns: "itertools.count[int]" = field(default_factory=itertools.count)

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now

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


async def settle() -> None:
    """Let every task run until it has to wait."""
    for _ in range(50):
        await asyncio.sleep(0)


@dataclass
class LimitedCalls:
    """A budget, and the tasks that need it."""

    time: Time
    rate_limiter: RateLimiter
    waited: list[float]
    granted: list[tuple[float, str]] = field(default_factory=list)
    refused: list[tuple[float, str, float]] = field(default_factory=list)
    permits: dict[str, Permit] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def ask(self, *paths: str, until: float | None = None) -> None:
        """Request calls, each in its own task; the permits are kept until the calls are answered."""
        for path in paths:
            self.tasks[path] = self._start(self._acquire(path, until))

    @staticmethod
    def _start(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.create_task(work)

    async def _acquire(self, path: str, until: float | None) -> None:
        try:
            self.permits[path] = await self.rate_limiter.acquire(path, until)
        except Paused as paused:
            self.refused.append((self.time.now - 1000.0, path, paused.seconds))
            return
        self.granted.append((round(self.time.now - 1000.0, 6), path))

    def answer(self, *paths: str) -> None:
        """Answer these calls."""
        for path in paths:
            self.rate_limiter.release(self.permits.pop(path), answered=True)

    def limit(self, path: str, wait: float | None = None) -> None:
        """Answer this call with a 429."""
        self.rate_limiter.release(self.permits.pop(path), limited=True, wait=wait)

    def lose(self, path: str) -> None:
        """Give no answer to this call."""
        self.rate_limiter.release(self.permits.pop(path))

    async def at(self, seconds: float) -> list[str]:
        """Return the calls that were granted up to this time since the beginning."""
        await self.time.pass_until(1000.0 + seconds)
        return [path for _, path in self.granted]


@asynccontextmanager
async def limited_calls(
    rate: float = 1e9, max_in_flight: int = 1000, paused: float = 0.0
) -> AsyncIterator[LimitedCalls]:
    """Return a budget at the beginning of time, in a pause of a number of seconds."""
    time, waited = Time(), list[float]()
    clocks = Clocks(monotonic=time, sleep=time.sleep)
    pause = Pause(clocks)
    pause.begin(paused)
    made = LimitedCalls(
        time, RateLimiter(rate, max_in_flight, clocks=clocks, throttled=waited.append, pause=pause), waited
    )
    yield made
    for task in made.tasks.values():
        task.cancel()
    await asyncio.gather(*made.tasks.values(), return_exceptions=True)
