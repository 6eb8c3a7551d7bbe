"""The results of a check: of each target and each account, and the load of an account's targets on its budget."""

import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from exporter.collectors import discovery
from exporter.platform.errors import PlatformError
from exporter.polling.timetable import Capacity, Plan
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import DATABASE_PREFIX, ResourceList, Target
from exporter.wiring import from_settings

Poll = tuple[Plan, Target]


@dataclass(frozen=True, slots=True)
class TargetResult:
    """The result of one target of one collector; `found` has the number of resources that discovery found, by kind."""

    collector: str
    target: Target
    error: PlatformError | None = None
    series: int = 0
    is_never_scanned: bool = False
    found: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class AccountResult:
    """The results of an account or a database.

    Attributes:
        demand: the requests a second that its targets need.
        barrier: the error that affects all of its targets; None if there is none.
        untried: collector → the number of polls that were skipped, because they would fail as others did.
        lists: kind → the resources that discovery listed, selected or not.
    """

    name: str
    capacity: Capacity
    demand: float = 0.0
    tried: list[TargetResult] = field(default_factory=list)
    barrier: PlatformError | None = None
    untried: dict[str, int] = field(default_factory=dict)
    lists: dict[str, ResourceList] = field(default_factory=dict)


def pairs(plans: Iterable[Plan], registry: Registry, name: str) -> Iterator[Poll]:
    """Return the polls of an account or a database."""
    for plan in plans:
        for target in list(registry.targets(plan.collector.polls, every_shard=plan.collector.every_shard)):
            if target.client_name == name and plan.collector.wants(target):
                yield plan, target


def configured_registry(settings: Settings) -> Registry:
    """Return the targets of this machine's shard that a configuration names."""
    registry = Registry(settings.own_shard(socket.gethostname()) or Shard())
    registry.configure(from_settings.selections(settings))
    return registry


def demand_of(plans: Iterable[Plan], registry: Registry, name: str, capacity: Capacity) -> float:
    """Return the requests a second that an account's or a database's targets need."""
    polls: dict[str, float] = {}
    for plan, target in pairs(plans, registry, name):
        if plan.collector.wants(discovery.without_names(target)):  # names are looked up once
            interval = target.interval if target.interval is not None else plan.interval
            polls[plan.collector.name] = polls.get(plan.collector.name, 0.0) + 1 / interval
    return capacity.demand(polls)


def foresee(settings: Settings) -> list[AccountResult]:
    """Compute the load of the configured targets; contacts and discovers nothing."""
    plans, registry = from_settings.plans(settings), configured_registry(settings)
    results = []
    for name, asked in from_settings.named(settings).items():
        shards = 1 if name.startswith(DATABASE_PREFIX) else settings.shard.total
        capacity = Capacity(asked.budget.requests_per_second / shards, asked.budget.max_in_flight)
        results.append(AccountResult(name, capacity, demand_of(plans, registry, name, capacity)))
    return results
