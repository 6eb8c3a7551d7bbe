"""Fairness of the event loop: turns for long work, and a measurement of the loop's lag."""

import asyncio
import time
from collections.abc import Awaitable, Callable

LAG_EVERY_SECONDS = 0.1


class Turns:
    """Lets long work run one piece at a time: the loop waits for one piece, however many answers are being parsed.

    Attributes:
        places: for the largest answers, of which few are read at a time, because of the memory that they take.
    """

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(2)
        self._lock = asyncio.Lock()

    async def take(self) -> None:
        """Wait until the rest of the loop, and earlier callers, have had a turn."""
        async with self._lock:
            await asyncio.sleep(0)


async def watch_lag(
    observe: Callable[[float], object],
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Sleep repeatedly, by a clock in seconds, and report each time how many seconds late the event loop resumed."""
    while True:
        began = monotonic()
        await sleep(LAG_EVERY_SECONDS)
        observe(max(0.0, monotonic() - began - LAG_EVERY_SECONDS))
