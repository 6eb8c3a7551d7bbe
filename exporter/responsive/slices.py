"""Splits long work on the event loop into short pieces, so that scrapes and other polls need not wait for it."""

import time
import types
from collections.abc import AsyncIterator, Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")

SLICE_SECONDS = 0.002


@types.coroutine
def give_way() -> Generator[None, None, None]:
    """Let the rest of the event loop run, as `asyncio.sleep(0)` does; help texts need not import asyncio for it."""
    yield


async def unhurried(items: Iterable[T], monotonic: Callable[[], float] = time.monotonic) -> AsyncIterator[T]:
    """Yield the items, and let the rest of the loop run whenever the work on them has taken a slice of time.

    Args:
        items: the items to work on; a generator does a part of its work for each item.
        monotonic: a clock in seconds.
    """
    began = monotonic()
    for item in items:
        yield item
        if monotonic() - began >= SLICE_SECONDS:
            await give_way()
            began = monotonic()


async def in_slices(work: Generator[None, None, T], monotonic: Callable[[], float] = time.monotonic) -> T:
    """Do work that yields after each small piece, and let the rest of the loop run after each slice of time.

    Args:
        work: a generator; after each `yield` other tasks of the loop may run.
        monotonic: a clock in seconds.

    Returns:
        What the generator returns.
    """
    results: list[T] = []
    async for _ in unhurried(_keeping(work, results), monotonic):
        pass
    return results[0]


def at_once(work: Generator[None, None, T]) -> T:
    """Do the same work without pauses."""
    results: list[T] = []
    for _ in _keeping(work, results):
        pass
    return results[0]


def _keeping(work: Generator[None, None, T], results: list[T]) -> Generator[None, None, None]:
    """Yield the pieces of the work, and add its return value to the results."""
    results.append((yield from work))
