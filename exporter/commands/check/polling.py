"""Polls the targets of each account once: first what it discovers, then one target of each collector, then the rest."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing

from exporter.clock import Clocks
from exporter.collectors.collector import Outcome
from exporter.commands.check.results import (
    AccountResult,
    Poll,
    TargetResult,
    configured_registry,
    load_of,
    pairs,
)
from exporter.platform.errors import (
    ConnectTimeout,
    CredentialError,
    Forbidden,
    NameFault,
    PlatformError,
    ProxyFault,
    Redirected,
    Refused,
    TlsFault,
    TransportError,
    Unauthorized,
)
from exporter.platform.http.client import Client, Observer
from exporter.polling.intervals import Capacity, Plan
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.target import ResourceList, Target
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of

# After one of these errors, every other call of the account would fail, too.
_FINAL = (CredentialError, NameFault, Refused, ConnectTimeout, TlsFault, ProxyFault)
# These errors may concern a single resource; if every collector gets one, it concerns the account.
_SWEEPING = (Unauthorized, Forbidden, Redirected, TransportError)
# If this many collectors fail in the same way, the account has the fault.
_MANY_COLLECTORS = 3
# Calls that only the first poll makes: a database describes each query only once.
_ONCE = {"database_queries": 1}
_SCAN_FOUND = "edge_dns_record_scan_found"
# Retries end after this many timeouts. Calls that fail fast are retried; calls that time out take too long for that.
_RETRY_TIMEOUTS = 2

Progress = Callable[[str, int, int], None]


async def check_all(settings: Settings, clocks: Clocks, progressed: Progress) -> list[AccountResult]:
    """Poll every target of a configuration once, as the daemon would: all accounts at once, each within its budget.

    Args:
        settings: the configuration.
        clocks: the clocks.
        progressed: receives an account's name, how many of its polls have ended, and how many there are.
    """
    plans, registry = from_settings.plans(settings), configured_registry(settings)

    async def of(name: str, asked: AccountSettings | DatabaseSettings) -> AccountResult:
        stopwatch = _Stopwatch()
        async with aclosing(client_of(asked, stopwatch, settings.shard.parts)) as client:
            check = _AccountCheck(
                name, client, timeout=asked.timeout, registry=registry, clocks=clocks, progressed=progressed
            )
            barrier = await check.make(plans)
        seconds = stopwatch.seconds / stopwatch.answers if stopwatch.answers else 0.0
        capacity = Capacity(client.rate_limiter.rate, client.rate_limiter.max_in_flight, seconds, check.calls)
        load = load_of(plans, registry, name, capacity)
        return AccountResult(name, tuple(check.tried), load, barrier, check.untried, check.lists, check.unnamed)

    return list(await asyncio.gather(*(of(name, asked) for name, asked in from_settings.named(settings).items())))


class _Stopwatch(Observer):
    """Measures how long each answer takes."""

    def __init__(self) -> None:
        self.answers = 0
        self.seconds = 0.0

    def attempted(self, _operation: str, code: str, seconds: float, _reason: str | None) -> None:
        """Count an answer and its seconds."""
        if code != "none":
            self.answers += 1
            self.seconds += seconds


class _AccountCheck:
    """Polls the targets of an account or a database once.

    Attributes:
        tried: the result of each target.
        untried: collector → the number of polls that were skipped, because they would fail as others did.
        calls: collector → the calls of one of its polls.
        lists: kind → the resources that discovery listed, selected or not.
        unnamed: why names of configured ids could not be looked up; None if they could.
    """

    def __init__(
        self, name: str, client: Client, *, timeout: float, registry: Registry, clocks: Clocks, progressed: Progress
    ) -> None:
        self.tried: list[TargetResult] = []
        self.untried: dict[str, int] = {}
        self.calls: dict[str, float] = {}
        self.lists: dict[str, ResourceList] = {}
        self.unnamed: PlatformError | None = None
        self._name = name
        self._client = client
        self._timeout = timeout
        self._registry = registry
        self._clocks = clocks
        self._progressed = progressed
        # Collector → the error of its first poll; None if that succeeded.
        self._first: dict[str, PlatformError | None] = {}
        self._done = 0
        self._all = 0

    async def make(self, plans: list[Plan]) -> PlatformError | None:
        """Poll the targets that may succeed; return the error that concerns the whole account, if there is one."""
        lists = [poll for poll in pairs(plans, self._registry, self._name) if _discovers(poll)]
        await self._poll_all(lists)
        others = [poll for poll in pairs(plans, self._registry, self._name) if not _discovers(poll)]
        probes: dict[str, Poll] = {}
        rest = [poll for poll in others if probes.setdefault(poll[0].collector.name, poll) is not poll]
        self._all = len(lists) + len(probes) + len(rest)
        barrier = self._final()
        if barrier is None:
            await self._poll_all(list(probes.values()))
            barrier = self._final() or self._sweeping()
        else:
            rest.extend(probes.values())
        refused = {name for name, error in self._first.items() if isinstance(error, Unauthorized)}
        hopeful: list[Poll] = []
        for poll in rest:
            name = poll[0].collector.name
            if barrier is None and name not in refused:
                hopeful.append(poll)
            else:
                self.untried[name] = self.untried.get(name, 0) + 1
        await self._poll_all(hopeful)
        return barrier

    def _final(self) -> PlatformError | None:
        return next((error for error in self._first.values() if isinstance(error, _FINAL)), None)

    def _sweeping(self) -> PlatformError | None:
        errors = [error for error in self._first.values() if error is not None]
        if not errors or len(errors) < len(self._first) or len({error.reason for error in errors}) > 1:
            return None
        is_the_account_s = isinstance(errors[0], _SWEEPING) or len(errors) >= _MANY_COLLECTORS
        return errors[0] if is_the_account_s else None

    async def _poll_all(self, polls: list[Poll]) -> None:
        waiting = iter(polls)

        async def work() -> None:
            for plan, target in waiting:
                await self._poll(plan, target)

        workers = min(len(polls), self._client.rate_limiter.max_in_flight)
        await asyncio.gather(*(work() for _ in range(workers)))

    async def _poll(self, plan: Plan, target: Target) -> None:
        name = plan.collector.name
        caller = self._client.until(self._clocks.monotonic() + _RETRY_TIMEOUTS * self._timeout)
        polled = await plan.collector.result(target, caller, self._registry, self._client.present())
        found: dict[str, int] = {}
        if polled.found is not None:
            self._registry.apply(self._name, polled.found)
            self.lists.update(polled.found.lists)
            found = {kind: len(resource_list.resources) for kind, resource_list in polled.found.lists.items()}
        self.unnamed = self.unnamed or polled.unnamed
        if polled.outcomes:
            self._first.setdefault(name, polled.error)
        self.calls[name] = max(self.calls.get(name, 1.0), float(caller.number - _ONCE.get(name, 0)))
        self.tried.extend(
            _tried(name, outcome, found)
            for outcome in polled.outcomes
            if self._registry.accepts(target, outcome.target)
        )
        self._done += 1
        self._progressed(self._name, self._done, max(self._all, self._done))


def _tried(collector: str, outcome: Outcome, found: Mapping[str, int]) -> TargetResult:
    samples = sum(len(family.samples) for family in outcome.families)
    counts = sum(len(count.sources) for count in outcome.counts)
    is_never_scanned = any(
        family.info.name == _SCAN_FOUND and not any(sample.value for sample in family.samples)
        for family in outcome.families
    )
    return TargetResult(collector, outcome.target, outcome.error, samples + counts, is_never_scanned, found)


def _discovers(poll: Poll) -> bool:
    return poll[0].collector.discovers
