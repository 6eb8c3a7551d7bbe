"""How often targets are polled: the plans of the collectors, and what the budget of an account allows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exporter.collectors.collector import Collector
from exporter.platform.http.client import Client
from exporter.targets.target import Target

# The weight of a new measurement in the averages: of the calls of a poll, and of the budget's rate.
CALLS_SMOOTHING = 0.1
RATE_SMOOTHING = 0.01
# Intervals are stretched until polls need at most this share of the budget; the rest is for retries.
SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Plan:
    """How a collector is run.

    Attributes:
        interval: the configured seconds between two polls of a target, unless the target has its own interval.
        stale_after: seconds after which the values of a poll expire; None for `STALE_INTERVALS` effective intervals.
        declared: what the configuration declares for the collector; None without such a declaration. Plans are equal
            if `interval`, `stale_after` and `declared` are; the collectors are not compared.
    """

    collector: Collector = field(compare=False)
    interval: float
    stale_after: float | None = None
    declared: object = None

    def interval_of(self, target: Target) -> float:
        """Return the configured seconds between two polls of a target: its own, or those of the plan."""
        return target.interval if target.interval is not None else self.interval


@dataclass(slots=True, eq=False)
class Pace:
    """The cost of an account's polls, and by how much its budget stretches their intervals.

    If all polls at their configured intervals need more than `SHARE` of the requests a second that the budget allows,
    all intervals become longer by the same factor. The limit of calls at once has no effect on intervals: polls that
    wait for it are late.

    Attributes:
        rate: the requests a second that the budget allows; changes of the granted rate are smoothed.
        calls_per_poll: collector → the average number of calls in its recent successful polls.
        poll_rates: collector → its polls a second at the configured intervals, if it has targets.
        demand: the requests a second that the targets need at the configured intervals.
        stretch: the factor by which intervals are longer than configured, at least 1.
    """

    rate: float
    calls_per_poll: dict[str, float] = field(default_factory=dict)
    poll_rates: dict[str, float] = field(default_factory=dict)
    demand: float = 0.0
    stretch: float = 1.0

    def note_calls(self, collector: str, calls: int) -> None:
        """Record the number of calls of a poll that succeeded; 0 is ignored."""
        if calls:
            known = self.calls_per_poll.get(collector, float(calls))
            self.calls_per_poll[collector] = known + CALLS_SMOOTHING * (calls - known)

    def cost(self, collector: str) -> float:
        """Return the average number of calls in a collector's recent successful polls; 1 while that is unknown."""
        return self.calls_per_poll.get(collector, 1.0)

    def note_targets(self, plan: Plan, targets: Iterable[Target]) -> None:
        """Record how many polls a second a collector needs for its targets in this account."""
        if rate := sum(1 / plan.interval_of(target) for target in targets):
            self.poll_rates[plan.collector.name] = rate

    def update(self, granted_rate: float) -> None:
        """Update rate, demand and stretch; `granted_rate` is the requests a second that the budget grants now."""
        self.rate += RATE_SMOOTHING * (granted_rate - self.rate)
        self.demand = sum(polls * self.cost(name) for name, polls in self.poll_rates.items())
        self.stretch = max(1.0, self.demand / (self.rate * SHARE))

    def interval(self, plan: Plan, target: Target) -> float:
        """Return the effective seconds between two polls of a target."""
        return plan.interval_of(target) * self.stretch

    def shortest_interval(self, plans: Mapping[str, Plan]) -> float:
        """Return the shortest effective interval of the collectors that have targets in the account; 0 without any.

        Targets' own intervals, which only queries of databases have, are ignored.
        """
        # Until the next refresh, there are rates of collectors that a reload has switched off.
        intervals = [plans[name].interval for name in self.poll_rates if name in plans]
        return min(intervals, default=0.0) * self.stretch


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """An account or a database that is polled; a reload keeps it, and its client, if its `access` stays equal."""

    client: Client
    pace: Pace
    access: object = None
