"""Tunes the process for its event loop, and measures the loop's lag."""

import asyncio
import gc
import sys
from collections.abc import Callable

LAG_EVERY_SECONDS = 1.0
GROWTH_CHECKED_EVERY_SECONDS = 5.0
# The switch interval of threads: how long a thread runs before the event loop may interrupt it. Python's default is
# 5 ms. With 0.5 ms, a busy daemon spends a tenth of its processor time on switches.
TURN_SECONDS = 0.002
# New objects between two collections of the youngest generation. The results of polls live for about a second, until
# the ledger and the renderer have used them. With Python's default, which is far lower, all of them would be examined
# during that time, which takes 5 % of a poll's time.
YOUNG_OBJECTS = 20_000
# The fewest collections of the middle generation between two of the oldest one, which contains all targets. More than
# Python's default, because collecting the oldest one takes long, and frees little: few of its objects are in cycles.
OLDEST_ROUNDS = 35


def tune() -> None:
    """Shorten the switch interval of threads, and make collections of garbage rare."""
    sys.setswitchinterval(TURN_SECONDS)
    _, middle, _ = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, middle, OLDEST_ROUNDS)


async def freeze_growth(series: Callable[[], int]) -> None:
    """Exclude all present objects from collections of garbage, whenever the number of series has more than doubled.

    A collection stops every thread, the longer the more objects it examines. Excluded objects are still freed when
    nothing refers to them, except reference cycles, which stay: that is why this is not done more often.
    """
    series_when_frozen = 0
    while True:
        if series() > 2 * series_when_frozen:
            series_when_frozen = series()
            gc.freeze()
        await asyncio.sleep(GROWTH_CHECKED_EVERY_SECONDS)


async def watch_lag(observe: Callable[[float], object], monotonic: Callable[[], float]) -> None:
    """Sleep repeatedly; report each time to `observe` how many seconds late the event loop resumed."""
    while True:
        began = monotonic()
        await asyncio.sleep(LAG_EVERY_SECONDS)
        observe(max(0.0, monotonic() - began - LAG_EVERY_SECONDS))
