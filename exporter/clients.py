"""Creates the client of an account or a database from its settings."""

import random
from collections.abc import Callable
from pathlib import Path

from exporter.clock import SYSTEM, Clocks
from exporter.event_loop import Turns
from exporter.platform.http.client import Client
from exporter.platform.http.credential import Credential
from exporter.platform.http.observer import Observer
from exporter.platform.http.pause import Pause
from exporter.platform.http.platform_time import PlatformTime
from exporter.platform.http.rate_limiter import RateLimiter
from exporter.platform.http.retry import Retry
from exporter.platform.http.transport import build_transport
from exporter.polling.capacity import Capacity
from exporter.polling.intervals import Account
from exporter.settings.account import AccountSettings, BudgetSettings
from exporter.settings.database import DatabaseSettings
from exporter.settings.key_file import KeyFile


def _credential(scheme: str, value: Callable[[], str], path: Path | None, clocks: Clocks) -> Credential:
    if path is None:
        return Credential(scheme, value)
    file = KeyFile(path, clocks.monotonic)
    return Credential(scheme, file, file.refresh)


def _read_now(settings: AccountSettings | DatabaseSettings) -> Callable[[], str]:
    return lambda: settings.credential().get_secret_value()


def _client(
    base_url: str,
    credential: Credential,
    budget: BudgetSettings,
    timeout: float,
    observer: Observer,
    *,
    shards: int,
    clocks: Clocks,
    platform_time: PlatformTime | None,
    pause: Pause | None,
    turns: Turns | None,
    ca_file: Path | None = None,
    proxy: str | None = None,
) -> Client:
    rate = budget.requests_per_second / shards
    in_flight = max(1, -(-budget.max_in_flight // shards))
    return Client(
        base_url,
        credential,
        transport=build_transport(
            base_url, in_flight, ca_file=str(ca_file) if ca_file is not None else None, proxy=proxy
        ),
        rate_limiter=RateLimiter(
            rate,
            in_flight,
            clocks=clocks,
            throttled=observer.throttled,
            pause=pause,
        ),
        retry=Retry(random.random),
        timeout=timeout,
        observer=observer,
        clocks=clocks,
        platform_time=(platform_time or PlatformTime(clocks)).read,
        turns=turns,
    )


def account_client(
    settings: AccountSettings,
    observer: Observer,
    shards: int,
    clocks: Clocks = SYSTEM,
    *,
    platform_time: PlatformTime | None = None,
    pause: Pause | None = None,
    turns: Turns | None = None,
) -> Client:
    """Create the client of an account; its budget is this shard's share.

    Raises:
        OSError: the file of trusted certificates cannot be read.
    """
    credential = _credential(
        settings.auth, lambda: settings.credential().get_secret_value(), settings.api_key_file, clocks
    )
    return _client(
        settings.base_url,
        credential,
        settings.budget,
        settings.timeout,
        observer,
        shards=shards,
        clocks=clocks,
        platform_time=platform_time,
        pause=pause,
        turns=turns,
        ca_file=settings.ca_file,
        proxy=settings.proxy,
    )


def database_client(
    settings: DatabaseSettings,
    observer: Observer,
    clocks: Clocks = SYSTEM,
    *,
    pause: Pause | None = None,
    turns: Turns | None = None,
) -> Client:
    """Create the client of a database, which only one shard polls."""
    credential = _credential(
        "bearer", lambda: settings.credential().get_secret_value(), settings.auth_token_file, clocks
    )
    return _client(
        settings.url,
        credential,
        settings.budget,
        settings.timeout,
        observer,
        shards=1,
        clocks=clocks,
        platform_time=None,
        pause=pause,
        turns=turns,
    )


def client_of(
    settings: AccountSettings | DatabaseSettings,
    observer: Observer,
    shards: int,
    clocks: Clocks = SYSTEM,
    *,
    platform_time: PlatformTime | None = None,
    pause: Pause | None = None,
    turns: Turns | None = None,
) -> Client:
    """Create the client of an account or a database.

    Args:
        settings: the account or database.
        observer: notified of every attempt.
        shards: how many processes share the account's budget.
        clocks: the clocks.
        platform_time: the known time of the account's platform; None where it is not known.
        pause: the pause that the platform asked for; None where it is not known.
        turns: the order in which long answers are parsed, one for all clients of an event loop.

    Raises:
        OSError: the file of trusted certificates cannot be read.
    """
    if isinstance(settings, DatabaseSettings):
        return database_client(settings, observer, clocks, pause=pause, turns=turns)
    return account_client(settings, observer, shards, clocks, platform_time=platform_time, pause=pause, turns=turns)


def account_entry(client: Client) -> Account:
    """Create the scheduler's entry for a client's account."""
    return Account(client, Capacity(client.rate_limiter.rate, client.rate_limiter.max_in_flight))
