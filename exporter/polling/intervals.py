"""Computes the interval of each target's polls, how long values are valid, and when failed polls are repeated."""

from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exporter.collectors import discovery
from exporter.collectors.collector import Collector
from exporter.targets.sharding import Share
from exporter.targets.target import PollKey, Target

if TYPE_CHECKING:
    # It imports httpx, which `check --offline` does without.
    from exporter.platform.http.client import Client

# The cost of a poll and the duration of an answer are averaged over about this many polls.
SMOOTHING = 0.1
# Intervals are stretched until polls use this share of the capacity; the rest is for retries.
SHARE = 0.95
STALE_INTERVALS = 3
# If a shard does not own an account, it discovers the account less often, depending on the number of shards: all these
# discoveries together cost about as much as those of the owner. At the default interval, a new resource is found within
# an hour.
MOST_SCOUT_INTERVALS = 6
# The upper limit for stretching discovery. Without it, with 100,000 zones and 10 calls a second, all intervals would be
# stretched to hours, and a new zone would be found hours later.
MOST_DISCOVERY_STRETCH = 3.0
# The seconds before the first repeat; each further repeat waits twice as long as the one before.
FIRST_WAIT = 60.0
MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """How a collector is run.

    Attributes:
        interval: the configured seconds between two polls of a target.
        stale_after: seconds after which the values of a poll expire; None for three effective intervals.
    """

    collector: Collector
    interval: float
    stale_after: float | None = None


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

    def stretch(self, demand: float) -> float:
        """Return the factor by which intervals must be longer than configured for a demand; 1 if they need not be."""
        return max(1.0, demand / (min(self.limits().values()) * SHARE))


@dataclass(frozen=True, slots=True)
class Account:
    """An account or a database of the scheduler: its client and its capacity."""

    client: "Client"
    capacity: Capacity

    @classmethod
    def of(cls, client: "Client") -> "Account":
        """Return the account with the capacity of a client's budget."""
        return cls(client, Capacity(client.rate_limiter.rate, client.rate_limiter.max_in_flight))


