"""A clock that a test turns."""

from dataclasses import dataclass


@dataclass
class TurnedClock:
    """A clock that stands until a test turns it."""

    now: float = 1000.0

    def __call__(self) -> float:
        """Return the time that it was turned to."""
        return self.now
