"""Turns settings into the values that the parts are made of."""

import os
import random
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from exporter.backfill.baselines import Baselines, RecordedBaselines, open_file_baselines, open_shared_baselines
from exporter.clock import SYSTEM, Clocks
from exporter.collectors import discovery
from exporter.collectors.catalogue import with_queries
from exporter.collectors.collector import Collector
from exporter.collectors.database import Query
from exporter.cooperative import Turns
from exporter.counters.file_storage import FileStorage
from exporter.counters.storage import MemoryStorage, Storage, StorageError
from exporter.platform.http.client import Client
from exporter.platform.http.credential import Credential
from exporter.platform.http.observer import Observer
from exporter.platform.http.platform_time import PlatformTime
from exporter.platform.http.rate_limiter import RateLimiter
from exporter.platform.http.retry import Retry
from exporter.platform.http.transport import build_transport
from exporter.polling.capacity import Capacity
from exporter.polling.intervals import Account, Plan
from exporter.settings.account import AccountSettings, BudgetSettings
from exporter.settings.database import DatabaseSettings
from exporter.settings.key_file import KeyFile
from exporter.settings.model import Settings
from exporter.settings.secrets import SecretFileError
from exporter.settings.service import CollectorSettings, SeriesSettings, StateSettings
from exporter.targets.registry import Selection
from exporter.targets.sharding import Shard
from exporter.targets.target import DATABASE_PREFIX, Target


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
    turns: Turns | None = None,
) -> Client:
    """The client of an account; its budget is this shard's share.

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
        turns=turns,
        ca_file=settings.ca_file,
        proxy=settings.proxy,
    )


def database_client(
    settings: DatabaseSettings, observer: Observer, clocks: Clocks = SYSTEM, turns: Turns | None = None
) -> Client:
    """The client of a database, which is asked by one shard alone."""
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
        turns=turns,
    )


def named(settings: Settings) -> dict[str, AccountSettings | DatabaseSettings]:
    """The accounts and databases, by the name that `exporter.intervals.account_of` gives for their targets."""
    return {
        **{account.name: account for account in settings.accounts},
        **{DATABASE_PREFIX + database.name: database for database in settings.databases},
    }


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
        return database_client(settings, observer, turns=turns)
    return account_client(settings, observer, shards, platform_time=platform_time, turns=turns)


def storage(settings: Settings, shard: Shard, set_aside: Callable[[float], None], lost: Callable[[], None]) -> Storage:
    """Where the ledger keeps its rows.

    Args:
        settings: the settings.
        shard: whose rows they are.
        set_aside: called with unix seconds when a state file had to be put aside.
        lost: called on any thread when another exporter has taken the shard in a state database.
    """
    state = settings.state
    if state.is_shared:
        return state_database(state, shard, lost)
    return MemoryStorage() if state.path is None else FileStorage(state.path, SYSTEM.wall, set_aside)


def state_database(state: StateSettings, shard: Shard, lost: Callable[[], None] = lambda: None) -> Storage:
    """The storage of a shard in a state database.

    Args:
        state: where the database is.
        shard: whose rows it keeps.
        lost: called on any thread when another exporter has taken the shard.
    """
    # It is an extra, so that it is imported where it is used; the settings have found that it is installed.
    from exporter.counters.database_storage import DatabaseStorage  # noqa: PLC0415 - an extra
    from exporter.counters.state_database import Claim  # noqa: PLC0415 - an extra

    holder = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
    claim = Claim(state.installation, shard.index, shard.total, holder)
    return DatabaseStorage(_address(state), claim, lost=lost, lease=state.lease)


def state_problem(state: StateSettings) -> str:
    """Why a state database cannot be used; empty where it can, and where the state is in no database."""
    if not state.is_shared:
        return ""
    from exporter.counters.state_database import StateDatabase  # noqa: PLC0415 - an extra

    database = StateDatabase(_address(state), state.lease)
    try:
        database.check()
    except StorageError as error:
        return str(error)
    finally:
        database.close()
    return ""


def _address(state: StateSettings) -> Callable[[], str]:
    def read() -> str:
        try:
            return state.address()
        except SecretFileError as error:
            raise StorageError(str(error)) from None

    return read


def baselines(settings: Settings, shard: Shard) -> Baselines:
    """Where the live counters begin, for a backfill.

    Raises:
        BaselineError: the state file cannot be used.
    """
    state = settings.state
    if not state.is_shared:
        return open_file_baselines(state.path, SYSTEM)
    from exporter.counters.state_database import StateDatabase  # noqa: PLC0415 - an extra

    database = StateDatabase(_address(state), state.lease)
    recorded = RecordedBaselines(partial(database.row, state.installation), database.close)
    return open_shared_baselines(state_database(state, shard), recorded, SYSTEM)


def account_entry(client: Client) -> Account:
    """What the scheduler knows of a client's account."""
    return Account(client, Capacity(client.rate_limiter.rate, client.rate_limiter.max_in_flight))