class Intervals:
    """The intervals of all collectors in all accounts; read by the event loop and by the renderer's thread.

    Args:
        plans: collector → how it is run.
        accounts: the accounts and databases, by their targets' `client_name`.
        share: the share of the targets that this process polls; only its total is used.

    Attributes:
        demand: account → requests a second that its targets need at the configured intervals. A sum over thousands of
            collectors is too slow for each poll.
    """

    def __init__(self, plans: Mapping[str, Plan], accounts: Mapping[str, Account], share: Share) -> None:
        self._plans = plans
        self._accounts = accounts
        self._shards = share.total
        # account → collector → polls a second at the configured intervals.
        self._polls: dict[str, dict[str, float]] = {}
        self.demand: dict[str, float] = {}

    def noting(self, plan: Plan, targets: Iterable[Target]) -> Generator[None, None, None]:
        """Record all targets of a collector, with a pause after each."""
        name = plan.collector.name
        rates: dict[str, float] = {}
        for target in targets:
            account = target.client_name
            # Names are looked up once.
            if plan.collector.wants(discovery.without_names(target)):
                rates[account] = rates.get(account, 0.0) + 1 / self.configured(plan, target)
            yield
        for account in self._polls.keys() | rates.keys():
            polls = self._polls.setdefault(account, {})
            change = rates.get(account, 0.0) - polls.pop(name, 0.0)
            if account in rates:
                polls[name] = rates[account]
            if account in self._accounts:
                more = self._accounts[account].capacity.demand({name: change})
                self.demand[account] = self.demand.get(account, 0.0) + more

    def measure(self) -> None:
        """Calculate the demand of each account again, as the costs of polls change."""
        self.demand = {
            name: account.capacity.demand(self._polls.get(name, {})) for name, account in self._accounts.items()
        }

    def configured(self, plan: Plan, target: Target) -> float:
        """Return the configured seconds between two polls of a target."""
        if target.scouted and plan.collector.discovers:
            return plan.interval * min(self._shards, MOST_SCOUT_INTERVALS)
        return target.interval if target.interval is not None else plan.interval

    def effective(self, plan: Plan, target: Target) -> float:
        """Return the seconds between two polls of a target that its account's capacity allows."""
        return self.configured(plan, target) * self.stretch(target.client_name, plan.collector.name)

    def lifetime(self, collector: str, target: Target) -> float:
        """Return the seconds for which the values of a poll are valid, at the current interval; 0 if it is not run."""
        plan = self._plans.get(collector)
        if plan is None:
            return 0.0
        return STALE_INTERVALS * self.effective(plan, target) if plan.stale_after is None else plan.stale_after

    def spare_seconds(self, account: str, collector: str) -> float:
        """Return for how many seconds one more poll of a collector uses what the account's other polls leave."""
        capacity, demand = self._accounts[account].capacity, self.demand.get(account, 0.0)
        # At stretched intervals, at least the share for retries is left.
        spare = min(capacity.limits().values()) - demand / capacity.stretch(demand)
        return capacity.demand({collector: 1.0}) / spare

    def slowest(self, collector: str) -> float:
        """Return the effective interval of a collector, in the account that stretches it most."""
        stretches = (self.stretch(account, collector) for account, polls in self._polls.items() if collector in polls)
        return self._plans[collector].interval * max(stretches, default=1.0)

    def shortest(self, account: str) -> float:
        """Return the shortest effective interval of an account's polls; 0 without polls."""
        # A list, because the event loop may change the dictionary in the meantime.
        polls = list(self._polls.get(account, {}))
        return min((self._plans[name].interval for name in polls), default=0.0) * self.stretch(account)

    def stretch(self, account: str, collector: str = "") -> float:
        """Return the factor by which an account's capacity stretches intervals; it is limited for discovery."""
        known = self._accounts.get(account)
        stretch = known.capacity.stretch(self.demand.get(account, 0.0)) if known is not None else 1.0
        discovers = collector in self._plans and self._plans[collector].collector.discovers
        return min(stretch, MOST_DISCOVERY_STRETCH) if discovers else stretch


class Backoff:
    """Decides when targets whose polls failed are polled again.

    Repeats use the capacity of an account that the regular polls leave. If many targets fail, repeats are spread to fit
    into it, and a repeat that would come after the regular poll is not made.

    Args:
        intervals: gives the capacity that an account's polls leave.

    Attributes:
        failures: how often in a row the polls of a target by a collector have failed; a success removes the entry.
    """

    def __init__(self, intervals: Intervals) -> None:
        self.failures: dict[PollKey, int] = {}
        self._intervals = intervals
        # Account → the time until which repeats use its spare capacity.
        self._booked: dict[str, float] = {}

    def failed(self, collector: str, target: Target, now: float, due: float) -> float:
        """Return when a target is polled next after a failure.

        Args:
            collector: the collector whose poll failed.
            target: the polled target.
            now: the present, on the monotonic clock.
            due: the time of the target's regular poll, on the same clock.

        Returns:
            The time of the repeat, or `due` if that is earlier.
        """
        key, account = PollKey(target.key, collector), target.client_name
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        free = max(now, self._booked.get(account, now))
        repeat = free + FIRST_WAIT * 2.0 ** min(failures, MOST_DOUBLINGS)
        if repeat >= due:
            return due
        self._booked[account] = free + self._intervals.spare_seconds(account, collector)
        return repeat

    def forget_others(self, collector: str, targets: Collection[Target]) -> None:
        """Forget the failures of targets that a collector no longer polls.

        Args:
            collector: the collector.
            targets: those that it polls.
        """
        known = {target.key for target in targets}
        gone = [key for key in self.failures if key.collector == collector and key.target not in known]
        for key in gone:
            del self.failures[key]
