"""Creates the parts' arguments from the settings."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from exporter.collectors import discovery
from exporter.collectors.catalogue import with_queries
from exporter.collectors.causes import Cause
from exporter.collectors.collector import Collector
from exporter.collectors.database import DatabaseQuery
from exporter.collectors.endpoints import build
from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.collectors.endpoints.listing import EndpointListCollector
from exporter.explain.candidates import Scope
from exporter.polling.intervals import Plan
from exporter.settings.account import AccountSettings, DatabaseSettings
from exporter.settings.model import Settings
from exporter.settings.service import CollectorSettings, SeriesSettings
from exporter.targets.registry import Selection
from exporter.targets.target import DATABASE_PREFIX, Target


def named(settings: Settings) -> dict[str, AccountSettings | DatabaseSettings]:
    """Return the accounts and databases by name, in the form of `exporter.targets.target.account_of`."""
    return {
        **{account.name: account for account in settings.accounts},
        **{DATABASE_PREFIX + database.name: database for database in settings.databases},
    }


def fingerprint(settings: Settings) -> str:
    """Return digests of the accounts' addresses, and of where targets come from, to be compared by other exporters."""
    accounts = {account.name: _digest(str(account.base_url)) for account in settings.accounts}
    sources = [
        [one.account, one.kind, one.discover, sorted(target.id for target in one.fixed)]
        + [[pattern.pattern for pattern in patterns] for patterns in (one.include, one.exclude)]
        for one in selections(settings)
        if one.fixed or one.discover
    ]
    return json.dumps({"accounts": accounts, "sources": _digest(json.dumps([accounts, sorted(sources, key=str)]))})


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def queries(databases: Sequence[DatabaseSettings], interval: float) -> list[DatabaseQuery]:
    """Return the configured queries, with this interval for those without one."""
    return [
        DatabaseQuery(database.name, query, query.interval or interval)
        for database in databases
        for query in database.queries
    ]


def plans(settings: Settings) -> list[Plan]:
    """Return the enabled collectors with their intervals."""
    own = settings.collector_settings()
    return [
        Plan(collector, _interval(collector, own), own[collector.section].stale_after)
        for collector in collectors(settings)
        if own[collector.section].enabled and _tells_something(collector, settings.series)
    ]


def collectors(settings: Settings) -> tuple[Collector, ...]:
    """Return every collector, enabled or not, including those of configured queries and endpoints."""
    catalogue = with_queries(queries(settings.databases, settings.collector_settings()["database"].interval))
    addresses = {account.name: account.base_url for account in settings.accounts}
    return (*catalogue, *build.collectors(endpoints(settings), addresses))


def endpoints(settings: Settings) -> list[Endpoint]:
    """Return the configured endpoints with their intervals."""
    own = settings.collector_settings()
    return [one.model_copy(update={"interval": own[one.name].interval}) for one in settings.endpoints]


def _interval(collector: Collector, own: Mapping[str, CollectorSettings]) -> float:
    """Return a collector's interval; a list of an endpoint's targets is read at most as often as discovery runs."""
    interval = own[collector.section].interval
    return max(interval, own["discovery"].interval) if isinstance(collector, EndpointListCollector) else interval


def _tells_something(collector: Collector, series: SeriesSettings) -> bool:
    """Return whether any family of a collector is served, so that polls are useful; discovery also finds targets."""
    return collector.discovers or any(series.serves(info.name) for info in collector.families)


def scope(settings: Settings) -> Scope:
    """Return which families the settings expose, and which they exclude."""
    own = settings.collector_settings()
    series = settings.series

    def refusal(family: str) -> tuple[Cause, str] | None:
        pattern = series.denied_by(family)
        if pattern is not None:
            return Cause.DENIED, f"series.deny: {pattern}"
        if not series.is_allowed(family):
            return Cause.NOT_ALLOWED, f"series.allow: {', '.join(allowed.pattern for allowed in series.allow)}"
        return None

    return Scope(
        collectors=collectors(settings),
        disabled=frozenset(name for name, section in own.items() if not section.enabled),
        refusal=refusal,
        state_path="" if settings.state.path is None else str(settings.state.path),
    )


def selections(settings: Settings) -> Iterator[Selection]:
    """Return the targets that the settings name, and the kinds that are discovered."""
    for account in settings.accounts:
        yield from account_selections(account)
        yield from _of_endpoints(account.name, settings.endpoints)
    databases = tuple(Target("", "database", database.name, database.name) for database in settings.databases)
    interval = settings.collector_settings()["database"].interval
    asked = tuple(query.target() for query in queries(settings.databases, interval))
    yield Selection("", "database", databases, setting="databases")
    yield Selection("", "query", asked, setting="databases[].queries")


def _of_endpoints(account: str, endpoints: Sequence[Endpoint]) -> Iterator[Selection]:
    """Return the kinds of target of configured endpoints."""
    for endpoint in endpoints:
        kind = endpoint.own_label
        if kind:
            fixed = tuple(Target(account, kind, target_id) for target_id in endpoint.ids)
            yield Selection(account, kind, fixed, discover=endpoint.each is not None, setting="endpoints[].ids")


def account_selections(account: AccountSettings) -> Iterator[Selection]:
    """Return the targets that an account's settings name, and the kinds that are discovered."""
    name = account.name
    zones, scripts, shields = account.dns_zones, account.scripts, account.shield_zones
    finds_limits = shields.discover and shields.rate_limits
    is_searched = zones.discover or scripts.discover
    lists = {
        discovery.SEARCH: is_searched,
        discovery.SHIELD_ZONES: shields.discover,
        discovery.RATE_LIMITS: finds_limits,
        discovery.NAMES: not is_searched and bool(zones.all_ids() or scripts.ids or shields.ids),
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
