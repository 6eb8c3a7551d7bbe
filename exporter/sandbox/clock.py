"""The world's clock: simulated time that a test can advance and a demo can speed up."""

import math
import time
from collections.abc import Callable


class WorldClock:
    """The clock of the simulated world.

    The world's time runs `speed` times as fast as the monotonic clock. At speed 0 it stands still, and tests move it
    with `advance`.
    """

    def __init__(
        self,
        start: float | None = None,
        speed: float = 1.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the clock at `start` (unix seconds; None: the real time of now)."""
        self._monotonic = monotonic
        self._origin = _finite("start", time.time() if start is None else start)
        self._anchor = monotonic()
        self._speed = _not_negative("speed", speed)

    @property
    def speed(self) -> float:
        """The seconds of the world in a real second."""
        return self._speed

    def now(self) -> float:
        """Return the world's time as unix seconds, UTC."""
        return self._origin + (self._monotonic() - self._anchor) * self._speed

    def advance(self, seconds: float) -> None:
        """Move the world's time by a number of seconds at once."""
        self._origin += _finite("seconds", seconds)

    def set_speed(self, speed: float) -> None:
        """Change the speed of the world's time from now on."""
        wanted = _not_negative("speed", speed)
        self._origin = self.now()
        self._anchor = self._monotonic()
        self._speed = wanted


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    return float(value)


def _not_negative(name: str, value: float) -> float:
    if _finite(name, value) < 0:
        raise ValueError(f"{name} must not be negative, but is {value!r}")
    return float(value)
