"""Splits long work, of the event loop and of threads, into short pieces, so that scrapes and polls need not wait."""

import time
import types
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from typing import TypeVar, cast

T = TypeVar("T")

SLICE_SECONDS = 0.002
# The event loop releases the interpreter at each system call, and may wait for a switch interval to get it back. So a
# thread with much work runs for this time, and then sleeps long enough for the loop to run.
LONGEST_STRETCH = 0.002
GAP = 0.00005


@types.coroutine
def give_way() -> Generator[None, None, None]:
    """Let the rest of the event loop run, as `asyncio.sleep(0)` does; help texts need not import asyncio for it."""
    yield


async def unhurried(items: Iterable[T], monotonic: Callable[[], float] = time.monotonic) -> AsyncIterator[T]:
    """Yield the items, and let the rest of the loop run whenever the work on them has taken a slice of time.

    A generator does a part of its work for each item.
    """
    began = monotonic()
    for item in items:
        yield item
        if monotonic() - began >= SLICE_SECONDS:
            await give_way()
            began = monotonic()


async def in_slices(work: Generator[None, None, T], monotonic: Callable[[], float] = time.monotonic) -> T:
    """Do work that yields after each small piece, and return its result.

    After each slice of time the rest of the loop runs.
    """
    began = monotonic()
    while True:
        try:
            next(work)
        except StopIteration as end:
            return cast("T", end.value)
        if monotonic() - began >= SLICE_SECONDS:
            await give_way()
            began = monotonic()


def at_once(work: Generator[None, None, T]) -> T:
    """Do the same work without pauses."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return cast("T", end.value)


class YieldToOthers:
    """Lets the event loop run while a thread does long work: call it between small pieces of the work.

    Args:
        monotonic: a clock in seconds.
        sleep: lets the thread sleep for a number of seconds.
    """

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._yielded = 0.0

    def __call__(self) -> None:
        """Sleep briefly, if the thread has worked for long enough."""
        now = self._monotonic()
        if now - self._yielded >= LONGEST_STRETCH:
            self._sleep(GAP)
            self._yielded = self._monotonic()
