"""How often an account's targets can be polled: what they ask for, against what the budget and the platform give."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# A poll's cost and an answer's time are smoothed over about so many polls.
SMOOTHING = 0.1
# Intervals are stretched to ask for this share of what is there: retries need some of it.
SHARE = 0.95


@dataclass(slots=True)
class Pace:
    """The pace of one account.

    Attributes:
        rate: requests a second that the budget gives at the moment.
        max_in_flight: calls at once.
        seconds: how long a call takes of late.
        calls: collector → calls that one of its polls makes of late.
    """

    rate: float
    max_in_flight: int
    seconds: float = 0.0
    calls: dict[str, float] = field(default_factory=dict)

    def note(self, collector: str, calls: int, seconds: float) -> None:
        """Take in a poll that made `calls` calls in `seconds`."""
        if not calls:
            return
        known = self.calls.get(collector)
        self.calls[collector] = calls if known is None else known + SMOOTHING * (calls - known)
        each = seconds / calls
        self.seconds = each if not self.seconds else self.seconds + SMOOTHING * (each - self.seconds)

    def demand(self, polls: Mapping[str, float]) -> float:
        """Requests a second that are asked for.

        Args:
            polls: collector → polls a second, by the configured intervals.
        """
        return sum(rate * max(1.0, self.calls.get(collector, 1.0)) for collector, rate in polls.items())

    def capacity(self) -> float:
        """Requests a second that can be made: the budget, or less where the platform takes its time."""
        if not self.seconds:
            return self.rate
        return min(self.rate, self.max_in_flight / self.seconds)

    def stretch(self, polls: Mapping[str, float]) -> float:
        """By how much the intervals must be longer than configured; 1 where they can be kept."""
        return max(1.0, self.demand(polls) / (self.capacity() * SHARE))
