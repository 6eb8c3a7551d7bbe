"""`/sd/{kind}`: the resources of a kind for Prometheus' HTTP service discovery, for jobs that probe them."""

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.targets.resource_lists import KnownResource
from exporter.targets.target import NAMED_BY_SEARCH
from exporter.web.parts import Parts
from exporter.web.url_fields import Json, read_fields

# The answer's header with the accounts of which nothing is known.
INCOMPLETE = "X-Edge-Incomplete"


def discover(parts: Parts, kind: str, query: QueryParams) -> tuple[list[Json], list[str]]:
    """Find the resources of a kind; it causes no platform call.

    Returns:
        A group for each resource that has an address, ordered by account and id, so that all exporters of an
        installation answer alike; and the accounts of which nothing is known.

    Raises:
        HTTPException: nothing lists such a kind (404), a parameter is wrong (400), or nothing is known of any account,
            as in a spare (503).
    """
    registry, gone = parts.registry, parts.store.gone
    if why_spare := parts.process().spare:
        raise HTTPException(503, why_spare)
    kinds = registry.listed_kinds()
    if kind not in kinds:
        raise HTTPException(404, f"there is no kind {kind[:50]!r}; there are: {', '.join(kinds)}")
    configured = tuple(selection.account for selection in registry.selections(kind))
    given = read_fields(query, {"account": configured, "shard": ("own",)})
    accounts, only_own = given["account"] or configured, bool(given["shard"])
    found: list[KnownResource] = []
    unknown: list[str] = []
    for account in accounts:
        selected = [one for one in registry.selected(account, kind) if one.key not in gone]
        reachable = [one for one in selected if _address(one)]
        # After an empty answer, Prometheus drops every target. So the answer may be empty only if all resources are
        # known and none of them can get an address.
        may_be_empty = registry.is_known_whole(account, kind) and not any(map(_may_get_an_address, selected))
        if not (reachable or may_be_empty):
            unknown.append(account)
        found += [one for one in reachable if not only_own or registry.owns(one.key)]
    if unknown and len(unknown) == len(accounts):
        message = f"no {kind} has been listed yet, or none has an address yet; accounts: {', '.join(unknown)}"
        raise HTTPException(503, message)
    return [_group(one) for one in sorted(found, key=lambda one: one.key)], unknown


def _group(one: KnownResource) -> Json:
    facts = {"account": one.key.account, "kind": one.key.kind, "id": one.key.id, "name": one.name, **(one.facts or {})}
    return {"targets": [_address(one)], "labels": {f"__meta_edge_{label}": value for label, value in facts.items()}}


def _address(one: KnownResource) -> str:
    """Return the default host name of a script, and the name of another resource; empty if it is not known."""
    return (one.facts or {}).get("default_hostname", "") if one.key.kind == "script" else one.name


def _may_get_an_address(one: KnownResource) -> bool:
    """Return whether a resource without an address may get one: a script from its answer, others from a search."""
    return one.facts is None if one.key.kind == "script" else one.key.kind in NAMED_BY_SEARCH
