"""The plans of collectors, with their intervals, and the factor by which an account's budget stretches intervals."""

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
        interval: the configured seconds between two polls of a target that has no interval of its own.
        stale_after: seconds after which the values of a poll expire; None for `STALE_INTERVALS` effective intervals.
        declared: the configured endpoint or databases that the collector polls; None for other collectors. Plans are
            equal if `interval`, `stale_after` and `declared` are; the collectors are not compared.
    """

    collector: Collector = field(compare=False)
    interval: float
    stale_after: float | None = None
    declared: object = None

    def interval_of(self, target: Target) -> float:
        """Return the configured seconds between two polls of a target: the target's own interval, else the plan's."""
        return target.interval if target.interval is not None else self.interval


@dataclass(slots=True, eq=False)
class Pace:
    """The cost of an account's polls, and the factor by which the account's budget stretches intervals.

    The polls may need at most `SHARE` of the requests a second that the budget allows. If the configured intervals need
    more, all intervals of the account are multiplied by `stretch`. The limit of calls at once does not change
    intervals: it makes polls late.

    Attributes:
        rate: the requests a second that the budget allows; changes of the granted rate are smoothed.
        calls_per_poll: collector → the average number of calls in recent successful polls.
        poll_rates: collector with targets → polls a second at the configured intervals.
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
        """Record how many polls a second a collector needs for these targets of the account."""
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
        """Return the shortest effective interval of the collectors that have targets in the account; 0 if none has.

        The intervals that targets have of their own are ignored: only queries of databases have such intervals.
        """
        # Until the next refresh, there are rates of collectors that a reload has switched off.
        intervals = [plans[name].interval for name in self.poll_rates if name in plans]
        return min(intervals, default=0.0) * self.stretch


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """An account or a database that is polled. A reload keeps the object and its client if `access` has not changed."""

    client: Client
    pace: Pace
    access: object = None
