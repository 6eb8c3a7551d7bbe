"""Creates the selections of targets from the settings: those that they name, and the kinds that are discovered."""

from collections.abc import Iterable, Iterator, Mapping

from exporter.collectors import discovery
from exporter.settings.account import AccountSettings
from exporter.settings.model import Settings
from exporter.targets.selection import Selection
from exporter.targets.target import Target
from exporter.wiring.plans import queries_of


def addresses_of(settings: Settings) -> dict[str, str]:
    """Return the base addresses of the accounts, by account."""
    return {account.name: account.base_url for account in settings.accounts}


def selections_of(settings: Settings) -> Iterator[Selection]:
    """Return the targets that the settings name, and the kinds that are discovered."""
    for number, account in enumerate(settings.accounts):
        yield from _account_selections(account, number)
        for place, endpoint in enumerate(settings.endpoints):
            if kind := endpoint.own_label:
                fixed = tuple(Target(account.name, kind, target_id) for target_id in endpoint.ids)
                is_listed = endpoint.each is not None
                yield Selection(account.name, kind, fixed, discover=is_listed, setting=("endpoints", place, "ids"))
    databases = tuple(Target("", "database", database.name, database.name) for database in settings.databases)
    asked = tuple(query.target() for query in queries_of(settings))
    yield Selection("", "database", databases, setting=("databases",))
    yield Selection("", "query", asked, setting=("databases",))


def _account_selections(account: AccountSettings, number: int) -> Iterator[Selection]:
    """Return the targets that an account's settings name, and the kinds that are discovered."""
    name, own = account.name, ("accounts", number)
    zones, scripts, shields = account.dns_zones, account.scripts, account.shield_zones
    finds_limits = shields.discover and shields.rate_limits
    # A shield zone has the name of its pull zone, which a search gives.
    is_searched = zones.discover or scripts.discover or (shields.discover and bool(shields.include + shields.exclude))
    lists = {
        discovery.SEARCH: is_searched,
        discovery.SHIELD_ZONES: shields.discover,
        discovery.RATE_LIMITS: finds_limits,
        discovery.NAMES: not is_searched and bool(zones.all_ids() or scripts.ids or shields.ids),
        "shield_zone": shields.discover or bool(shields.ids),
    }
    watched = tuple(what for what, is_wanted in lists.items() if is_wanted)
    read = {"read": scripts.read}

    def named(kind: str, ids: Iterable[int], attributes: Mapping[str, str] = {}) -> tuple[Target, ...]:
        return tuple(Target(name, kind, str(one), attributes=attributes) for one in ids)

    yield Selection(name, "account", (Target(name, "account", name, name, watched=watched),), setting=own)
    fixed = named("dns_zone", zones.all_ids())
    yield Selection(name, "dns_zone", fixed, zones.discover, zones.include, zones.exclude, setting=(*own, "dns_zones"))
    fixed = named("script", scripts.ids, read)
    chosen = (scripts.discover, scripts.include, scripts.exclude)
    yield Selection(name, "script", fixed, *chosen, attributes=read, setting=(*own, "scripts"))
    fixed, chosen = named("shield_zone", shields.ids), (shields.discover, shields.include, shields.exclude)
    yield Selection(name, "shield_zone", fixed, *chosen, setting=(*own, "shield_zones"))
    fixed = tuple(
        Target(name, "rate_limit", str(limit.id), limit.name, _shield_zone(limit.shield_zone_id))
        for limit in account.rate_limits
    )
    yield Selection(name, "rate_limit", fixed, finds_limits, setting=(*own, "rate_limits"))
    fixed = tuple(
        Target(name, "access_list", str(item.id), attributes=_shield_zone(item.shield_zone_id))
        for item in account.access_lists
    )
    yield Selection(name, "access_list", fixed, setting=(*own, "access_lists"))
    fixed = named("waf_custom_rule", (rule.id for rule in account.waf_custom_rules))
    yield Selection(name, "waf_custom_rule", fixed, setting=(*own, "waf_custom_rules"))
    yield Selection(name, "image", tuple(_images(account)), setting=(*own, "images"))
    searches = tuple(Target(name, "search", text, text) for text in account.searches)
    yield Selection(name, "search", searches, setting=(*own, "searches"))


def _shield_zone(zone_id: int | None) -> dict[str, str]:
    return {} if zone_id is None else {"shield_zone_id": str(zone_id)}


def _images(account: AccountSettings) -> Iterator[Target]:
    for image in account.images:
        parts = {"registry_id": image.registry_id, "namespace": image.namespace, "name": image.name}
        key = "/".join(parts.values())
        yield Target(account.name, "image", key, key, parts, image.watch_tags)
