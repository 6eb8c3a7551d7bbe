"""Creates the selections of targets from the settings."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from exporter.collectors import discovery
from exporter.collectors.endpoints.endpoint import Endpoint
from exporter.settings.account import AccountSettings, DiscoveredSettings
from exporter.settings.model import Settings
from exporter.targets.selection import Selection
from exporter.targets.target import Target
from exporter.wiring.plans import queries_of


def addresses_of(settings: Settings) -> dict[str, str]:
    """Return account → the base address of the platform."""
    return {account.name: account.base_url for account in settings.accounts}


def selections_of(settings: Settings) -> Iterator[Selection]:
    """Yield a selection for each account and kind of target, one for the databases, and one for the queries."""
    for index, account in enumerate(settings.accounts):
        yield from _account_selections(account, index)
        yield from _endpoint_selections(account, settings.endpoints)
    databases = tuple(Target("", "database", database.name, database.name) for database in settings.databases)
    queries = tuple(query.target() for query in queries_of(settings))
    yield Selection("", "database", databases, setting=("databases",))
    yield Selection("", "query", queries, setting=("databases",))


def _account_selections(account: AccountSettings, index: int) -> Iterator[Selection]:
    name, path = account.name, ("accounts", index)
    itself = Target(name, "account", name, name, watched=_requested_lists(account))
    yield Selection(name, "account", (itself,), setting=path)
    zones = tuple(Target(name, "dns_zone", str(zone_id)) for zone_id in account.dns_zones.all_ids())
    yield _with_discovery(Selection(name, "dns_zone", zones, setting=(*path, "dns_zones")), account.dns_zones)
    how_read = {"read": account.scripts.read}
    scripts = tuple(Target(name, "script", str(script_id), attributes=how_read) for script_id in account.scripts.ids)
    named_scripts = Selection(name, "script", scripts, attributes=how_read, setting=(*path, "scripts"))
    yield _with_discovery(named_scripts, account.scripts)
    shields = tuple(Target(name, "shield_zone", str(zone_id)) for zone_id in account.shield_zones.ids)
    yield _with_discovery(
        Selection(name, "shield_zone", shields, setting=(*path, "shield_zones")), account.shield_zones
    )
    limits = tuple(
        Target(name, "rate_limit", str(limit.id), limit.name, _zone_attributes(limit.shield_zone_id))
        for limit in account.rate_limits
    )
    are_limits_listed = account.shield_zones.discover and account.shield_zones.rate_limits
    yield Selection(name, "rate_limit", limits, discover=are_limits_listed, setting=(*path, "rate_limits"))
    lists = tuple(
        Target(name, "access_list", str(item.id), attributes=_zone_attributes(item.shield_zone_id))
        for item in account.access_lists
    )
    yield Selection(name, "access_list", lists, setting=(*path, "access_lists"))
    rules = tuple(Target(name, "waf_custom_rule", str(rule.id)) for rule in account.waf_custom_rules)
    yield Selection(name, "waf_custom_rule", rules, setting=(*path, "waf_custom_rules"))
    yield Selection(name, "image", tuple(_images(account)), setting=(*path, "images"))
    searches = tuple(Target(name, "search", text, text) for text in account.searches)
    yield Selection(name, "search", searches, setting=(*path, "searches"))


def _with_discovery(selection: Selection, section: DiscoveredSettings) -> Selection:
    return replace(selection, discover=section.discover, include=section.include, exclude=section.exclude)


def _endpoint_selections(account: AccountSettings, endpoints: Iterable[Endpoint]) -> Iterator[Selection]:
    for index, endpoint in enumerate(endpoints):
        # An endpoint without a kind of its own needs no selection: it is polled for the targets of another selection.
        if kind := endpoint.own_kind:
            fixed = tuple(Target(account.name, kind, target_id) for target_id in endpoint.ids)
            is_listed = endpoint.each is not None
            yield Selection(account.name, kind, fixed, discover=is_listed, setting=("endpoints", index, "ids"))


def _requested_lists(account: AccountSettings) -> tuple[str, ...]:
    zones, scripts, shields = account.dns_zones, account.scripts, account.shield_zones
    # Patterns for shield zones need the search, too: it returns the names of pull zones, which the patterns must match.
    is_searched = zones.discover or scripts.discover or (shields.discover and bool(shields.include + shields.exclude))
    has_ids = bool(zones.all_ids() or scripts.ids or shields.ids)
    lists = {
        discovery.SEARCH: is_searched,
        discovery.SHIELD_ZONES: shields.discover,
        discovery.RATE_LIMITS: shields.discover and shields.rate_limits,
        discovery.NAMES: has_ids,
        discovery.POLLED_SHIELD_ZONES: shields.discover or bool(shields.ids),
    }
    return tuple(name for name, is_wanted in lists.items() if is_wanted)


def _zone_attributes(zone_id: int | None) -> dict[str, str]:
    return {} if zone_id is None else {"shield_zone_id": str(zone_id)}


def _images(account: AccountSettings) -> Iterator[Target]:
    for image in account.images:
        parts = {"registry_id": image.registry_id, "namespace": image.namespace, "name": image.name}
        address = "/".join(parts.values())
        yield Target(account.name, "image", address, address, attributes=parts, watched=image.watch_tags)
