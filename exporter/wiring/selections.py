"""Creates the selections of targets from the settings."""

from collections.abc import Iterable, Iterator, Mapping

from exporter.collectors import discovery
from exporter.settings.account import AccountSettings, DiscoveredSettings
from exporter.settings.model import Settings
from exporter.targets.selection import Selection
from exporter.targets.target import Target
from exporter.wiring.plans import queries_of


def addresses_of(settings: Settings) -> dict[str, str]:
    """Return account → the base address of its platform."""
    return {account.name: account.base_url for account in settings.accounts}


def selections_of(settings: Settings) -> Iterator[Selection]:
    """Return a selection for each account and kind: the targets that the settings name, and which are discovered."""
    for number, account in enumerate(settings.accounts):
        yield from _account_selections(account, number)
        for index, endpoint in enumerate(settings.endpoints):
            if kind := endpoint.own_label:
                fixed = tuple(Target(account.name, kind, target_id) for target_id in endpoint.ids)
                is_listed = endpoint.each is not None
                yield Selection(account.name, kind, fixed, discover=is_listed, setting=("endpoints", index, "ids"))
    databases = tuple(Target("", "database", database.name, database.name) for database in settings.databases)
    queries = tuple(query.target() for query in queries_of(settings))
    yield Selection("", "database", databases, setting=("databases",))
    yield Selection("", "query", queries, setting=("databases",))


def _account_selections(account: AccountSettings, number: int) -> Iterator[Selection]:
    """Return a selection for each kind of target that the settings of an account can select."""
    name, own = account.name, ("accounts", number)
    zones, scripts, shields = account.dns_zones, account.scripts, account.shield_zones

    def named(kind: str, key: str, targets: Iterable[Target], *, discover: bool = False) -> Selection:
        return Selection(name, kind, tuple(targets), discover=discover, setting=(*own, key))

    def discovered(
        kind: str, key: str, section: DiscoveredSettings, ids: Iterable[int], attributes: Mapping[str, str]
    ) -> Selection:
        return Selection(
            name,
            kind,
            tuple(Target(name, kind, str(one), attributes=attributes) for one in ids),
            section.discover,
            section.include,
            section.exclude,
            attributes=attributes,
            setting=(*own, key),
        )

    yield Selection(name, "account", (Target(name, "account", name, name, watched=_watched(account)),), setting=own)
    yield discovered("dns_zone", "dns_zones", zones, zones.all_ids(), {})
    yield discovered("script", "scripts", scripts, scripts.ids, {"read": scripts.read})
    yield discovered("shield_zone", "shield_zones", shields, shields.ids, {})
    limits = (
        Target(name, "rate_limit", str(limit.id), limit.name, _shield_zone(limit.shield_zone_id))
        for limit in account.rate_limits
    )
    yield named("rate_limit", "rate_limits", limits, discover=shields.discover and shields.rate_limits)
    lists = (
        Target(name, "access_list", str(item.id), attributes=_shield_zone(item.shield_zone_id))
        for item in account.access_lists
    )
    yield named("access_list", "access_lists", lists)
    rules = (Target(name, "waf_custom_rule", str(rule.id)) for rule in account.waf_custom_rules)
    yield named("waf_custom_rule", "waf_custom_rules", rules)
    yield named("image", "images", _images(account))
    yield named("search", "searches", (Target(name, "search", text, text) for text in account.searches))


def _watched(account: AccountSettings) -> tuple[str, ...]:
    """Return the names of the lists that are requested for an account, by discovery and for shield zones."""
    zones, scripts, shields = account.dns_zones, account.scripts, account.shield_zones
    # A shield zone has the name of its pull zone, which a search gives.
    is_searched = zones.discover or scripts.discover or (shields.discover and bool(shields.include + shields.exclude))
    lists = {
        discovery.SEARCH: is_searched,
        discovery.SHIELD_ZONES: shields.discover,
        discovery.RATE_LIMITS: shields.discover and shields.rate_limits,
        discovery.NAMES: not is_searched and bool(zones.all_ids() or scripts.ids or shields.ids),
        "shield_zone": shields.discover or bool(shields.ids),
    }
    return tuple(name for name, is_wanted in lists.items() if is_wanted)


def _shield_zone(zone_id: int | None) -> dict[str, str]:
    return {} if zone_id is None else {"shield_zone_id": str(zone_id)}


def _images(account: AccountSettings) -> Iterator[Target]:
    for image in account.images:
        parts = {"registry_id": image.registry_id, "namespace": image.namespace, "name": image.name}
        key = "/".join(parts.values())
        yield Target(account.name, "image", key, key, parts, image.watch_tags)
