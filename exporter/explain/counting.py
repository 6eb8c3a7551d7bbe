"""Counts absences from time to time, for the metric, with little processor time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from exporter.causes import Cause
from exporter.cooperative import in_slices
from exporter.explain.explainer import Explainer, tally

# The first count comes soon after the start, because users look at it then; later counts become rarer.
FIRST_SECONDS = 5.0
EVERY_SECONDS = 60.0
# A count uses at most this share of the time: with 100,000 targets there is one every few minutes.
LARGEST_SHARE = 0.01


async def keep_counting(
    explainer: Explainer,
    show: Callable[[Mapping[tuple[str, Cause], int]], object],
    monotonic: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Count absent families by collector and cause, again and again.

    Args:
        explainer: finds them.
        show: takes the counts.
        monotonic: a clock in seconds.
        sleep: waits for a number of seconds by that clock.
    """
    wait = FIRST_SECONDS
    while True:
        await sleep(wait)
        began = monotonic()
        show(await in_slices(tally(explainer.absences()), monotonic))
        took = monotonic() - began
        # Each wait is at least twice as long as the one before, so that counts are frequent only after the start.
        wait = max(min(EVERY_SECONDS, wait * 2), took / LARGEST_SHARE)
