"""Creates the clients of accounts and databases, counts the clients' calls, and finds which accounts are up."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from exporter.counters.ledger import Ledger
from exporter.daemon.machine import Machine
from exporter.platform.api import global_search, sql_over_http
from exporter.platform.errors import Forbidden, NotAvailable, PlatformError
from exporter.platform.http.client import Observer
from exporter.polling.pace import Account, Pace, Plan
from exporter.settings.model import Settings
from exporter.targets.target import DATABASE_PREFIX
from exporter.telemetry import Telemetry
from exporter.wiring.clients import Access, accesses_of, client_of

_KINDS_IN_DATABASES = ("database", "query")
# A spare waits this many seconds before it tries the keys again. A call that tries a key may be retried for this many
# seconds, too.
TRY_KEYS_SECONDS = 30.0
# After an authenticated answer, an account is up for this many intervals plus a timeout, because a poll may be late.
UP_INTERVALS = 1.5


class AccountObserver(Observer):
    """Counts the calls of one account or database.

    Args:
        clock: returns the time in seconds.

    Attributes:
        authenticated_at: when, by `clock`, the last attempt with a 2xx status and without a failure ended; None before
            the first.
    """

    def __init__(self, telemetry: Telemetry, account: str, clock: Callable[[], float]) -> None:
        self._telemetry = telemetry
        # Cached, because finding a series by its labels takes longer than counting in it.
        self._series: Callable[..., Any] = cache(lambda family, *labels: family.labels(account, *labels))
        self._clock = clock
        self.authenticated_at: float | None = None

    def is_up(self, interval: float, timeout: float) -> bool:
        """Return whether `authenticated_at` is at most `UP_INTERVALS` * `interval` + `timeout` seconds ago."""
        last = self.authenticated_at
        return last is not None and self._clock() - last <= interval * UP_INTERVALS + timeout

    def attempted(self, operation: str, code: str, seconds: float, reason: str | None) -> None:
        """Count an attempt, its duration and, if `reason` is given, the failure; update `authenticated_at`."""
        self._series(self._telemetry.requests, operation, code).inc()
        self._series(self._telemetry.durations, operation).observe(seconds)
        if reason is not None:
            self._series(self._telemetry.failures, operation, reason).inc()
        # For `NotAvailable`, `reason` is None, too, although the status may be that of an error.
        elif code.startswith("2"):
            self.authenticated_at = self._clock()

    def unsent(self, operation: str, reason: str) -> None:
        """Count the failure of a call that was not sent."""
        self._series(self._telemetry.failures, operation, reason).inc()

    def retried(self, operation: str) -> None:
        """Count a retry of a call."""
        self._series(self._telemetry.retries, operation).inc()

    def unexpected(self, operation: str, field: str) -> None:
        """Count an answer in which a field has unknown or unreadable values."""
        self._series(self._telemetry.unexpected, operation, field).inc()

    def throttled(self, seconds: float) -> None:
        """Count the seconds that an attempt waited for the budget, or for the end of a pause."""
        self._series(self._telemetry.throttled).inc(seconds)


@dataclass(slots=True, eq=False)
class Accounts:
    """Creates the clients of accounts and databases, and observes the clients' calls.

    Attributes:
        ledger: keeps the times of the accounts' platforms.
        entries: `Target.client_name` → the account or the database that is polled.
    """

    telemetry: Telemetry
    ledger: Ledger
    machine: Machine
    entries: Mapping[str, Account] = field(default_factory=dict)
    # One thread parses the long answers of all accounts and databases in turn, because parsing takes much memory.
    _parsing: Executor = field(init=False)
    _plans: Mapping[str, Plan] = field(default_factory=dict)
    _observers: dict[str, AccountObserver] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._parsing = self.machine.executors("answers")

    def build(self, settings: Settings) -> dict[str, Account]:
        """Return the accounts and databases of the settings; objects in `entries` with an unchanged access are kept.

        Raises:
            ConfigurationError: the environment names a proxy that cannot be used.
        """
        built: dict[str, Account] = {}
        for name, access in accesses_of(settings).items():
            account = self.entries.get(name)
            if account is None or account.access != access:
                account = self._create(name, access)
            built[name] = account
        return built

    def _create(self, name: str, access: Access) -> Account:
        observer = AccountObserver(self.telemetry, name, self.machine.clocks.monotonic)
        # After a change of its access, an account keeps the former observer, so that the account stays up.
        client = client_of(
            access,
            self._observers.setdefault(name, observer),
            self.machine,
            platform_time=None if _is_database(name) else self.ledger.platform_time(name),
            parsing=self._parsing,
        )
        return Account(client, Pace(access.requests_per_second), access)

    def use(self, entries: Mapping[str, Account], plans: Mapping[str, Plan]) -> None:
        """Use the accounts and databases that `build` has returned, and create the series of their calls."""
        self.entries, self._plans = entries, plans
        collectors = [plan.collector for plan in plans.values() if plan.collector.polls not in _KINDS_IN_DATABASES]
        operations = sorted({operation.name for collector in collectors for operation in collector.operations})
        for name in entries:
            if _is_database(name):
                self.telemetry.declare_calls(name, [sql_over_http.PIPELINE.name])
            else:
                self.telemetry.declare_calls(name, operations)
                self.telemetry.throttled.labels(name)

    def _account_names(self) -> list[str]:
        return [name for name in self.entries if not _is_database(name)]

    def up_by_account(self) -> dict[str, bool]:
        """Return account → whether the account is up; databases are left out."""
        found: dict[str, bool] = {}
        for name in self._account_names():
            account = self.entries[name]
            interval = account.pace.shortest_interval(self._plans)
            found[name] = self._observers[name].is_up(interval, account.client.timeout)
        return found

    def clock_offsets(self) -> dict[tuple[str, ...], float]:
        """Return `(account,)` → the platform's time minus this machine's, in seconds, where the platform's is known."""
        offsets = {(name,): self.ledger.platform_time(name).offset for name in self._account_names()}
        return {account: offset for account, offset in offsets.items() if offset is not None}

    def is_authenticated(self) -> bool:
        """Return whether an account has answered an authenticated call; without accounts, whether a database has."""
        names = self._account_names() or self.entries
        return any(self._observers[name].authenticated_at is not None for name in names)

    async def try_keys(self) -> bool:
        """Try the keys of the accounts until a key is accepted; return whether one was, or there is no account."""
        for name in self._account_names():
            account = self.entries.get(name)
            if account is None:
                # During the call of an earlier account, a reload has removed this one and closed its client.
                continue
            client = account.client
            try:
                await global_search.count_results(client.calls_until(client.clocks.monotonic() + TRY_KEYS_SECONDS), "")
            except (Forbidden, NotAvailable):
                # The key was accepted, although the key's rights or the account's plan do not include the search.
                return True
            except (PlatformError, RuntimeError):  # RuntimeError: no thread can be started now
                continue
            return True
        return not self._account_names()

    async def discard_former(self, former: Mapping[str, Account]) -> None:
        """Close former clients that are no longer used. If an account was removed, also remove its series."""
        for name in former.keys() - self.entries.keys():
            self.telemetry.forget("account", name)
            self._observers.pop(name, None)
        for name, account in former.items():
            if self.entries.get(name) is not account:
                await account.client.aclose()

    async def close(self) -> None:
        """Close the clients."""
        for account in self.entries.values():
            await account.client.aclose()


def _is_database(name: str) -> bool:
    return name.startswith(DATABASE_PREFIX)
