"""Creates the client of an account or a database from its settings."""

import random
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from exporter.blocking import Executors, one_thread
from exporter.clock import SYSTEM, Clocks, PlatformTime
from exporter.platform.errors import ProxyFault
from exporter.platform.http.client import Client, Observer
from exporter.platform.http.connector import Connector, connector, proxy_secrets
from exporter.platform.http.credential import Credential
from exporter.platform.http.rate_limiter import RateLimiter
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.key_file import KeyFile
from exporter.settings.model import Settings
from exporter.targets.target import DATABASE_PREFIX
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault

CONNECT_SHARE = 0.5


def by_client_name(settings: Settings) -> dict[str, AccountSettings | DatabaseSettings]:
    """Return the accounts and databases by name, as `exporter.targets.target.Target.client_name` gives it."""
    return {
        **{account.name: account for account in settings.accounts},
        **{DATABASE_PREFIX + database.name: database for database in settings.databases},
    }


@dataclass(frozen=True, slots=True)
class ClientMachine:
    """What a client uses of its machine.

    Attributes:
        clocks: the clocks.
        random: returns a number in [0, 1).
        executors: creates an executor for each kind of call that may block.
        connector: returns a function that creates the transport of an account.
    """

    clocks: Clocks = SYSTEM
    random: Callable[[], float] = random.random
    executors: Executors = one_thread
    connector: Connector = connector


def client_of(
    settings: AccountSettings | DatabaseSettings,
    observer: Observer,
    shards: int,
    machine: ClientMachine = ClientMachine(),
    *,
    platform_time: PlatformTime | None = None,
    parsing: Executor | None = None,
) -> Client:
    """Create the client of an account or a database.

    Args:
        settings: the account or the database.
        observer: is notified of every attempt.
        shards: the number of processes that share the budget of an account; only one polls a database.
        machine: what the client uses of its machine.
        platform_time: the time of the account's platform; None if it is not known yet. Not used for a database.
        parsing: parses long answers, as `Client` describes.

    Raises:
        ConfigurationError: the environment names a proxy that cannot be used.
    """
    clocks = machine.clocks
    if isinstance(settings, DatabaseSettings):
        url, scheme, key_file = settings.url, "bearer", settings.auth_token_file
        shards, platform_time = 1, None
    else:
        url, scheme, key_file = settings.base_url, settings.auth, settings.api_key_file
    budget = settings.budget
    in_flight = max(1, -(-budget.max_in_flight // shards))
    if key_file is not None:
        file = KeyFile(key_file, clocks.monotonic, machine.executors("key file"))
        credential = Credential(scheme, file, file.refresh)
    else:
        secret = settings.credential().get_secret_value()
        credential = Credential(scheme, lambda: secret)
    seconds = settings.timeout * CONNECT_SHARE
    try:
        connect = machine.connector(url, in_flight, machine.executors("names"), connect_seconds=seconds)
        secrets = proxy_secrets(url)
    except ProxyFault as error:
        raise ConfigurationError([ConfigurationFault(str(error))]) from None
    return Client(
        base_url=url,
        credential=credential,
        connect=connect,
        rate_limiter=RateLimiter(
            budget.requests_per_second / shards,
            in_flight,
            clocks=clocks,
            random=machine.random,
        ),
        random=machine.random,
        timeout=settings.timeout,
        observer=observer,
        clocks=clocks,
        platform_time=platform_time or PlatformTime(clocks),
        parsing=parsing,
        secrets=secrets,
    )
