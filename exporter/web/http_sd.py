"""`/sd/{kind}`: the resources of a kind for Prometheus' HTTP service discovery."""

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.targets.resource_lists import KnownResource
from exporter.targets.target import NAMED_BY_SEARCH
from exporter.web.parts import Parts
from exporter.web.url_fields import Json, read_fields

# The header with the names of the accounts in which no resource has an address yet, but a resource may get one.
INCOMPLETE = "X-Edge-Incomplete"


def discover(parts: Parts, kind: str, query: QueryParams) -> tuple[list[Json], list[str]]:
    """Find the resources of a kind.

    Returns:
        The target groups, one for each selected resource with an address, ordered by account and id. And the selected
        accounts that are incomplete: no resource has an address yet, but a resource may get one.

    Raises:
        HTTPException: service discovery does not have the kind (404); a parameter is wrong (400); this exporter is a
            spare, or all selected accounts are incomplete (503).
    """
    registry, gone = parts.registry, parts.store.gone
    if why_spare := parts.process().spare:
        raise HTTPException(503, why_spare)
    kinds = registry.kinds_to_probe()
    if kind not in kinds:
        raise HTTPException(404, f"service discovery has no kind {kind[:50]!r}; it has: {', '.join(kinds)}")
    configured = tuple(selection.account for selection in registry.selections(kind))
    given = read_fields(query, {"account": configured, "shard": ("own",)})
    accounts, only_own = given["account"] or configured, bool(given["shard"])
    found: list[KnownResource] = []
    incomplete: list[str] = []
    for account in accounts:
        selected = [one for one in registry.selected(account, kind) if one.key not in gone]
        reachable = [one for one in selected if _address(one)]
        # Prometheus drops targets that an answer does not contain. So an account without an address is complete only if
        # all resources of the account are known, and none of these resources can still get an address.
        may_be_empty = registry.is_known_whole(account, kind) and not any(map(_may_get_an_address, selected))
        if not (reachable or may_be_empty):
            incomplete.append(account)
        found += [one for one in reachable if not only_own or registry.owns(one.key)]
    if incomplete and len(incomplete) == len(accounts):
        message = f"no {kind} has been listed yet, or none has an address yet; accounts: {', '.join(incomplete)}"
        raise HTTPException(503, message)
    return [_group(one) for one in sorted(found, key=lambda one: one.key)], incomplete


def _group(one: KnownResource) -> Json:
    facts = {"account": one.key.account, "kind": one.key.kind, "id": one.key.id, "name": one.name, **(one.facts or {})}
    return {"targets": [_address(one)], "labels": {f"__meta_edge_{label}": value for label, value in facts.items()}}


def _address(one: KnownResource) -> str:
    return (one.facts or {}).get("default_hostname", "") if one.key.kind == "script" else one.name


def _may_get_an_address(one: KnownResource) -> bool:
    # The address of a script comes from the answer for the script, the address of another resource from a search.
    return one.facts is None if one.key.kind == "script" else one.key.kind in NAMED_BY_SEARCH
