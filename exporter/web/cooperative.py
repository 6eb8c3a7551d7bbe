"""Long work on the event loop in slices, so that a scrape never waits for a page."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

SLICE_SECONDS = 0.002


async def unhurried(items: Iterable[T], monotonic: Callable[[], float]) -> AsyncIterator[T]:
    """The items, with a turn for the rest of the program whenever the work on them has held it up for a slice.

    Args:
        items: what is to be worked on.
        monotonic: a clock in seconds.
    """
    began = monotonic()
    for item in items:
        yield item
        if monotonic() - began >= SLICE_SECONDS:
            await asyncio.sleep(0)
            began = monotonic()
