"""Creates the client of an account or a database from the settings."""

import math
import random
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from exporter.blocking import Executors, one_thread
from exporter.clock import SYSTEM, Clocks, PlatformTime
from exporter.platform.errors import ProxyFault
from exporter.platform.http.client import Client, Observer
from exporter.platform.http.credential import Credential
from exporter.platform.http.proxy import Connector, connector, proxy_secrets
from exporter.platform.http.rate_limiter import RateLimiter
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.targets.target import DATABASE_PREFIX
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault
from exporter.wiring.key_file import KeyFile


@dataclass(frozen=True, slots=True)
class Access:
    """The settings that the client of an account or a database needs.

    Attributes:
        base_url: the address of the management API, or of a database.
        scheme: the header that contains the key: `access_key` or `bearer`, as `Credential` describes.
        key: the key of the account or the token of the database, or the file that contains the key or token.
        requests_per_second: the most requests a second that this process sends.
        max_in_flight: the most calls that this process makes at once.
        timeout: the time limit of an attempt, in seconds.
    """

    base_url: str
    scheme: str
    key: SecretStr | Path
    requests_per_second: float
    max_in_flight: int
    timeout: float


def access_of(settings: AccountSettings | DatabaseSettings, shards: int) -> Access:
    """Return how an account or a database is called; without a key or a token in the settings, the key is empty.

    An account's budget is divided by the number of shards. A database's is not, because one shard polls the database.
    """
    rate, in_flight = settings.budget.requests_per_second, settings.budget.max_in_flight
    if isinstance(settings, DatabaseSettings):
        token = settings.auth_token_file or settings.auth_token or SecretStr("")
        return Access(settings.url, "bearer", token, rate, in_flight, settings.timeout)
    key = settings.api_key_file or settings.api_key or SecretStr("")
    in_flight_of_shard = math.ceil(in_flight / shards)
    return Access(settings.base_url, settings.auth, key, rate / shards, in_flight_of_shard, settings.timeout)


def accesses_of(settings: Settings) -> dict[str, Access]:
    """Return `Target.client_name` → access, for each account and database."""
    accounts = {account.name: access_of(account, settings.shard.total) for account in settings.accounts}
    return accounts | {DATABASE_PREFIX + database.name: access_of(database, 1) for database in settings.databases}


@dataclass(frozen=True, slots=True)
class ClientMachine:
    """The clocks, random numbers, threads and connections that clients use.

    Attributes:
        random: returns a number in [0, 1).
        executors: creates an executor for a kind of call that may block.
        connector: returns a function that creates the transport of an account or a database.
    """

    clocks: Clocks = SYSTEM
    random: Callable[[], float] = random.random
    executors: Executors = one_thread
    connector: Connector = connector


def client_of(
    access: Access,
    observer: Observer,
    machine: ClientMachine = ClientMachine(),
    *,
    platform_time: PlatformTime | None = None,
    parsing: Executor | None = None,
) -> Client:
    """Create the client of an account or a database.

    The `Date` of each answer updates `platform_time` (None: a new `PlatformTime`). The executor `parsing` parses long
    answers (None: the event loop does).

    Raises:
        ConfigurationError: the environment names a proxy that cannot be used.
    """
    lookups = machine.executors("names")
    try:
        connect = machine.connector(access.base_url, access.max_in_flight, lookups, time_limit=access.timeout)
        secrets = proxy_secrets(access.base_url)
    except ProxyFault as error:
        raise ConfigurationError([ConfigurationFault(str(error))]) from None
    return Client(
        base_url=access.base_url,
        credential=_credential_of(access, machine),
        connect=connect,
        rate_limiter=RateLimiter(
            access.requests_per_second, access.max_in_flight, clocks=machine.clocks, random=machine.random
        ),
        random=machine.random,
        timeout=access.timeout,
        observer=observer,
        clocks=machine.clocks,
        platform_time=platform_time or PlatformTime(machine.clocks),
        parsing=parsing,
        secrets=secrets,
    )


def _credential_of(access: Access, machine: ClientMachine) -> Credential:
    if isinstance(access.key, SecretStr):
        return Credential(access.scheme, access.key.get_secret_value)
    file = KeyFile(access.key, machine.clocks.monotonic, machine.executors("key file"))
    return Credential(access.scheme, file.last_key, file.start_refresh, file.refresh)
