"""Turns settings into the values that the parts are made of."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from exporter.causes import Cause
from exporter.clock import SYSTEM, Clocks
from exporter.collectors import discovery
from exporter.collectors.catalogue import with_queries
from exporter.collectors.collector import Collector
from exporter.collectors.database import Query
from exporter.cooperative import Turns
from exporter.explain.scope import Scope
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
from exporter.settings.service import CollectorSettings, SeriesSettings
from exporter.targets.registry import Selection
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


def scope(settings: Settings) -> Scope:
    """What the settings let be exposed, and what they keep out."""
    own = settings.collectors.by_name()
    series = settings.series

    def refusal(family: str) -> tuple[Cause, str] | None:
        pattern = series.denied_by(family)
        if pattern is not None:
            return Cause.DENIED, f"series.deny: {pattern}"
        if not series.is_allowed(family):
            return Cause.NOT_ALLOWED, f"series.allow: {', '.join(allowed.pattern for allowed in series.allow)}"
        return None

    return Scope(
        collectors=with_queries(queries(settings.databases, own["database"].interval or 0.0)),
        disabled=frozenset(name for name, section in own.items() if not section.enabled),
        refusal=refusal,
        state_path="" if settings.state.path is None else str(settings.state.path),
    )


def selections(settings: Settings) -> Iterator[Selection]:
    """Which targets the settings name, and which may be discovered."""
    for account in settings.accounts:
        yield from _of_account(account)
    databases = tuple(Target("", "database", database.name, database.name) for database in settings.databases)
    interval = settings.collectors.by_name()["database"].interval or 0.0
    asked = tuple(query.target() for query in queries(settings.databases, interval))
    yield Selection("", "database", databases, setting="databases")
    yield Selection("", "query", asked, setting="databases[].queries")


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
        setting="dns_zones",
    )
    read = {"read": scripts.read}
    fixed = tuple(Target(name, "script", str(script_id), attributes=read) for script_id in scripts.ids)
    yield Selection(name, "script", fixed, scripts.discover, attributes=read, setting="scripts")
    fixed = tuple(Target(name, "shield_zone", str(zone_id)) for zone_id in shields.ids)
    yield Selection(name, "shield_zone", fixed, shields.discover, setting="shield_zones")
    yield Selection(name, "rate_limit", tuple(_rate_limits(account)), finds_limits, setting="rate_limits")
    yield Selection(
        name,
        "access_list",
        tuple(
            Target(name, "access_list", str(item.id), attributes={"shield_zone_id": str(item.shield_zone_id)})
            for item in account.access_lists
        ),
        setting="access_lists",
    )
    rules = tuple(Target(name, "waf_custom_rule", str(rule.id)) for rule in account.waf_custom_rules)
    yield Selection(name, "waf_custom_rule", rules, setting="waf_custom_rules")
    yield Selection(name, "image", tuple(_images(account)), setting="images")
    searches = tuple(Target(name, "search", text, text) for text in account.searches)
    yield Selection(name, "search", searches, setting="searches")


def _rate_limits(account: AccountSettings) -> Iterator[Target]:
    for limit in account.rate_limits:
        zone = {} if limit.shield_zone_id is None else {"shield_zone_id": str(limit.shield_zone_id)}
        yield Target(account.name, "rate_limit", str(limit.id), limit.name, zone)


def _images(account: AccountSettings) -> Iterator[Target]:
    for image in account.images:
        parts = {"registry_id": image.registry_id, "namespace": image.namespace, "name": image.name}
        key = "/".join(parts.values())
        yield Target(account.name, "image", key, key, parts, image.watch_tags)
