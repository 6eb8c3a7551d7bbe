"""Long work on the event loop in short pieces, so that scrapes and other polls never wait for it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")

SLICE_SECONDS = 0.002
LAG_EVERY_SECONDS = 0.1


class Turns:
    """Pieces of long work, one at a time: however many answers are parsed at once, the loop waits for one piece."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def take(self) -> None:
        """Wait until the rest of the loop, and whoever asked before, has had a turn."""
        async with self._lock:
            await asyncio.sleep(0)


async def unhurried(items: Iterable[T], monotonic: Callable[[], float] = time.monotonic) -> AsyncIterator[T]:
    """Yield the items, and let the rest of the loop run whenever the work on them has taken a slice of time.

    Args:
        items: what is to be worked on; a generator does a piece of its work for each item.
        monotonic: a clock in seconds.
    """
    began = monotonic()
    for item in items:
        yield item
        if monotonic() - began >= SLICE_SECONDS:
            await asyncio.sleep(0)
            began = monotonic()


async def in_slices(work: Generator[None, None, T], monotonic: Callable[[], float] = time.monotonic) -> T:
    """Do work that yields after each small piece, and let the rest of the loop run after each slice of time.

    Args:
        work: a generator; between two of its pieces anything else on the loop may run.
        monotonic: a clock in seconds.

    Returns:
        What the generator returns.
    """
    began = monotonic()
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
        if monotonic() - began >= SLICE_SECONDS:
            await asyncio.sleep(0)
            began = monotonic()


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


def at_once(work: Generator[None, None, T]) -> T:
    """Do the same work without a pause."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            result: T = ended.value
            return result
