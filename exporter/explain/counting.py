"""Counts absences now and then, for the metric: seldom enough to cost next to nothing."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from exporter.causes import Cause
from exporter.cooperative import in_slices
from exporter.explain.explainer import Explainer, tally

# After a start most things still wait for their first poll; a person looks at that within seconds.
FIRST_SECONDS = 5.0
EVERY_SECONDS = 60.0
# A count takes at most this share of the time: with 100,000 targets it is made every few minutes.
LARGEST_SHARE = 0.01


async def keep_counting(
    explainer: Explainer,
    show: Callable[[Mapping[tuple[str, Cause], int]], object],
    monotonic: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Count absent families by collector and cause again and again.

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
        # From twice the time of the last wait on, so that a start is followed closely and the rest is not.
        wait = max(min(EVERY_SECONDS, wait * 2), took / LARGEST_SHARE)
