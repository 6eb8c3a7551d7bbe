"""Simulates traffic by hour and day of the week, with reproducible noise: a sum of waves, whose total is a formula."""

import math
import zlib
from functools import cache

HOUR, DAY = 3600.0, 86_400.0
NOISE = (420.0, 1380.0, 4100.0, 13_700.0)


@cache
def spread(key: str) -> float:
    """Return a number from 0 to 1, always the same for a name."""
    return zlib.crc32(key.encode()) / 2**32


def share(key: str, least: float, most: float) -> float:
    """Return a number in a range, always the same for a name."""
    return least + (most - least) * spread(key)


def noise(key: str, at: float) -> float:
    """Return a value of a smooth wave around 0 that differs for each name; its size is seldom above 1."""
    return sum(math.sin(2 * math.pi * (at / period + spread(f"{key} {period}"))) for period in NOISE) / 3


@cache
def _waves(key: str) -> list[tuple[float, float, float]]:
    """Return the size, the period and a peak of each wave of a rate around 1; there is least on Sundays at noon."""
    peak = share(key, 13, 19) * HOUR
    days = [
        (0.5, DAY, peak),
        (0.14, DAY / 2, peak - 3 * HOUR),
        (0.08, 7 * DAY, 0.0),
        (0.07, 3.3 * DAY, 3.3 * DAY * (0.25 - spread(key))),
    ]
    return [*days, *((0.02, period, period * spread(f"{key} {period}")) for period in NOISE)]


def flow(key: str, mean: float, begin: float, end: float) -> float:
    """Return what comes from one time to another, at a mean rate a second."""

    def until(at: float) -> float:
        turns = ((size * period / (2 * math.pi), (at - peak) / period) for size, period, peak in _waves(key))
        return at + sum(size * math.sin(2 * math.pi * turn) for size, turn in turns)

    return mean * (until(end) - until(begin))


def surge(peak: float, length: float, begin: float, end: float) -> float:
    """Return the seconds' worth of a rate of 1 at a peak, which falls like a bell before and after it."""
    return length * math.sqrt(math.pi) / 2 * (math.erf((end - peak) / length) - math.erf((begin - peak) / length))
