"""Simulates traffic by hour and day of the week, with reproducible noise."""

import math
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, cached_property
from itertools import accumulate

DAY = 86_400.0
GRID = 300.0


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

    def __init__(
        self, key: str, mean: float, since: datetime, until: datetime, burst: Callable[[float], float] | None = None
    ) -> None:
        self._key = key
        self._mean = mean
        self._since = since.timestamp()
        self._until = until.timestamp()
        self._burst = burst or (lambda _: 1.0)

    def rate(self, at: float) -> float:
        """Return the rate a second."""
        return self._mean * steady(self._key, at) * self._burst(at)

    def between(self, begin: float, end: float) -> float:
        """Return the total from one time to another."""
        return self._until_then(end) - self._until_then(begin)

    def _until_then(self, at: float) -> float:
        place = max(0.0, (at - self._since) / GRID)
        index = min(int(place), len(self._sums) - 2)
        below, above = self._sums[index], self._sums[index + 1]
        return below + (above - below) * (place - index)

    @cached_property
    def _sums(self) -> list[float]:
        middles = moments(self._since, self._until)
        rates = zip(steps(self._key, self._since, self._until), middles, strict=True)
        return list(accumulate((self._mean * rate * self._burst(at) * GRID for rate, at in rates), initial=0.0))


def steady(key: str, at: float) -> float:
    """What comes at a moment without a burst, 1 on average."""
    rough = 1 + 0.05 * noise(key, at) + 0.07 * math.sin(2 * math.pi * (at / (3.3 * DAY) + spread(key)))
    return busy(at, 13.0 + 6 * spread(key)) * rough


def moments(since: float, until: float) -> list[float]:
    """The middles of the grid's steps."""
    return [since + (step + 0.5) * GRID for step in range(int((until - since) / GRID) + 2)]


@cache
def steps(key: str, since: float, until: float) -> list[float]:
    """What comes without a burst in each step of the grid; the same in every scene."""
    return [steady(key, at) for at in moments(since, until)]


def month_begin(at: float) -> float:
    """Return the start of the UTC month."""
    return datetime.fromtimestamp(at, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
