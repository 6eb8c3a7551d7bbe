"""The event loop: whose turn it is to do long work, and how late it wakes up."""

import asyncio
import time
from collections.abc import Awaitable, Callable

LAG_EVERY_SECONDS = 0.1


class Turns:
    """Pieces of long work, one at a time: however many answers are parsed at once, the loop waits for one piece."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def take(self) -> None:
        """Wait until the rest of the loop, and whoever asked before, has had a turn."""
        async with self._lock:
            await asyncio.sleep(0)


async def watch_lag(
    observe: Callable[[float], object],
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Sleep again and again, and report each time how late the event loop woke this up.

    Args:
        observe: takes the seconds.
        monotonic: a clock in seconds.
        sleep: waits for a number of seconds by that clock.
    """
    while True:
        began = monotonic()
        await sleep(LAG_EVERY_SECONDS)
        observe(max(0.0, monotonic() - began - LAG_EVERY_SECONDS))
