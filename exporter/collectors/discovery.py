"""Finds an account's resources, by search and the list of shield zones."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from exporter.collectors import scripts
from exporter.collectors.collector import Collector, Context, Outcome, PollResult, describe, identity, measure
from exporter.metric import FamilyInfo, Metric
from exporter.platform.api import global_search, shield
from exporter.platform.api.global_search import SearchListing
from exporter.platform.api.shield import ZoneListing
from exporter.platform.api.shield_models import RateLimitMetrics
from exporter.platform.errors import (
    CredentialError,
    NotAvailable,
    NotFound,
    PlatformError,
    RateLimited,
    TransportError,
    Unauthorized,
)
from exporter.platform.operation import Answer, Operation, Request
from exporter.platform.wire import Unusable
from exporter.targets.target import Inventory, Resource, ResourceList, Target

# The type of a search result → the kind of target. The type `cdn` is a pull zone; pull zones are not polled, and only
# their names are used.
KINDS = {"dns": "dns_zone", "script": "script", "cdn": "cdn"}

# Entries in `watched` of an account's target: the lists to request. With NAMES, the search only looks up the names of
# targets whose ids are in the configuration.
SEARCH, SHIELD_ZONES, RATE_LIMITS = "discover search", "discover shield_zone", "discover rate_limit"
NAMES = "names"


def without_names(target: Target) -> Target:
    """Return an account's target without the entry NAMES, for an account in which every target has a name."""
    is_complete = NAMES not in target.watched
    return target if is_complete else replace(target, watched=tuple(one for one in target.watched if one != NAMES))


RESOURCES: Metric[SearchListing] = Metric(
    "edge_resources",
    "Resources of the account by type (Type of all search results), polled.",
    labels=("resource_type",),
    value=lambda listing: Counter(sorted(found.type for found in listing.names)),
)


class DiscoveryCollector(Collector):
    """Lists an account's resources, which become the targets of the other collectors.

    The `watched` field of its target selects the lists: `SEARCH`, `SHIELD_ZONES`, `RATE_LIMITS`, `NAMES`.
    """

    name = "discovery"
    discovers = supplies_names = every_shard = True
    polls = "account"
    interval = 600
    operations: tuple[Operation[Any], ...] = (global_search.SEARCH, shield.ZONES, shield.ZONE_RATE_LIMITS)
    families: tuple[FamilyInfo, ...] = describe(identity(), (RESOURCES,))

    def wants(self, target: Target) -> bool:
        """Return whether a list of the account's resources is to be requested."""
        return not {SEARCH, SHIELD_ZONES, NAMES}.isdisjoint(target.watched)

    async def poll(self, context: Context, target: Target) -> PollResult:
        """Request the selected lists. If one fails, the other lists and the resources that are known stay valid."""
        # The errors of lists, and those of lookups of names.
        faults: list[PlatformError] = []
        unnamed: list[PlatformError] = []
        outcome = Outcome(target)
        # `names` are those of pull zones, by their ids.
        date, found, zones, names = None, None, None, dict[str, str]()
        if not {SEARCH, NAMES}.isdisjoint(target.watched):
            found = await _search(context, faults if SEARCH in target.watched else unnamed)
        if found is not None:
            date, lists = found.date, _lists(found.value)
            names = {one.id: one.name for one in lists["cdn"].resources}
            await context.found(Inventory(lists))
            if SEARCH in target.watched:
                outcome = self._counted(target, found.value)
        if SHIELD_ZONES in target.watched:
            zones = await _zones(context, faults)
        elif found is not None and {NAMES, "shield_zone"}.issubset(target.watched):
            # Configured shield zones have the names of their pull zones.
            zones = await _zones(context, unnamed)
        if zones is not None:
            date = zones.date or date
            await context.found(Inventory({"shield_zone": _shield_list(zones.value, names)}))
        if zones is not None and RATE_LIMITS in target.watched:
            # The calls for rate limits take long; report first that all names are known.
            await context.found(Inventory({}, is_named=not (faults or unnamed)))
            limits = await _rate_limits(context, target.account, _shield_list(zones.value, names), faults)
            if limits is not None:
                await context.found(Inventory({"rate_limit": limits}))
        await _read_scripts_of_other_shards(context, target.account)
        if faults:
            outcome = Outcome(target, outcome.families, outcome.counts, faults[0])
        outcomes = () if {SEARCH, SHIELD_ZONES}.isdisjoint(target.watched) else (outcome,)
        return PollResult(outcomes, date, unnamed[0] if unnamed else None)

    def _counted(self, target: Target, listing: SearchListing) -> Outcome:
        """Return the outcome of a search: its resources by type, unless it is incomplete."""
        if not listing.complete:
            return Outcome(target)
        return Outcome(target, *measure((target.account,), self.families, (RESOURCES,), listing))


