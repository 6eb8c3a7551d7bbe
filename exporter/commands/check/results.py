"""The results of a check: of each target and each account, and the load of an account's targets on its budget."""

import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from exporter.collectors import discovery
from exporter.platform.errors import PlatformError
from exporter.polling.intervals import Capacity, Plan
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.target import DATABASE_PREFIX, ResourceList, Target, account_of
from exporter.wiring import from_settings

Poll = tuple[Plan, Target]


@dataclass(frozen=True, slots=True)
class TargetResult:
    """The result of one target of one collector.

    Attributes:
        error: the failure; None for a success.
        series: the number of series that the poll gave.
        is_never_scanned: whether it is a zone whose records were never scanned.
        found: kind → the number of resources that a discovery found.
    """

    collector: str
    target: Target
    error: PlatformError | None = None
    series: int = 0
    is_never_scanned: bool = False
    found: Mapping[str, int] = field(default_factory=dict)


def pairs(plans: Iterable[Plan], registry: Registry, name: str) -> Iterator[Poll]:
    """Return the polls of an account or a database."""
    for plan in plans:
        for target in list(registry.targets(plan.collector.polls)):
            if account_of(target) == name and plan.collector.wants(target):
                yield plan, target


@dataclass(frozen=True, slots=True)
class Load:
    """The demand of an account's targets, and its budget.

    Attributes:
        demand: requests a second that the targets and their intervals need.
        rate: requests a second that the budget allows.
        in_flight: calls at once that it allows.
        seconds: the average duration of an answer; 0 if there was none.
        stretch: the factor by which intervals would be longer than configured; 1 if they can be kept.
    """

    demand: float
    rate: float
    in_flight: int
    seconds: float
    stretch: float


@dataclass(frozen=True, slots=True)
class AccountResult:
    """The results of an account or a database.

    Attributes:
        barrier: the error that affects all of its targets; None if there is none.
        untried: collector → the number of polls that were skipped, because they would fail as others did.
        lists: kind → the resources that discovery listed, selected or not.
        unnamed: why names of configured ids could not be looked up; None if they could.
    """

    name: str
    tried: tuple[TargetResult, ...]
    load: Load
    barrier: PlatformError | None = None
    untried: Mapping[str, int] = field(default_factory=dict)
    lists: Mapping[str, ResourceList] = field(default_factory=dict)
    unnamed: PlatformError | None = None


def configured_registry(settings: Settings) -> Registry:
    """Return the targets of this machine's shard that a configuration names."""
    registry = Registry(settings.shard.own(socket.gethostname()))
    registry.configure(from_settings.selections(settings))
    return registry


def load_of(plans: Iterable[Plan], registry: Registry, name: str, capacity: Capacity) -> Load:
    """Compute the load of an account's or a database's targets on its budget."""
    polls: dict[str, float] = {}
    for plan, target in pairs(plans, registry, name):
        if not plan.collector.wants(discovery.without_names(target)):
            continue  # names are looked up once
        interval = target.interval if target.interval is not None else plan.interval
        polls[plan.collector.name] = polls.get(plan.collector.name, 0.0) + 1 / interval
    demand = capacity.demand(polls)
    return Load(demand, capacity.rate, capacity.max_in_flight, capacity.seconds, capacity.stretch(demand))


def foresee(settings: Settings) -> list[AccountResult]:
    """Compute the load of the configured targets; contacts and discovers nothing."""
    plans, registry = from_settings.plans(settings), configured_registry(settings)
    results = []
    for name, asked in from_settings.named(settings).items():
        shards = 1 if name.startswith(DATABASE_PREFIX) else settings.shard.parts
        capacity = Capacity(asked.budget.requests_per_second / shards, asked.budget.max_in_flight)
        results.append(AccountResult(name, (), load_of(plans, registry, name, capacity)))
    return results
