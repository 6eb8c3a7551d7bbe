"""The data of the status page and of its JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """The state of a target with one collector; the order is that in which targets are sorted."""

    FAILING = "failing"
    STALE = "stale"
    PENDING = "pending"
    OK = "ok"


# The states that are counted as failing.
UNWELL = (State.FAILING, State.STALE)


@dataclass(frozen=True, slots=True)
class TargetView:
    """A target as one collector sees it.

    Attributes:
        account: the account or the database (`database:orders`).
        target: kind and id, as metrics name it: `dns_zone/102`.
        name: its name; empty if unknown.
        zone: the shield zone that a rate limit, an access list or a rule belongs to, by its name or its label; empty
            for other targets.
        state: `ok`, `failing`, `stale` (it has failed for so long that its series are gone), or `pending` (not polled
            yet).
        reason: one word for the failure of the last poll; empty if it succeeded.
        message: the failure in words, or a note.
        last_success: unix seconds of the last successful poll; None if there was none.
        last_poll: unix seconds of the last poll; None if there was none.
        age: seconds since the last success; None if there was none.
        duration: seconds of the last poll; None if there was none.
        chart: the counts of the last days, oldest first, the last one of the current day; empty if there is no chart
            or it is stale.
    """

    account: str
    collector: str
    target: str
    name: str
    zone: str
    state: State
    reason: str
    message: str
    last_success: float | None
    last_poll: float | None
    age: float | None
    duration: float | None
    chart: Sequence[float]


@dataclass(frozen=True, slots=True)
class TargetsView:
    """A page of the targets that a query finds.

    Attributes:
        total: the number of all targets.
        matched: the number of those that the query finds.
        offset: the number of found targets before the page.
        limit: the most targets of a page.
    """

    total: int
    matched: int
    offset: int
    limit: int
    targets: tuple[TargetView, ...]


@dataclass(frozen=True, slots=True)
class CollectorView:
    """A collector: its intervals, its last run and its next one.

    Attributes:
        interval: seconds between two polls of a target, as configured.
        effective_interval: the same, as the budget allows.
        failing: the number of targets that fail or are stale.
        next_run: seconds until the next target is due.
        last_duration: seconds of the last poll of a target; None if there was none.
    """

    collector: str
    interval: float
    effective_interval: float
    targets: int
    failing: int
    next_run: float
    last_duration: float | None

    def is_stretched(self) -> bool:
        """Return whether the effective interval is longer than the configured one, by more than rounding."""
        return self.effective_interval > self.interval * 1.005


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account or a database: whether it answers, and its budget.

    Attributes:
        up: whether an authenticated answer came recently.
        reason: the reason of its newest failure, if it is down.
        budget: requests a second that the budget currently allows.
        demand: requests a second that its targets and intervals need.
        limits: requests a second that each limit of its budget allows, by the limit's key in the configuration; the
            lower one applies. The limit by max_in_flight is known after the first call.
        paused: seconds until calls resume after a 429; 0 if they are not paused.
        targets: their number, counted once for each collector.
        failing: the number of those that fail or are stale.
        clock_offset: the seconds by which the platform's clock is ahead of this machine's; None if unknown.
    """

    account: str
    up: bool
    reason: str
    budget: float
    demand: float
    limits: Mapping[str, float]
    paused: float
    max_in_flight: int
    targets: int
    failing: int
    clock_offset: float | None = None

    def binding(self) -> tuple[str, float]:
        """Return the limit that applies, and the requests a second that it allows."""
        return min(self.limits.items(), key=lambda item: item[1])


@dataclass(frozen=True, slots=True)
class FailureView:
    """The targets of one account and one collector that fail for one reason.

    Attributes:
        targets: their number.
        target: the one that was polled last; its name, its zone, its failure in words and its last poll follow.
    """

    account: str
    collector: str
    reason: str
    targets: int
    target: str
    name: str
    zone: str
    message: str
    last_poll: float


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The durable counters.

    Attributes:
        durable: whether they are kept in a file or a database; otherwise they start at 0 with the process.
        saves: whether the last write succeeded.
        fault: why it failed; empty if it succeeded.
        set_aside: unix seconds at which damaged state was last found in this run; None if that never happened.
    """

    durable: bool
    saves: bool
    fault: str
    set_aside: float | None


@dataclass(frozen=True, slots=True)
class StatusView:
    """The state of the whole exporter.

    Attributes:
        started: unix seconds, like the other times.
        shard: the index of this shard, from 0; None for a spare.
        waits_for: what readiness waits for; empty if it is ready.
        spare: why this exporter polls nothing; empty if it has a shard.
        ailment: the part that has stalled; empty if it is healthy.
        series: the number of exposed series of targets.
        config_loaded: when the configuration in force was loaded.
        config_faults: the faults of a later one that was refused; empty if none was.
        unmatched_budgets: account and configured name of the monthly budgets that belong to no script.
        ledger: None if its state is unknown.
        targets: the number of targets in each state, counted once for each collector.
        failures: the groups of failing targets, the newest first; at most 50.
    """

    version: str
    started: float
    now: float
    ready: bool
    waits_for: str
    spare: str
    healthy: bool
    ailment: str
    shard: int | None
    shards: int
    series: int
    config_loaded: float
    config_faults: tuple[str, ...]
    unmatched_budgets: tuple[tuple[str, str], ...]
    ledger: LedgerView | None
    targets: Mapping[State, int]
    accounts: tuple[AccountView, ...]
    collectors: tuple[CollectorView, ...]
    failures: tuple[FailureView, ...]

    @property
    def unwell(self) -> int:
        """The number of targets that fail or are stale."""
        return sum(self.targets[state] for state in UNWELL)


def credential_of(account: str) -> str:
    """Name the credential of an account or a database, on one line."""
    kind, _, name = " ".join(account.split()).partition(":")
    return f"token of database {name}" if kind == "database" and name else f"key of account {' '.join(account.split())}"
