"""Simulates traffic by hour and day of the week, with reproducible noise."""

import math
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from itertools import accumulate

from tests.dashboards.world import END, HISTORY

DAY = 86_400.0
GRID = 300.0
SINCE, UNTIL = (HISTORY - timedelta(days=32)).timestamp(), END.timestamp()


@cache
def spread(key: str) -> float:
    """Return a number from 0 to 1, always the same for a name."""
    return zlib.crc32(key.encode()) / 2**32


def noise(key: str, at: float) -> float:
    """Return a value of a smooth wave around 0 that differs for each name; its size is seldom above 1."""
    periods = (420.0, 1380.0, 4100.0, 13_700.0)
    return sum(math.sin(2 * math.pi * (at / period + spread(f"{key} {period}"))) for period in periods) / 3


def busy(at: float, peak: float) -> float:
    """Return the activity of an hour, 1 on average: less at night and at weekends."""
    hour = (at % DAY) / 3600
    daily = 1 + 0.5 * math.cos(2 * math.pi * (hour - peak) / 24) + 0.14 * math.cos(4 * math.pi * (hour - peak + 3) / 24)
    weekend = datetime.fromtimestamp(at, UTC).weekday() >= 5
    return daily * (0.86 if weekend else 1.0)


class Flow:
    """Traffic with a changing rate, and its total."""

    def __init__(self, key: str, mean: float, burst: Callable[[float], float] | None = None) -> None:
        self._key = key
        self._mean = mean
        self._burst = burst or (lambda _: 1.0)

    def between(self, begin: float, end: float) -> float:
        """Return the total from one time to another."""
        return self._until_then(end) - self._until_then(begin)

    def _until_then(self, at: float) -> float:
        place = max(0.0, (at - SINCE) / GRID)
        index = min(int(place), len(self._sums) - 2)
        below, above = self._sums[index], self._sums[index + 1]
        return below + (above - below) * (place - index)

    @cached_property
    def _sums(self) -> list[float]:
        middles = [SINCE + (step + 0.5) * GRID for step in range(int((UNTIL - SINCE) / GRID) + 2)]
        rates = ((steady(self._key, at), at) for at in middles)
        return list(accumulate((self._mean * rate * self._burst(at) * GRID for rate, at in rates), initial=0.0))


def steady(key: str, at: float) -> float:
    """What comes at a moment without a burst, 1 on average."""
    rough = 1 + 0.05 * noise(key, at) + 0.07 * math.sin(2 * math.pi * (at / (3.3 * DAY) + spread(key)))
    return busy(at, 13.0 + 6 * spread(key)) * rough


def month_begin(at: float) -> float:
    """Return the start of the UTC month."""
    return datetime.fromtimestamp(at, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
