"""Compares the requests that an account's targets need with those that the budget and the platform allow."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# The cost of a poll and the duration of an answer are averaged over about this many polls.
SMOOTHING = 0.1
# Intervals are stretched until polls use this share of the capacity; the rest is for retries.
SHARE = 0.95


@dataclass(slots=True)
class Capacity:
    """The requests a second that one account allows, measured from its polls.

    Attributes:
        rate: the requests a second that the budget currently allows.
        max_in_flight: the number of calls at once.
        seconds: the recent duration of a call, without its wait for the rate limiter.
        calls: collector → the recent number of calls in one of its polls.
    """

    rate: float
    max_in_flight: int
    seconds: float = 0.0
    calls: dict[str, float] = field(default_factory=dict)

    def note(self, collector: str, calls: int, seconds: float) -> None:
        """Record the cost of a poll.

        Args:
            collector: the collector that polled.
            calls: the number of its calls.
            seconds: their total duration, without their waits for the rate limiter.
        """
        if not calls:
            return
        known = self.calls.get(collector)
        self.calls[collector] = calls if known is None else known + SMOOTHING * (calls - known)
        each = seconds / calls
        self.seconds = each if not self.seconds else self.seconds + SMOOTHING * (each - self.seconds)

    def demand(self, polls: Mapping[str, float]) -> float:
        """Return the requests a second that polls need.

        Args:
            polls: collector → polls a second, by the configured intervals.
        """
        return sum(rate * max(1.0, self.calls.get(collector, 1.0)) for collector, rate in polls.items())

    def limits(self) -> dict[str, float]:
        """Return the requests a second that each limit of the budget allows, by its key in the configuration.

        The rate of `max_in_flight` depends on the duration of calls; before the first call it is left out.
        """
        limits = {"requests_per_second": self.rate}
        if self.seconds:
            limits["max_in_flight"] = self.max_in_flight / self.seconds
        return limits

    def requests_per_second(self) -> float:
        """Return the requests a second that the lower limit allows."""
        return min(self.limits().values())

    def stretch(self, demand: float) -> float:
        """Return the factor by which intervals must be longer than configured for a demand; 1 if they need not be."""
        return max(1.0, demand / (self.requests_per_second() * SHARE))

    def spare(self, demand: float) -> float:
        """Return the requests a second that a demand at stretched intervals leaves; at least the share for retries."""
        return self.requests_per_second() - demand / self.stretch(demand)
