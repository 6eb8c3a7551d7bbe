"""Tunes the process for its event loop, and measures the loop's lag."""

import asyncio
import gc
import sys
from collections.abc import Callable

LAG_EVERY_SECONDS = 1.0
GROWTH_CHECKED_EVERY_SECONDS = 5.0
# The switch interval of threads: how long a thread runs before the event loop may take over. Python's default is
# 5 ms. With 0.5 ms, a busy daemon spends a tenth of its processor time on switches.
TURN_SECONDS = 0.002
# The number of new objects after which Python collects the youngest generation. The results of a poll live for about a
# second, until the ledger and the renderer have used them. Python's default is far lower. Collections during that
# second would then examine most results, and take 5 % of the time of a poll.
YOUNG_OBJECTS = 20_000
# The lowest number of collections of the middle generation between two of the oldest one, which contains the targets.
# The number is above Python's default, because a collection of the oldest generation takes long, and frees little: few
# of its objects are in cycles.
OLDEST_ROUNDS = 35


def tune() -> None:
    """Shorten the switch interval of threads, and make collections of garbage rare."""
    sys.setswitchinterval(TURN_SECONDS)
    _, middle, _ = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, middle, OLDEST_ROUNDS)


async def freeze_growth(series: Callable[[], int]) -> None:
    """Exclude the present objects from garbage collection each time that the number of series has more than doubled.

    A collection stops the threads, and takes longer if it examines more objects. An excluded object is still freed when
    its last reference goes. Excluded reference cycles stay for ever, so objects are excluded rarely.
    """
    series_when_frozen = 0
    while True:
        if series() > 2 * series_when_frozen:
            series_when_frozen = series()
            gc.freeze()
        await asyncio.sleep(GROWTH_CHECKED_EVERY_SECONDS)


async def watch_lag(observe: Callable[[float], object], monotonic: Callable[[], float]) -> None:
    """Measure the event loop's lag: sleep repeatedly, and pass to `observe` how many seconds late each sleep ended."""
    while True:
        began = monotonic()
        await asyncio.sleep(LAG_EVERY_SECONDS)
        observe(max(0.0, monotonic() - began - LAG_EVERY_SECONDS))
