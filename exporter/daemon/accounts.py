"""The accounts and databases that the daemon polls: their clients, and whether they answer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from exporter.clock import PlatformTime
from exporter.counters.ledger import Ledger
from exporter.platform.api import database
from exporter.platform.http.client import Client, Observer
from exporter.polling.poll import AccountObserver
from exporter.polling.timetable import Account, Intervals, Plan
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.target import TargetKey
from exporter.telemetry import Telemetry
from exporter.wiring import from_settings

_IN_DATABASES = ("database", "query")


class MakeClient(Protocol):
    """Creates the client of an account or a database, as `exporter.wiring.clients.client_of` does."""

    def __call__(
        self,
        settings: AccountSettings | DatabaseSettings,
        observer: Observer,
        shards: int,
        *,
        platform_time: PlatformTime,
    ) -> Client:
        """Create it."""


@dataclass(slots=True, eq=False)
class Accounts:
    """Creates the clients of accounts and databases, and observes their calls.

    Attributes:
        telemetry: where calls are counted.
        ledger: what is known of the platforms' times.
        registry: says which accounts this process reports.
        intervals: returns the intervals of polls that are in force.
        monotonic: a clock in seconds.
        make_client: creates the client of an account or a database.
        entries: the accounts and databases that are polled, by their targets' `client_name`.
    """

    telemetry: Telemetry
    ledger: Ledger
    registry: Registry
    intervals: Callable[[], Intervals]
    monotonic: Callable[[], float]
    make_client: MakeClient
    entries: Mapping[str, Account] = field(default_factory=dict)
    _configured: Mapping[str, AccountSettings | DatabaseSettings] = field(default_factory=dict)
    _observers: dict[str, AccountObserver] = field(default_factory=dict)

    def build(self, settings: Settings) -> dict[str, Account]:
        """Create the accounts and databases of settings; those with unchanged settings keep their clients.

        Raises:
            OSError: a file of trusted certificates cannot be read.
            ConfigurationError: the environment names a proxy that cannot be used.
        """
        built: dict[str, Account] = {}
        for name, configured in from_settings.named(settings).items():
            if self._configured.get(name) == configured:
                built[name] = self.entries[name]
            else:
                observer = self._observers.setdefault(name, AccountObserver(self.telemetry, name, self.monotonic))
                time = self.ledger.platform_time(name)
                client = self.make_client(configured, observer, settings.shard.total, platform_time=time)
                built[name] = Account.of(client)
        return built

    def use(self, settings: Settings, entries: Mapping[str, Account], plans: Iterable[Plan]) -> None:
        """Replace the accounts by those that were built from these settings, and start their series."""
        self.entries, self._configured = entries, from_settings.named(settings)
        collectors = [plan.collector for plan in plans if plan.collector.polls not in _IN_DATABASES]
        operations = sorted({operation.name for collector in collectors for operation in collector.operations})
        for name, configured in self._configured.items():
            is_database = isinstance(configured, DatabaseSettings)
            self.telemetry.declare_calls(name, [database.PIPELINE.name] if is_database else operations)
        self.telemetry.declare_accounts(self.ups())

    def ups(self) -> dict[str, Callable[[], bool] | None]:
        """Return for each account whether it is up; None where another shard reports this, which owns the account."""
        return {
            name: partial(self._is_up, name) if self.registry.owns(TargetKey.of(name, "account", name)) else None
            for name in self._names()
        }

    def _names(self) -> list[str]:
        """Return the names of the accounts, without the databases."""
        return [name for name, configured in self._configured.items() if isinstance(configured, AccountSettings)]

    def _is_up(self, name: str) -> bool:
        return self._observers[name].is_up(self.intervals().shortest(name), self._configured[name].timeout)

    def up(self) -> dict[str, bool]:
        """Return for each account whether it is up; databases are not included."""
        return {name: self._is_up(name) for name in self._names()}

    def is_authenticated(self) -> bool:
        """Return whether an account (or a database, if there are no accounts) has answered an authenticated call."""
        observers = [self._observers[name] for name in self._names()] or self._observers.values()
        return any(observer.authenticated is not None for observer in observers)

    async def leave(self, former: Mapping[str, Account]) -> None:
        """Close the clients of former accounts that are not used now, and remove the series of removed ones."""
        for name in former.keys() - self.entries.keys():
            self.telemetry.forget("account", name)
            self._observers.pop(name, None)
        for name, account in former.items():
            if self.entries.get(name) is not account:
                await account.client.aclose()

    async def close(self) -> None:
        """Close all clients."""
        for account in self.entries.values():
            await account.client.aclose()
