"""What the status page and the JSON show, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum


class State(StrEnum):
    """How a target fares with one collector; in this order it is sorted."""

    FAILING = "failing"
    STALE = "stale"
    PENDING = "pending"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class TargetView:
    """A target as one collector sees it.

    Attributes:
        account: the account or the database (`database:orders`) that is asked for it.
        target: kind and id, as metrics name it: `dns_zone/102`.
        name: what people call it, empty where that is not known.
        state: `ok`, `failing`, `stale` (it told nothing good for so long that its series are gone), or `pending` (not
            polled yet).
        reason: one word for what went wrong with the last poll; empty where nothing did.
        message: the same in words, or what else is to be known.
        last_success: unix seconds of the last poll that went well; None where there was none.
        last_poll: unix seconds of the last poll; None where there was none.
        age: seconds since the last success; None where there was none.
        duration: seconds that the last poll took; None where there was none.
        chart: the counts of the last days, oldest first, the newest day not over; empty where it has no such
            chart, or a stale one.
    """

    account: str
    collector: str
    target: str
    name: str
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
    """The targets that a query asks for, a page of them.

    Attributes:
        total: how many there are.
        matched: how many the query finds.
        offset: how many of these come before the page.
        limit: how many a page has at most.
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
        targets: how many it polls.
        failing: how many of these fail or are stale.
        next_run: seconds until a target of it is due.
        last_duration: seconds that the last poll of a target took; None where there was none.
    """

    collector: str
    interval: float
    effective_interval: float
    targets: int
    failing: int
    next_run: float
    last_duration: float | None

    def is_stretched(self) -> bool:
        """Whether the effective interval is longer than the configured one, by more than rounding."""
        return self.effective_interval > self.interval * 1.005


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account or a database: whether it answers, and how much it is asked.

    Attributes:
        up: whether an authenticated answer came of late.
        reason: where it is down, the reason of its newest failure.
        budget: requests a second that it may be sent at the moment.
        demand: requests a second that its targets and intervals ask for.
        limits: requests a second that each limit of its budget allows, by the limit's key in the configuration; the
            lower one binds. What max_in_flight allows is known after the first call.
        paused: seconds for which it is left alone after a 429; 0 where it is not.
        max_in_flight: requests at once.
        targets: how many targets it has, counted once for each collector.
        failing: how many of these fail or are stale.
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

    def binding(self) -> tuple[str, float]:
        """Return the limit that binds, and the requests a second that it allows."""
        return min(self.limits.items(), key=lambda item: item[1])


@dataclass(frozen=True, slots=True)
class FailureView:
    """Targets that fail alike: of one account, with one collector, for one reason.

    Attributes:
        targets: how many they are.
        target: the one that was polled last.
        name: what it is called.
        message: what went wrong with it.
        last_poll: unix seconds of when it did.
    """

    account: str
    collector: str
    reason: str
    targets: int
    target: str
    name: str
    message: str
    last_poll: float


@dataclass(frozen=True, slots=True)
class TargetCounts:
    """How many targets there are in each state, counted once for each collector."""

    ok: int
    failing: int
    stale: int
    pending: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.ok + self.failing + self.stale + self.pending


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The durable counters.

    Attributes:
        durable: whether they are kept in a file; otherwise they start anew with the process.
        saves: whether the last write went well.
        set_aside: unix seconds of when state was last found to be lost in this run; None where that never happened.
    """

    durable: bool
    saves: bool
    set_aside: float | None


@dataclass(frozen=True, slots=True)
class ShardView:
    """Which exporter holds a shard, where shards change hands.

    Attributes:
        shard: its number.
        holder: the exporter's host, process id and a random text; empty where no exporter holds it.
        epoch: how often it has been claimed; 0 where no exporter holds it.
        own: whether this exporter holds it.
    """

    shard: int
    holder: str
    epoch: int
    own: bool


@dataclass(frozen=True, slots=True)
class StatusView:
    """The exporter as a whole.

    Attributes:
        started: unix seconds, like all that follow without another unit.
        shard: which of the shards this is, from 0; the first one where it holds several.
        held: the shards that this exporter polls.
        leases: who holds which shard; empty where shards do not change hands.
        waits_for: what readiness waits for; empty where it is ready.
        ailment: what has stalled; empty where it is healthy.
        series: how many series of targets are exposed.
        config_loaded: when the configuration in force was loaded.
        config_faults: why a later one was refused; empty where none was.
        unmatched_budgets: account and configured name of the monthly budgets that belong to no script.
        ledger: None where nobody tells.
        failures: what fails at the moment, the newest first; at most 50 of them.
    """

    version: str
    started: float
    now: float
    ready: bool
    waits_for: str
    healthy: bool
    ailment: str
    shard: int
    shards: int
    held: tuple[int, ...]
    leases: tuple[ShardView, ...]
    series: int
    config_loaded: float
    config_faults: tuple[str, ...]
    unmatched_budgets: tuple[tuple[str, str], ...]
    ledger: LedgerView | None
    targets: TargetCounts
    accounts: tuple[AccountView, ...]
    collectors: tuple[CollectorView, ...]
    failures: tuple[FailureView, ...]


def credential_of(account: str) -> str:
    """What an account or a database authenticates with, in words, on one line whatever it is called."""
    kind, _, name = " ".join(account.split()).partition(":")
    return f"token of database {name}" if kind == "database" and name else f"key of account {' '.join(account.split())}"


def status_as_json(view: StatusView) -> dict[str, object]:
    """The status as plain values."""
    return asdict(view)


def target_as_json(view: TargetView) -> dict[str, object]:
    """A target as plain values."""
    plain = {field.name: getattr(view, field.name) for field in fields(view)}
    plain["chart"] = list(view.chart)
    return plain
