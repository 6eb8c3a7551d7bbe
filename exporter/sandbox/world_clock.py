"""The world's clock: simulated time that a test can advance and a demo can speed up."""

import time
from collections.abc import Callable


class WorldClock:
    """The clock of the simulated world.

    Args:
        start: unix seconds; None: the current time.
        speed: how many times as fast as real time the world's time runs; at 0, only `advance` moves it.
        monotonic: a clock in seconds.
    """

    def __init__(
        self, start: float | None = None, speed: float = 1.0, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.monotonic = monotonic
        self._origin = time.time() if start is None else start
        self._anchor = monotonic()
        self.speed = speed

    def now(self) -> float:
        """Return the world's time as unix seconds, UTC."""
        return self._origin + (self.monotonic() - self._anchor) * self.speed

    def advance(self, seconds: float) -> None:
        """Move the world's time by a number of seconds."""
        self._origin += seconds

    def set_speed(self, speed: float) -> None:
        """Change the speed of the world's time from now on."""
        self._origin, self._anchor = self.now(), self.monotonic()
        self.speed = speed
