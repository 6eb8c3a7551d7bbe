"""The accounts and databases that the daemon polls: their clients, and whether they answer."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from exporter.clock import PlatformTime
from exporter.counters.ledger import Ledger
from exporter.daemon.machine import Machine
from exporter.platform.api import sql_over_http
from exporter.platform.http.client import Observer
from exporter.polling.pace import Account, Plan
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.telemetry import Telemetry
from exporter.wiring.clients import by_client_name, client_of

_IN_DATABASES = ("database", "query")
# What the settings of an account or a database select; it does not concern their client.
_SELECTIONS = frozenset(
    {
        "dns_zones",
        "scripts",
        "shield_zones",
        "rate_limits",
        "access_lists",
        "waf_custom_rules",
        "images",
        "searches",
        "labels",
        "target_labels",
        "queries",
    }
)
# An account is up for this many intervals after an authenticated answer: a poll may be late.
UP_INTERVALS = 1.5


class AccountObserver(Observer):
    """Counts the calls of one account.

    Args:
        telemetry: the metrics in which they are counted.
        account: the account's name.
        clock: a monotonic clock in seconds.
        time: the platform's time; None for a database.

    Attributes:
        authenticated: the time of the last authenticated answer, on that clock; None if there was none.
    """

    def __init__(
        self, telemetry: Telemetry, account: str, clock: Callable[[], float], time: PlatformTime | None = None
    ) -> None:
        self._telemetry = telemetry
        self._time = time
        # Finding a series by its labels takes longer than to count in it.
        self._series: Callable[..., Any] = cache(lambda family, *labels: family.labels(account, *labels))
        self._clock = clock
        self.authenticated: float | None = None

    def is_up(self, interval: float, timeout: float) -> bool:
        """Return whether an authenticated answer came within an interval.

        Args:
            interval: seconds between two polls.
            timeout: seconds that an answer may take.
        """
        last = self.authenticated
        return last is not None and self._clock() - last <= interval * UP_INTERVALS + timeout

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Count an attempt of a call, its duration and, if it failed, its reason."""
        self._series(self._telemetry.requests, operation, code).inc()
        self._series(self._telemetry.durations, operation).observe(seconds)
        if reason is not None:
            self._series(self._telemetry.failures, operation, reason).inc()
        elif code.startswith("2"):
            self.authenticated = self._clock()
            if self._time is not None and self._time.offset is not None:
                self._series(self._telemetry.clock_offset).set(self._time.offset)

    def retried(self, operation: str) -> None:
        """Count a retry of a call."""
        self._series(self._telemetry.retries, operation).inc()

    def unexpected(self, operation: str, field: str) -> None:
        """Count an unknown value of a field."""
        self._series(self._telemetry.unexpected, operation, field).inc()

    def throttled(self, seconds: float) -> None:
        """Count the seconds that calls waited for the account's budget."""
        self._series(self._telemetry.throttled).inc(seconds)


@dataclass(slots=True, eq=False)
class Accounts:
    """Creates the clients of accounts and databases, and observes their calls.

    Attributes:
        telemetry: where calls are counted.
        ledger: what is known of the platforms' times.
        machine: what clients take from the machine.
        parsing: an executor for long answers.
        entries: the accounts and databases that are polled, by their targets' `client_name`.
    """

    telemetry: Telemetry
    ledger: Ledger
    machine: Machine
    parsing: Executor
    entries: Mapping[str, Account] = field(default_factory=dict)
    _configured: Mapping[str, AccountSettings | DatabaseSettings] = field(default_factory=dict)
    _plans: Mapping[str, Plan] = field(default_factory=dict)
    _observers: dict[str, AccountObserver] = field(default_factory=dict)

    def build(self, settings: Settings) -> dict[str, Account]:
        """Create the accounts and databases of settings; where nothing changed that concerns a client, it is kept.

        Raises:
            ConfigurationError: the environment names a proxy that cannot be used.
        """
        built: dict[str, Account] = {}
        for name, configured in by_client_name(settings).items():
            former = self._configured.get(name)
            if former is not None and _of_client(former) == _of_client(configured):
                built[name] = self.entries[name]
            else:
                time = self.ledger.platform_time(name)
                own_time = time if isinstance(configured, AccountSettings) else None
                clocks = self.machine.clocks
                observer = self._observers.setdefault(
                    name, AccountObserver(self.telemetry, name, clocks.monotonic, own_time)
                )
                client = client_of(
                    configured,
                    observer,
                    settings.shard.total,
                    clocks,
                    platform_time=time,
                    parsing=self.parsing,
                    random_number=self.machine.random,
                    executors=self.machine.executors,
                    make_connector=self.machine.connector,
                )
                built[name] = Account.of(client)
        return built

    def use(self, settings: Settings, entries: Mapping[str, Account], plans: Mapping[str, Plan]) -> None:
        """Replace the accounts by those that were built from these settings, and start their series."""
        for name in entries.keys() & self.entries.keys():
            if entries[name] is not self.entries[name]:
                # What was measured of a former client.
                self.telemetry.capacity.remove_by_labels({"account": name})
                self.telemetry.clock_offset.remove_by_labels({"account": name})
        self.entries, self._configured, self._plans = entries, by_client_name(settings), plans
        collectors = [plan.collector for plan in plans.values() if plan.collector.polls not in _IN_DATABASES]
        operations = sorted({operation.name for collector in collectors for operation in collector.operations})
        for name, configured in self._configured.items():
            is_database = isinstance(configured, DatabaseSettings)
            self.telemetry.declare_calls(name, [sql_over_http.PIPELINE.name] if is_database else operations)
            if not is_database:
                self.telemetry.throttled.labels(name)

    def _names(self) -> list[str]:
        """Return the names of the accounts, without the databases."""
        return [name for name, configured in self._configured.items() if isinstance(configured, AccountSettings)]

    def up(self) -> dict[str, bool]:
        """Return for each account whether it is up; databases are not included."""
        return {
            name: self._observers[name].is_up(
                self.entries[name].pace.shortest(self._plans), self._configured[name].timeout
            )
            for name in self._names()
        }

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


def _of_client(configured: AccountSettings | DatabaseSettings) -> AccountSettings | DatabaseSettings:
    """Return settings without what concerns no client."""
    return configured.model_copy(update=dict.fromkeys(_SELECTIONS & type(configured).model_fields.keys()))
