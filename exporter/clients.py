"""Makes the client of an account or a database from its settings."""

import asyncio
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from exporter.event_loop import Turns
from exporter.platform.http.client import Client, Timing
from exporter.platform.http.credential import Credential
from exporter.platform.http.observer import Observer
from exporter.platform.http.platform_time import PlatformTime
from exporter.platform.http.rate_limiter import Budget
from exporter.platform.http.retry import Retry
from exporter.platform.http.transport import build_transport
from exporter.polling.capacity import Pace
from exporter.polling.intervals import Account
from exporter.settings.account import AccountSettings, BudgetSettings
from exporter.settings.database import DatabaseSettings
from exporter.settings.key_file import KeyFile


def _credential(scheme: str, value: Callable[[], str], path: Path | None, timing: Timing) -> Credential:
    if path is None:
        return Credential(scheme, value)
    file = KeyFile(path, timing.monotonic)
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
    timing: Timing,
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
        budget=Budget(
            rate,
            in_flight,
            clock=timing.monotonic,
            sleep=timing.sleep,
            throttled=observer.throttled,
        ),
        retry=Retry(random.random),
        timeout=timeout,
        observer=observer,
        timing=timing,
    )


def real_timing(platform_time: PlatformTime | None = None, turns: Turns | None = None) -> Timing:
    """The clocks that a client lives by; it goes on from what was believed of the platform's time before."""
    platform_time = platform_time or PlatformTime(time.time, time.monotonic)
    return Timing(time.monotonic, asyncio.sleep, lambda: datetime.now(UTC), platform_time.read, turns or Turns())


def account_client(settings: AccountSettings, observer: Observer, shards: int, timing: Timing | None = None) -> Client:
    """The client of an account; its budget is this shard's share.

    Raises:
        OSError: the file of trusted certificates cannot be read.
    """
    timing = timing or real_timing()
    credential = _credential(
        settings.auth, lambda: settings.credential().get_secret_value(), settings.api_key_file, timing
    )
    return _client(
        settings.base_url,
        credential,
        settings.budget,
        settings.timeout,
        observer,
        shards=shards,
        timing=timing,
        ca_file=settings.ca_file,
        proxy=settings.proxy,
    )


def database_client(settings: DatabaseSettings, observer: Observer, timing: Timing | None = None) -> Client:
    """The client of a database, which is asked by one shard alone."""
    timing = timing or real_timing()
    credential = _credential(
        "bearer", lambda: settings.credential().get_secret_value(), settings.auth_token_file, timing
    )
    return _client(
        settings.url,
        credential,
        settings.budget,
        settings.timeout,
        observer,
        shards=1,
        timing=timing,
    )


def client_of(
    settings: AccountSettings | DatabaseSettings,
    observer: Observer,
    shards: int,
    platform_time: PlatformTime | None = None,
    turns: Turns | None = None,
) -> Client:
    """The client of an account or a database.

    Args:
        settings: the account or database.
        observer: notified of every attempt.
        shards: how many processes share the account's budget.
        platform_time: what is known of the time on the account's platform; None where nothing is.
        turns: where long answers wait to be parsed, one for all clients of an event loop.

    Raises:
        OSError: the file of trusted certificates cannot be read.
    """
    if isinstance(settings, DatabaseSettings):
        return database_client(settings, observer, real_timing(None, turns))
    return account_client(settings, observer, shards, real_timing(platform_time, turns))


def account_entry(client: Client) -> Account:
    """What the scheduler knows of a client's account."""
    return Account(client, Pace(client.budget.rate, client.budget.max_in_flight))
