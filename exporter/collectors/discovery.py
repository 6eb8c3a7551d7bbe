"""Finds an account's resources, by search and in the lists of shield zones and rate limits."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from exporter.collectors import scripts
from exporter.collectors.collector import Collector, Context, Outcome, PollResult, describe_families, identity, measure
from exporter.metric import Family, FamilyInfo, Metric
from exporter.platform.api import global_search, shield
from exporter.platform.api.global_search import ResourceKey, SearchListing
from exporter.platform.api.shield import ZoneListing
from exporter.platform.api.shield_models import RateLimitMetrics
from exporter.platform.errors import (
    CredentialError,
    Forbidden,
    NotAvailable,
    NotFound,
    PlatformError,
    RateLimited,
    TransportError,
    Unauthorized,
)
from exporter.platform.operation import Operation, Request
from exporter.platform.wire import Unusable
from exporter.targets.target import Inventory, Resource, ResourceList, Target

# The type of a search result → the kind of target. `cdn` stands for pull zones, whose names the shield zones get.
KINDS = {"dns": "dns_zone", "script": "script", "cdn": "cdn"}

# Entries in `watched` of an account's target: the lists to request.
SEARCH, SHIELD_ZONES, RATE_LIMITS = "discover search", "discover shield_zone", "discover rate_limit"
# A further entry: lists are read for the names of targets whose ids are in the configuration.
NAMES = "names"
# An entry for the collector `shield_zones`, which polls the list of zones if zones are configured or discovered.
POLLED_SHIELD_ZONES = "shield_zone"


def has_status(collector: Collector, target: Target) -> bool:
    """Return whether polls of a target have a status. With discovery off, polls that only look up names have none."""
    other_lists = tuple(entry for entry in target.watched if entry != NAMES)
    return collector.wants(replace(target, watched=other_lists))


# Errors that further calls of the account would probably have, too.
_OF_ALL_CALLS = (TransportError, RateLimited, Unauthorized, CredentialError)

RESOURCES: Metric[SearchListing] = Metric(
    "edge_resources",
    "Resources of the account by type (Type of all search results), polled.",
    labels=("resource_type",),
    # Sorted, so that the order of the samples does not depend on the order of the results.
    value=lambda listing: Counter(sorted(found.type for found in listing.names)),
)


class DiscoveryCollector(Collector):
    """Lists an account's resources. The `watched` field of the account's target selects the lists."""

    name = "discovery"
    discovers = supplies_names = every_shard = True
    polls = "account"
    interval = 600
    operations: tuple[Operation[Any], ...] = (global_search.SEARCH, shield.ZONES, shield.ZONE_RATE_LIMITS)
    families: tuple[FamilyInfo, ...] = describe_families(identity(), (RESOURCES,))

    def wants(self, target: Target) -> bool:
        """Return whether a list of the account's resources is to be requested."""
        return any(entry in target.watched for entry in (SEARCH, SHIELD_ZONES, NAMES))

    async def poll(self, context: Context, target: Target) -> PollResult:
        """Read and report the selected lists; then read scripts of other shards, whose host names `/sd` shows."""
        discovery = _Discovery(context, target)
        listing = await discovery.search()
        zones = await discovery.list_shield_zones(listing)
        if zones is not None and RATE_LIMITS in target.watched:
            if not discovery.faults and not discovery.name_faults:
                # The calls for rate limits take long and supply no names: targets that wait for names may start now.
                await context.report_found(Inventory({}, is_named=True))
            await discovery.list_rate_limits(zones)
        await _read_scripts_of_other_shards(context, target.account)
        outcomes: tuple[Outcome, ...] = ()
        # A poll that only looks up names has no status.
        if SEARCH in target.watched or SHIELD_ZONES in target.watched:
            error = next(iter(discovery.faults), None)
            outcomes = (Outcome(target, self._measure(target, listing), error=error),)
        return PollResult(outcomes, discovery.date, naming_error=next(iter(discovery.name_faults), None))

    def _measure(self, target: Target, listing: SearchListing | None) -> tuple[Family, ...]:
        """Return the numbers of resources; empty for a search that is incomplete, or made only for names."""
        if listing is None or not listing.complete or SEARCH not in target.watched:
            return ()
        families, _ = measure((target.account,), self.families, (RESOURCES,), listing)
        return families


