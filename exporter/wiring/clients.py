"""Creates the client of an account or a database from its settings."""

import random
from collections.abc import Callable
from concurrent.futures import Executor

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


def client_of(
    settings: AccountSettings | DatabaseSettings,
    observer: Observer,
    shards: int = 1,
    clocks: Clocks = SYSTEM,
    *,
    platform_time: PlatformTime | None = None,
    parsing: Executor | None = None,
    random_number: Callable[[], float] = random.random,
    executors: Executors = one_thread,
    make_connector: Connector = connector,
) -> Client:
    """Create the client of an account or a database; raises ConfigurationError for the environment's proxy.

    The budget of an account is shared by `shards` processes; only one polls a database. The known time of its platform
    is kept by the caller; None if unknown. `parsing` parses long answers, as `Client` describes it; `executors` are for
    the file of its key and the name of its host.
    """
    if isinstance(settings, DatabaseSettings):
        url, scheme, key_file = settings.url, "bearer", settings.auth_token_file
        shards, platform_time = 1, None
    else:
        url, scheme, key_file = settings.base_url, settings.auth, settings.api_key_file
    budget = settings.budget
    in_flight = max(1, -(-budget.max_in_flight // shards))
    if key_file is not None:
        file = KeyFile(key_file, clocks.monotonic, executors("key file"))
        credential = Credential(scheme, file, file.refresh)
    else:
        secret = settings.credential().get_secret_value()
        credential = Credential(scheme, lambda: secret)
    seconds = settings.timeout * CONNECT_SHARE
    try:
        connect = make_connector(url, in_flight, executors("names"), connect_seconds=seconds)
        secrets = proxy_secrets(url)
    except ProxyFault as error:
        raise ConfigurationError([ConfigurationFault("", None, "", str(error))]) from None
    return Client(
        base_url=url,
        credential=credential,
        connect=connect,
        rate_limiter=RateLimiter(
            budget.requests_per_second / shards,
            in_flight,
            clocks=clocks,
            random=random_number,
        ),
        random=random_number,
        timeout=settings.timeout,
        observer=observer,
        clocks=clocks,
        platform_time=platform_time or PlatformTime(clocks),
        parsing=parsing,
        secrets=secrets,
    )