def queries(databases: Sequence[DatabaseSettings], interval: float) -> list[Query]:
    """The users' queries."""
    return [
        Query(
            database=database.name,
            name=query.name,
            help=query.help or f"Column {query.value} of the configured query {query.name}, polled.",
            sql=query.sql,
            value=query.value,
            labels=query.labels,
            interval=query.interval or interval,
            max_rows=query.max_rows,
        )
        for database in databases
        for query in database.queries
    ]


def plans(settings: Settings) -> list[Plan]:
    """The collectors that are run, with the intervals that the settings give them."""
    own: dict[str, CollectorSettings] = settings.collectors.by_name()
    configured = queries(settings.databases, own["database"].interval or 0.0)
    return [
        Plan(collector, own[collector.section].interval, own[collector.section].stale_after)
        for collector in with_queries(configured)
        if own[collector.section].enabled and _tells_something(collector, settings.series)
    ]


def _tells_something(collector: Collector, series: SeriesSettings) -> bool:
    """Whether a poll is of any use: what is never served need not be asked for. Discovery finds targets besides."""
    return collector.discovers or any(series.serves(info.name) for info in collector.families)


def selections(settings: Settings) -> Iterator[Selection]:
    """Which targets the settings name, and which may be discovered."""
    for account in settings.accounts:
        yield from _of_account(account)
    databases = tuple(Target("", "database", database.name, database.name) for database in settings.databases)
    interval = settings.collectors.by_name()["database"].interval or 0.0
    asked = tuple(query.target() for query in queries(settings.databases, interval))
    yield Selection("", "database", databases)
    yield Selection("", "query", asked)


def _of_account(account: AccountSettings) -> Iterator[Selection]:
    name = account.name
    zones, scripts, shields = account.dns_zones, account.scripts, account.shield_zones
    finds_limits = shields.discover and shields.rate_limits
    lists = {
        discovery.SEARCH: zones.discover or scripts.discover,
        discovery.SHIELD_ZONES: shields.discover,
        discovery.RATE_LIMITS: finds_limits,
        "shield_zone": shields.discover or bool(shields.ids),
    }
    watched = tuple(what for what, is_wanted in lists.items() if is_wanted)
    yield Selection(name, "account", (Target(name, "account", name, name, watched=watched),))
    yield Selection(
        name,
        "dns_zone",
        tuple(Target(name, "dns_zone", str(zone_id)) for zone_id in zones.all_ids()),
        zones.discover,
        zones.include,
        zones.exclude,
    )
    read = {"read": scripts.read}
    fixed = tuple(Target(name, "script", str(script_id), attributes=read) for script_id in scripts.ids)
    yield Selection(name, "script", fixed, scripts.discover, attributes=read)
    fixed = tuple(Target(name, "shield_zone", str(zone_id)) for zone_id in shields.ids)
    yield Selection(name, "shield_zone", fixed, shields.discover)
    yield Selection(name, "rate_limit", tuple(_rate_limits(account)), finds_limits)
    yield Selection(
        name,
        "access_list",
        tuple(
            Target(name, "access_list", str(item.id), attributes={"shield_zone_id": str(item.shield_zone_id)})
            for item in account.access_lists
        ),
    )
    rules = tuple(Target(name, "waf_custom_rule", str(rule.id)) for rule in account.waf_custom_rules)
    yield Selection(name, "waf_custom_rule", rules)
    yield Selection(name, "image", tuple(_images(account)))
    yield Selection(name, "search", tuple(Target(name, "search", text, text) for text in account.searches))


def _rate_limits(account: AccountSettings) -> Iterator[Target]:
    for limit in account.rate_limits:
        zone = {} if limit.shield_zone_id is None else {"shield_zone_id": str(limit.shield_zone_id)}
        yield Target(account.name, "rate_limit", str(limit.id), limit.name, zone)


def _images(account: AccountSettings) -> Iterator[Target]:
    for image in account.images:
        parts = {"registry_id": image.registry_id, "namespace": image.namespace, "name": image.name}
        key = "/".join(parts.values())
        yield Target(account.name, "image", key, key, parts, image.watch_tags)