@dataclass(slots=True)
class _Discovery:
    """One poll of an account's lists; a list is reported before the next one is read.

    Attributes:
        date: the platform's time at an answer to the search or the list of shield zones; None if it is not known.
        faults: the errors of the selected lists.
        name_faults: the errors of lists that are read only for the names of configured targets.
    """

    context: Context
    target: Target
    date: datetime | None = None
    faults: list[PlatformError] = field(default_factory=list)
    name_faults: list[PlatformError] = field(default_factory=list)

    async def search(self) -> SearchListing | None:
        """Report and return the resources that a search finds; None if no search is wanted, or its first page fails."""
        if SEARCH in self.target.watched:
            faults = self.faults
        elif NAMES in self.target.watched:
            faults = self.name_faults
        else:
            return None
        try:
            answer = await global_search.list_resources(self.context.caller)
        except NotAvailable:
            return None
        except PlatformError as fault:
            faults.append(fault)
            return None
        if answer.value.fault is not None:
            faults.append(answer.value.fault)
        self.date = answer.date
        await self.context.report_found(Inventory(_lists_by_kind(answer.value)))
        return answer.value

    async def list_shield_zones(self, listing: SearchListing | None) -> ResourceList | None:
        """Report and return the shield zones, with names from `listing`; None if the list is not wanted, or fails."""
        if SHIELD_ZONES in self.target.watched:
            faults = self.faults
        elif listing is not None and NAMES in self.target.watched and POLLED_SHIELD_ZONES in self.target.watched:
            # The list is read for the ids of pull zones: a configured shield zone gets the name of its pull zone.
            faults = self.name_faults
        else:
            return None
        try:
            answer = await shield.list_zones(self.context.caller)
        except NotAvailable:
            # Perhaps the plan does not include shield. As the empty list is incomplete, it removes no target.
            zones = ResourceList((), complete=False)
        except PlatformError as fault:
            faults.append(fault)
            return None
        else:
            zones = _shield_list(answer.value, {} if listing is None else listing.names)
            self.date = answer.date or self.date
        await self.context.report_found(Inventory({"shield_zone": zones}))
        return zones

    async def list_rate_limits(self, zones: ResourceList) -> None:
        """Report the rate limits of this shard's zones; report nothing if the answer for the first zone is a 404."""
        own_zones = [zone for zone in zones.resources if self._is_own(zone)]
        limits: list[Resource] = []
        complete = zones.complete
        for zone in own_zones:
            try:
                listed = await self._limits_of(zone)
            except PlatformError as fault:
                self.faults.append(fault)
                complete = False
                if isinstance(fault, _OF_ALL_CALLS):
                    break
                continue
            if listed is not None:
                limits += listed.resources
                complete = complete and listed.complete
            elif zone is own_zones[0]:
                # Probably the platform lacks this operation. A 404 for a later zone may mean that the zone was deleted.
                return
        await self.context.report_found(Inventory({"rate_limit": ResourceList(tuple(limits), complete)}))

    def _is_own(self, zone: Resource) -> bool:
        # A listed rate limit belongs to the shard of its zone.
        return self.context.registry.would_poll(Target(self.target.account, "shield_zone", zone.id, zone.name))

    async def _limits_of(self, zone: Resource) -> ResourceList | None:
        """Return the rate limits of a zone; None for the status 404."""
        request = Request(shield.ZONE_RATE_LIMITS, {"shieldZoneId": int(zone.id)})
        try:
            answer = await self.context.caller.call(request)
        except NotAvailable:
            # Perhaps the zone's plan has no rate limits, or the zone was deleted.
            return ResourceList((), complete=True)
        return None if answer.value is None else _limit_list(answer.value, zone.id)


async def _read_scripts_of_other_shards(context: Context, account: str) -> None:
    # Service discovery (`/sd`) also shows the host names of scripts of other shards.
    for script in context.registry.unread_scripts(account):
        try:
            await scripts.fetch(context, script)
        except NotFound:
            # A missing script counts as read, without host names; the next discovery does not read it again.
            context.registry.record_facts(script.key, {})
        except PlatformError as fault:
            # The next discovery tries again.
            if isinstance(fault, (*_OF_ALL_CALLS, Forbidden)):
                break


def _lists_by_kind(listing: SearchListing) -> dict[str, ResourceList]:
    found: dict[str, list[Resource]] = {kind: [] for kind in KINDS.values()}
    for resource, name in listing.names.items():
        kind = KINDS.get(resource.type)
        if kind is not None:
            found[kind].append(Resource(str(resource.id), name))
    return {kind: ResourceList(tuple(resources), listing.complete) for kind, resources in found.items()}


def _shield_list(listing: ZoneListing, names: Mapping[ResourceKey, str]) -> ResourceList:
    # A shield zone has no name of its own; the name of its pull zone is used.
    pull_zone_names: dict[int | None, str] = {one.id: name for one, name in names.items() if one.type == "cdn"}
    resources = [
        Resource(str(zone_id), pull_zone_names.get(zone.pull_zone_id, "")) for zone_id, zone in listing.zones.items()
    ]
    resources.extend(Resource(str(zone_id)) for zone_id in listing.unusable)
    return ResourceList(tuple(resources), listing.complete)


def _limit_list(limits: Iterable[RateLimitMetrics], zone_id: str) -> ResourceList:
    resources: list[Resource] = []
    complete = True
    for limit in limits:
        limit_id = limit.identity("ratelimitId") if isinstance(limit, Unusable) else limit.ratelimit_id
        # Platforms send 0 for a missing id.
        if limit_id is None or limit_id == 0:
            complete = False
        else:
            resources.append(Resource(str(limit_id), parent=zone_id))
    return ResourceList(tuple(resources), complete)


COLLECTOR = DiscoveryCollector()
