"""Polls the targets of each account once: first what it discovers, then one target of each collector, then the rest."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from exporter.clock import Clocks
from exporter.collectors.collector import Context, Outcome
from exporter.commands.check.results import AccountResult, Poll, TargetResult, configured_registry, demand_of, pairs
from exporter.platform import errors
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Client, Observer
from exporter.polling.timetable import Capacity, Plan
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.target import Target
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of

# After one of these errors, every other call of the account would fail, too.
_FINAL = (
    errors.CredentialError,
    errors.NameFault,
    errors.Refused,
    errors.ConnectTimeout,
    errors.TlsFault,
    errors.ProxyFault,
)
# These errors may concern a single resource; if every collector gets one, it concerns the account.
_SWEEPING = (errors.Unauthorized, errors.Forbidden, errors.Redirected, errors.TransportError)
# If this many collectors fail in the same way, the account has the fault.
_MANY_COLLECTORS = 3
# Calls that only the first poll makes: a database describes each query only once.
_ONCE = {"database_queries": 1}
_SCAN_FOUND = "edge_dns_record_scan_found"
# Retries end after this many timeouts: calls that fail fast are retried; calls that time out take too long for that.
_RETRY_TIMEOUTS = 2

# Receives an account's name, how many of its polls have ended, and how many there are.
Progress = Callable[[str, int, int], None]


async def check_all(settings: Settings, clocks: Clocks, progressed: Progress) -> list[AccountResult]:
    """Poll every target of a configuration once, as the daemon would: all accounts at once, each within its budget."""
    plans, registry = from_settings.plans(settings), configured_registry(settings)

    async def of(name: str, asked: AccountSettings | DatabaseSettings) -> AccountResult:
        stopwatch = _Stopwatch()
        async with aclosing(client_of(asked, stopwatch, settings.shard.total)) as client:
            result = AccountResult(name, Capacity(0.0, client.rate_limiter.max_in_flight))
            check = _AccountCheck(result, client, _RETRY_TIMEOUTS * asked.timeout, registry, clocks, progressed)
            result.barrier = await check.make(plans)
        capacity = result.capacity
        capacity.rate = client.rate_limiter.rate
        capacity.seconds = stopwatch.seconds / max(stopwatch.answers, 1)
        result.demand = demand_of(plans, registry, name, capacity)
        return result

    return list(await asyncio.gather(*(of(name, asked) for name, asked in from_settings.named(settings).items())))


class _Stopwatch(Observer):
    """Measures how long each answer takes."""

    answers = 0
    seconds = 0.0

    def attempted(self, _operation: str, code: str, seconds: float, _reason: str | None) -> None:
        """Count an answer and its seconds."""
        if code != "none":
            self.answers += 1
            self.seconds += seconds


@dataclass(slots=True)
class _AccountCheck:
    """Polls the targets of an account or a database once, and writes the result."""

    result: AccountResult
    client: Client
    retry_seconds: float
    registry: Registry
    clocks: Clocks
    progressed: Progress
    # Collector → the error of its first poll; None if that succeeded.
    first: dict[str, PlatformError | None] = field(default_factory=dict)
    done: int = 0
    expected: int = 0

    async def make(self, plans: list[Plan]) -> PlatformError | None:
        """Poll the targets that may succeed; return the error that concerns the whole account, if there is one."""
        lists = [poll for poll in pairs(plans, self.registry, self.result.name) if poll[0].collector.discovers]
        await self._poll_all(lists)
        others = [poll for poll in pairs(plans, self.registry, self.result.name) if not poll[0].collector.discovers]
        probes: dict[str, Poll] = {}
        rest = [poll for poll in others if probes.setdefault(poll[0].collector.name, poll) is not poll]
        self.expected = len(lists) + len(others)
        barrier = self._final()
        if barrier is None:
            await self._poll_all(list(probes.values()))
            barrier = self._final() or self._sweeping()
        else:
            rest.extend(probes.values())
        refused = {name for name, error in self.first.items() if isinstance(error, errors.Unauthorized)}
        names = [plan.collector.name for plan, _ in rest]
        self.result.untried.update(Counter(name for name in names if barrier is not None or name in refused))
        await self._poll_all([poll for poll in rest if poll[0].collector.name not in self.result.untried])
        return barrier

    def _final(self) -> PlatformError | None:
        return next((error for error in self.first.values() if isinstance(error, _FINAL)), None)

    def _sweeping(self) -> PlatformError | None:
        errors = [error for error in self.first.values() if error is not None]
        if not errors or len(errors) < len(self.first) or len({error.reason for error in errors}) > 1:
            return None
        is_the_account_s = isinstance(errors[0], _SWEEPING) or len(errors) >= _MANY_COLLECTORS
        return errors[0] if is_the_account_s else None

    async def _poll_all(self, polls: list[Poll]) -> None:
        waiting = iter(polls)

        async def work() -> None:
            for plan, target in waiting:
                await self._poll(plan, target)

        workers = min(len(polls), self.client.rate_limiter.max_in_flight)
        await asyncio.gather(*(work() for _ in range(workers)))

    async def _poll(self, plan: Plan, target: Target) -> None:
        name, result = plan.collector.name, self.result
        caller = self.client.until(self.clocks.monotonic() + self.retry_seconds)
        polled = await plan.collector.result(Context(caller, self.registry, self.client.present()), target)
        found: dict[str, int] = {}
        if polled.found is not None:
            self.registry.apply(result.name, polled.found)
            result.lists.update(polled.found.lists)
            found = {kind: len(resource_list.resources) for kind, resource_list in polled.found.lists.items()}
        if polled.outcomes:
            self.first.setdefault(name, polled.error)
        calls = result.capacity.calls
        calls[name] = max(calls.get(name, 1.0), float(caller.number - _ONCE.get(name, 0)))
        accepted = (
            one
            for one in polled.outcomes
            if one.target.key in self.registry.by_key or (one.target != target and self.registry.admits(one.target))
        )
        result.tried += (_tried(name, one, found) for one in accepted)
        self.done += 1
        self.progressed(result.name, self.done, max(self.expected, self.done))


def _tried(collector: str, outcome: Outcome, found: Mapping[str, int]) -> TargetResult:
    series = sum(len(family.samples) for family in outcome.families)
    series += sum(len(count.sources) for count in outcome.counts)
    is_never_scanned = any(
        family.info.name == _SCAN_FOUND and not any(sample.value for sample in family.samples)
        for family in outcome.families
    )
    return TargetResult(collector, outcome.target, outcome.error, series, is_never_scanned, found)
