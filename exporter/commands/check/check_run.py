"""Polls every target of a configuration once, as the daemon would, and keeps what came of it."""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter import wiring
from exporter.clock import Clocks
from exporter.commands.check.check_account import AccountCheck, Progress, TargetResult, pairs
from exporter.platform.errors import PlatformError
from exporter.polling.capacity import Capacity
from exporter.settings.account import AccountSettings
from exporter.settings.database import DatabaseSettings
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import DATABASE_PREFIX, ResourceList


@dataclass(frozen=True, slots=True)
class Load:
    """What an account's targets ask for, against what they are given.

    Attributes:
        demand: requests a second that the targets and their intervals ask for.
        rate: requests a second that the budget gives.
        in_flight: calls at once that it gives.
        seconds: how long an answer took on average; 0 where there was none.
        stretch: by how much the intervals would be longer than configured; 1 where they can be kept.
    """

    demand: float
    rate: float
    in_flight: int
    seconds: float
    stretch: float


@dataclass(frozen=True, slots=True)
class AccountResult:
    """What came of an account, or of a database.

    Attributes:
        barrier: what keeps all of its targets from being polled.
        untried: polls by collector that were left out, because they would fail as others did.
        lists: kind → what discovery listed of it, wanted or not.
    """

    name: str
    tried: tuple[TargetResult, ...]
    load: Load
    barrier: PlatformError | None = None
    untried: Mapping[str, int] = field(default_factory=dict)
    lists: Mapping[str, ResourceList] = field(default_factory=dict)


@dataclass(slots=True)
class _Stopwatch:
    """Hears of each attempt (see `exporter.platform.observer.Observer`), and takes the time."""

    answers: int = 0
    seconds: float = 0.0

    def attempted(self, _endpoint: str, code: str, seconds: float, _reason: str | None) -> None:
        if code != "none":
            self.answers += 1
            self.seconds += seconds

    def retried(self, _endpoint: str) -> None:
        """A poll that went well in the end went well."""

    def unexpected(self, _endpoint: str, _field: str) -> None:
        """The daemon counts these; none is a fault."""

    def throttled(self, _seconds: float) -> None:
        """That the budget takes its time is what it is for."""


class CheckRun:
    """Tries a configuration.

    Args:
        settings: what is tried.
        clocks: the clocks.
        progressed: told an account's name, how many of its polls have ended, and how many there are.
    """

    def __init__(self, settings: Settings, clocks: Clocks, progressed: Progress) -> None:
        self._settings = settings
        self._clocks = clocks
        self._progressed = progressed
        self._plans = wiring.plans(settings)
        shard = Shard(settings.shard.resolve(socket.gethostname()), settings.shard.total)
        self._registry = Registry(shard)
        self._registry.configure(wiring.selections(settings))

    async def run(self) -> list[AccountResult]:
        """Try every account and database at once, each within its budget."""
        works = [self._of(name, told) for name, told in wiring.named(self._settings).items()]
        return list(await asyncio.gather(*works))

    def foresee(self) -> list[AccountResult]:
        """What the configured targets ask for; nothing is contacted, and nothing is discovered."""
        accounts = []
        for name, told in wiring.named(self._settings).items():
            shards = 1 if name.startswith(DATABASE_PREFIX) else self._settings.shard.total
            capacity = Capacity(told.budget.requests_per_second / shards, told.budget.max_in_flight)
            accounts.append(AccountResult(name, (), self._load(name, capacity)))
        return accounts

    async def _of(self, name: str, told: AccountSettings | DatabaseSettings) -> AccountResult:
        stopwatch = _Stopwatch()
        client = wiring.client_of(told, stopwatch, self._settings.shard.total)
        check = AccountCheck(
            name,
            client,
            timeout=told.timeout,
            registry=self._registry,
            clocks=self._clocks,
            progressed=self._progressed,
        )
        try:
            barrier = await check.make(self._plans)
        finally:
            await client.aclose()
        seconds = stopwatch.seconds / stopwatch.answers if stopwatch.answers else 0.0
        capacity = Capacity(client.rate_limiter.rate, client.rate_limiter.max_in_flight, seconds, check.calls)
        return AccountResult(name, tuple(check.tried), self._load(name, capacity), barrier, check.untried, check.lists)

    def _load(self, name: str, capacity: Capacity) -> Load:
        polls: dict[str, float] = {}
        for plan, target in pairs(self._plans, self._registry, name):
            interval = target.interval if target.interval is not None else plan.interval
            polls[plan.collector.name] = polls.get(plan.collector.name, 0.0) + 1 / interval
        return Load(
            capacity.demand(polls), capacity.rate, capacity.max_in_flight, capacity.seconds, capacity.stretch(polls)
        )
