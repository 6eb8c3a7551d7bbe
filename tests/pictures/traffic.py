"""Simulates traffic by hour and day of the week, with reproducible noise: a sum of waves, whose total is a formula."""

import math
import zlib
from functools import cache

HOUR, DAY = 3600.0, 86_400.0


@cache
def share(key: str, least: float, most: float) -> float:
    """Return a number in a range, always the same for a name."""
    return least + (most - least) * zlib.crc32(key.encode()) / 2**32


@cache
def _waves(key: str) -> list[tuple[float, float, float]]:
    """Return the size, the period and a peak of each wave of a rate around 1; there is least on Sundays at noon."""
    peak = share(key, 13, 19) * HOUR
    days = [(0.5, DAY, peak), (0.14, DAY / 2, peak - 3 * HOUR), (0.08, 7 * DAY, 0.0)]
    others = ((0.07, 3.3 * DAY), (0.02, 420.0), (0.02, 1380.0), (0.02, 4100.0), (0.02, 13_700.0))
    return days + [(size, period, share(f"{key} {period}", 0, period)) for size, period in others]


def flow(key: str, begin: float, end: float) -> float:
    """Return what comes from one time to another, at a mean rate of 1 a second."""

    def until(at: float) -> float:
        turns = ((size * period / (2 * math.pi), (at - peak) / period) for size, period, peak in _waves(key))
        return at + sum(size * math.sin(2 * math.pi * turn) for size, turn in turns)

    return until(end) - until(begin)
