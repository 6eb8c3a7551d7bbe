"""The clock of the simulated account."""

import time
from collections.abc import Callable


class WorldClock:
    """A clock that has a speed, and can be advanced or set back.

    Args:
        start: the world's time at the beginning, in unix seconds; None means the machine's time.
        speed: seconds of the world for each real second; at 0, only `advance` changes the time.
        monotonic: the machine's monotonic clock, in seconds.
    """

    def __init__(
        self, start: float | None = None, speed: float = 1.0, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.monotonic = monotonic
        self._origin = time.time() if start is None else start
        self._anchor = monotonic()  # at this monotonic time, the world's time is `_origin`
        self.speed = speed

    def now(self) -> float:
        """Return the world's time in unix seconds."""
        return self._origin + (self.monotonic() - self._anchor) * self.speed

    def advance(self, seconds: float) -> None:
        """Advance the world's time by a number of seconds; a negative number sets the time back."""
        self._origin += seconds

    def set_speed(self, speed: float) -> None:
        """Change the speed of the world's time from now on."""
        self._origin, self._anchor = self.now(), self.monotonic()
        self.speed = speed
