"""A clock that tests set."""

from dataclasses import dataclass


@dataclass
class TurnedClock:
    """A clock that only moves when a test sets it."""

    now: float = 1000.0

    def __call__(self) -> float:
        """Return the time of the clock."""
        return self.now
