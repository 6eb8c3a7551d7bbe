"""How often each target is polled, and for how long an answer is believed: as configured, and as the budgets allow."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass

from exporter.cooperative import at_once
from exporter.platform.http.client import Client
from exporter.polling.capacity import Capacity
from exporter.polling.plan import Plan
from exporter.targets.sharding import Share
from exporter.targets.target import Target, account_of

STALE_INTERVALS = 3
# Shards that do not own an account list what is in it less often the more they are: all their listings together cost
# about as much as the owner's, and a new resource is noticed within an hour at the default interval.
MOST_SCOUT_INTERVALS = 6
# The more targets an account has for its budget, the less discovery has to do with it: at 100,000 zones and 10 calls a
# second everything would be stretched to hours, and a new zone would wait as long.
MOST_DISCOVERY_STRETCH = 3.0


@dataclass(frozen=True, slots=True)
class Account:
    """What the scheduler knows of an account, or of a database: its client and its capacity."""

    client: Client
    capacity: Capacity


class Intervals:
    """The intervals of all collectors in all accounts; asked by the event loop, and by the thread that prints.

    Args:
        plans: by the collectors' names.
        accounts: by the name that `account_of` gives.
        share: which part of all targets this process polls; of it, only the total is used.
    """

    def __init__(self, plans: Mapping[str, Plan], accounts: Mapping[str, Account], share: Share) -> None:
        self._plans = plans
        self._accounts = accounts
        self._shards = share.total
        # account → collector → polls a second that the configured intervals ask for; replaced whole, never changed, for
        # another thread may be reading it.
        self._polls: dict[str, dict[str, float]] = {}

    def note(self, plan: Plan, targets: Iterable[Target]) -> None:
        """Note which targets a collector has, all of them."""
        at_once(self.noting(plan, targets))

    def noting(self, plan: Plan, targets: Iterable[Target]) -> Generator[None, None, None]:
        """The same, one target at a time."""
        name = plan.collector.name
        rates: dict[str, float] = {}
        for target in targets:
            account = account_of(target)
            rates[account] = rates.get(account, 0.0) + 1 / self.configured(plan, target)
            yield
        noted = {
            account: {other: rate for other, rate in polls.items() if other != name}
            for account, polls in self._polls.items()
        }
        for account, rate in rates.items():
            noted.setdefault(account, {})[name] = rate
        self._polls = noted

    def configured(self, plan: Plan, target: Target) -> float:
        """Seconds between two polls of a target, as configured."""
        if target.scouted and plan.collector.discovers:
            return plan.interval * min(self._shards, MOST_SCOUT_INTERVALS)
        return target.interval if target.interval is not None else plan.interval

    def effective(self, plan: Plan, target: Target) -> float:
        """Seconds between two polls of a target, as its account's capacity allows."""
        return self.configured(plan, target) * self.stretch(account_of(target), plan.collector.name)

    def lifetime(self, plan: Plan, target: Target) -> float:
        """Seconds for which a poll is believed, by the interval that is in force at the moment."""
        if plan.stale_after is not None:
            return plan.stale_after
        return STALE_INTERVALS * self.effective(plan, target)

    def demand(self, account: str) -> float:
        """Requests a second that an account's targets and intervals ask for."""
        return self._accounts[account].capacity.demand(self._polls.get(account, {}))

    def spare_seconds(self, account: str, collector: str) -> float:
        """Seconds for which one more poll of a collector takes up what an account's polls leave of its capacity."""
        capacity, polls = self._accounts[account].capacity, self._polls.get(account, {})
        return capacity.demand({collector: 1.0}) / capacity.spare(polls)

    def slowest(self, collector: str) -> float:
        """The effective interval of a collector, in the account that stretches it most."""
        stretches = (self.stretch(account, collector) for account, polls in self._polls.items() if collector in polls)
        return self._plans[collector].interval * max(stretches, default=1.0)

    def shortest(self, account: str) -> float:
        """The shortest effective interval at which anything of an account is polled; 0 where nothing is."""
        polls = self._polls.get(account, {})
        return min((self._plans[name].interval for name in polls), default=0.0) * self.stretch(account)

    def stretch(self, account: str, collector: str = "") -> float:
        """By how much an account's capacity stretches intervals; those of discovery less than others."""
        known = self._accounts.get(account)
        stretch = known.capacity.stretch(self._polls.get(account, {})) if known is not None else 1.0
        discovers = collector in self._plans and self._plans[collector].collector.discovers
        return min(stretch, MOST_DISCOVERY_STRETCH) if discovers else stretch
