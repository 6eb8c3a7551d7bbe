"""Polls the targets of each account once: one target of each collector first, then the rest."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

from exporter.clock import Clocks
from exporter.collectors.collector import Context, Outcome
from exporter.explain.cause import Cause
from exporter.platform import errors
from exporter.platform.errors import PlatformError
from exporter.platform.http.client import Client, Observer
from exporter.polling.pace import Account, Plan
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.sharding import Shard
from exporter.targets.target import DATABASE_PREFIX, Target, TargetKey
from exporter.wiring import from_settings
from exporter.wiring.clients import client_of

OK, HAS_NONE, FAILED = "ok", Cause.PLATFORM_HAS_NONE.words, Cause.FAILING.words
# If the first poll of every collector fails with one of these errors, all other polls of the account would fail, too.
_OF_THE_ACCOUNT = (errors.CredentialError, errors.Unauthorized, errors.Forbidden, errors.TransportError)
# Retries end after this many timeouts: calls that fail fast are retried; calls that time out take too long for that.
_RETRY_TIMEOUTS = 2

# Receives an account's name, how many of its polls have ended, and how many there are.
Progress = Callable[[str, int, int], None]


class Row(NamedTuple):
    """The result of one target of one collector; the collector is empty if the whole account fails."""

    account: str
    collector: str
    target: str
    name: str
    result: str
    series: int
    detail: str


@dataclass(slots=True)
class AccountResult:
    """The results of an account or a database.

    Attributes:
        rows: the results, by collector; a single one if the whole account fails.
        polls: the number of polls that were made.
        demand: the requests a second that its targets need.
        budget: the requests a second that its budget allows.
        stretch: the factor by which intervals will be longer than configured.
    """

    name: str
    rows: list[Row] = field(default_factory=list)
    polls: int = 0
    demand: float = 0.0
    budget: float = 0.0
    stretch: float = 1.0


async def check_all(settings: Settings, clocks: Clocks, progressed: Progress) -> list[AccountResult]:
    """Poll every target of a configuration once: all accounts at the same time, each within its budget."""
    plans = list(from_settings.plans(settings).values())
    registry = Registry(settings.own_shard(socket.gethostname()) or Shard())
    registry.configure(from_settings.selections(settings))

    async def of(name: str, asked: AccountSettings | DatabaseSettings) -> AccountResult:
        async with aclosing(client_of(asked, Observer(), settings.shard.total)) as client:
            deadline = _RETRY_TIMEOUTS * asked.timeout
            return await _AccountCheck(name, client, deadline, registry, plans, clocks, progressed).make()

    return list(await asyncio.gather(*(of(name, asked) for name, asked in from_settings.named(settings).items())))


@dataclass(slots=True)
class _AccountCheck:
    """Polls the targets of an account or a database once."""

    name: str
    client: Client
    retry_seconds: float
    registry: Registry
    plans: Sequence[Plan]
    clocks: Clocks
    progressed: Progress
    polled: set[tuple[str, TargetKey]] = field(default_factory=set)
    # The name of the collector that gave each of them comes first.
    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)
    account: Account = field(init=False)

    async def make(self) -> AccountResult:
        """Make the polls, and return their results."""
        self.account = Account.of(self.client)
        first: dict[str, tuple[Plan, Target]] = {}
        for plan, target in self._targets():
            first.setdefault(plan.collector.name, (plan, target))
        await self._poll_all(list(first.values()))
        firsts = [outcome for _, outcome in self.outcomes]
        if firsts and firsts[0].error is not None and all(map(_concerns_the_account, firsts)):
            return AccountResult(self.name, [self._whole(firsts[0].error)], len(self.polled))
        # A poll may have found further targets.
        while rest := [
            (plan, target) for plan, target in self._targets() if (plan.collector.name, target.key) not in self.polled
        ]:
            await self._poll_all(rest)
        return self._result()

    def _targets(self) -> Iterator[tuple[Plan, Target]]:
        """Yield what is polled, discovery first."""
        for plan in sorted(self.plans, key=lambda plan: not plan.collector.discovers):
            for target in list(self.registry.targets(plan.collector.polls, every_shard=plan.collector.every_shard)):
                if target.client_name == self.name and plan.collector.wants(target):
                    yield plan, target

    async def _poll_all(self, polls: list[tuple[Plan, Target]]) -> None:
        waiting, expected = iter(polls), len(self.polled) + len(polls)

        async def work() -> None:
            for plan, target in waiting:
                await self._poll(plan, target)
                self.progressed(self.name, len(self.polled), expected)

        await asyncio.gather(*(work() for _ in range(min(len(polls), self.account.pace.max_in_flight))))

    async def _poll(self, plan: Plan, target: Target) -> None:
        name = plan.collector.name
        caller = self.client.until(self.clocks.monotonic() + self.retry_seconds)
        polled = await plan.collector.result(Context(caller, self.registry, self.client.present()), target)
        self.polled.add((name, target.key))
        self.account.pace.note(name, caller.number, caller.seconds)
        if polled.found is not None:
            self.registry.apply(self.name, polled.found)
        for outcome in polled.outcomes:
            # An answer may contain targets that this configuration or another shard polls, or none.
            is_other = outcome.target != target and self.registry.admits(outcome.target)
            if outcome.target.key in self.registry.by_key or is_other:
                self.outcomes.append((name, outcome))

    def _result(self) -> AccountResult:
        pace = self.account.pace
        for plan in self.plans:
            pace.note_targets(plan, [target for other, target in self._targets() if other is plan])
        collectors = sorted((plan.collector for plan in self.plans), key=lambda collector: not collector.discovers)
        order, owners = [one.name for one in collectors], {one.name for one in collectors if one.owns_target}
        self.outcomes.sort(key=lambda one: (order.index(one[0]), one[1].target.key))
        # No other collector's answer says anything of a target that does not exist.
        missing = (one for one in self.outcomes if isinstance(one[1].error, errors.NotFound))
        gone = {outcome.target for name, outcome in missing if name in owners}
        return AccountResult(
            self.name,
            [self._row(*one) for one in self.outcomes if one[0] in owners or one[1].target not in gone],
            len(self.polled),
            pace.demand,
            pace.rate,
            pace.stretch,
        )

    def _row(self, collector: str, outcome: Outcome) -> Row:
        target = self.registry.by_key.get(outcome.target.key, outcome.target)
        series = sum(len(family.samples) for family in outcome.families)
        series += sum(len(count.sources) for count in outcome.counts)
        result, detail = OK, ""
        if outcome.error is not None:
            result = HAS_NONE if isinstance(outcome.error, errors.NotAvailable) else FAILED
            detail = str(outcome.error)
        return Row(self.name, collector, target.key.label, target.name, result, series, detail)

    def _whole(self, error: PlatformError) -> Row:
        is_database = self.name.startswith(DATABASE_PREFIX)
        place, credential, setting = ("database", "token", "url") if is_database else ("platform", "key", "base_url")
        words = str(error)
        if isinstance(error, errors.Unauthorized):
            words = f"the {credential} is not accepted: {error}"
        elif isinstance(error, errors.TransportError):
            words = f"the {place} cannot be reached: {error}"
        elif isinstance(error, errors.NotFound):
            words = f"every poll fails: {error}; check the path of {setting}"
        target = self.name.replace(":", "/", 1) if is_database else f"account/{self.name}"
        return Row(self.name, "", target, "", FAILED, 0, words)


def _concerns_the_account(outcome: Outcome) -> bool:
    """Return whether an error would affect every call; with a wrong base_url, the account's own lists are missing."""
    is_missing = isinstance(outcome.error, errors.NotFound) and outcome.target.kind == "account"
    return is_missing or isinstance(outcome.error, _OF_THE_ACCOUNT)