async def _read_scripts_of_other_shards(context: Context, account: str) -> None:
    """Read each script that another shard polls once, because service discovery shows its host names."""
    for script in context.registry.unread_scripts(account) if context.registry.shard.total > 1 else ():
        try:
            await scripts.fetch(context, script)
        except NotFound:
            context.registry.note(script.key, {})
        except PlatformError:
            break


async def _zones(context: Context, faults: list[PlatformError]) -> Answer[ZoneListing] | None:
    """List the shield zones; return None after an error, which is added to `faults`.

    If the plan does not include shield, return an empty list that counts as incomplete, so that no target is removed.
    """
    try:
        return await shield.zones(context.caller)
    except NotAvailable:
        return Answer(ZoneListing({}, {}, None, complete=False), None)
    except PlatformError as fault:
        faults.append(fault)
        return None


async def _search(context: Context, faults: list[PlatformError]) -> Answer[SearchListing] | None:
    """List all resources; return None after an error, or if the platform has no search. `faults` receives the error."""
    try:
        answer = await global_search.everything(context.caller)
    except NotAvailable:
        return None
    except PlatformError as fault:
        faults.append(fault)
        return None
    if answer.value.fault is not None:
        faults.append(answer.value.fault)
    return answer


def _lists(listing: SearchListing) -> dict[str, ResourceList]:
    """Return the resources of a search by kind of target, without other types."""
    found: dict[str, list[Resource]] = {kind: [] for kind in KINDS.values()}
    for resource, name in listing.names.items():
        kind = KINDS.get(resource.type)
        if kind is not None:
            found[kind].append(Resource(str(resource.id), name))
    return {kind: ResourceList(tuple(resources), listing.complete) for kind, resources in found.items()}


def _shield_list(listing: ZoneListing, names: dict[str, str]) -> ResourceList:
    """Return the shield zones as resources; `names` are the names of pull zones, which their shield zones have, too."""
    resources = [
        Resource(str(zone_id), names.get(str(zone.pull_zone_id), "")) for zone_id, zone in listing.zones.items()
    ]
    resources.extend(Resource(str(zone_id)) for zone_id in listing.unusable)
    return ResourceList(tuple(resources), listing.complete)


def _owned(context: Context, account: str, zones: ResourceList) -> ResourceList:
    """Return the zones that this shard polls; a rate limit belongs to the shard of its zone."""
    found = ((zone, Target(account, "shield_zone", zone.id, zone.name)) for zone in zones.resources)
    own = tuple(zone for zone, target in found if context.registry.admits(target))
    return ResourceList(own, zones.complete)


def _limit_list(limits: Iterable[RateLimitMetrics], zone_id: str) -> ResourceList:
    """Return a zone's rate limits as resources. An item without an id makes the list incomplete."""
    ids = [limit.identity("ratelimitId") if isinstance(limit, Unusable) else limit.ratelimit_id for limit in limits]
    return ResourceList(tuple(Resource(str(one), parent=zone_id) for one in ids if one), None not in ids)


async def _limits_of(context: Context, zone: Resource) -> ResourceList | None:
    """List the rate limits of a zone; return None if the platform has no such list."""
    try:
        answer = await context.caller.call(Request(shield.ZONE_RATE_LIMITS, {"shieldZoneId": int(zone.id)}))
    except NotAvailable:
        # The zone's plan has no rate limits, or the zone was deleted.
        return ResourceList((), complete=True)
    return None if answer.value is None else _limit_list(answer.value, zone.id)


async def _rate_limits(
    context: Context, account: str, all_zones: ResourceList, faults: list[PlatformError]
) -> ResourceList | None:
    """List the rate limits of the zones that this shard polls; return None if the platform has no such lists."""
    zones = _owned(context, account, all_zones)
    found: list[Resource] = []
    complete = zones.complete
    for zone in zones.resources:
        try:
            listed = await _limits_of(context, zone)
        except PlatformError as fault:
            faults.append(fault)
            complete = False
            # An error of one zone does not end the loop; an error that would affect every call does.
            if isinstance(fault, TransportError | RateLimited | Unauthorized | CredentialError):
                break
            continue
        if listed is not None:
            found += listed.resources
            complete = complete and listed.complete
        elif zone is zones.resources[0]:
            # The first zone decides: the platform does not have this operation.
            return None
    return ResourceList(tuple(found), complete)


COLLECTOR = DiscoveryCollector()
