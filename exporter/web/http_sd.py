"""`/sd/{kind}`: the resources of a kind for Prometheus' HTTP service discovery, for jobs that probe them."""

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.targets.resource_lists import Known
from exporter.targets.target import NAMED_BY_SEARCH
from exporter.web.api import encode
from exporter.web.parts import Parts
from exporter.web.url_fields import read_fields

# The answer's header with the accounts of which nothing is known.
INCOMPLETE = "X-Edge-Incomplete"
# The kinds whose address is a fact of their own answer, and not their name.
_ADDRESSES = {"script": "default_hostname"}


def discover(parts: Parts, kind: str, query: QueryParams) -> tuple[list[Known], list[str]]:
    """Find the resources of a kind; it causes no platform call.

    Returns:
        The resources that have an address, and the accounts of which nothing is known.

    Raises:
        HTTPException: nothing lists such a kind (404), nothing is known of it yet (503), or a parameter is wrong (400).
    """
    registry, gone = parts.registry, parts.store.gone
    if spare := parts.process().spare:
        raise HTTPException(503, spare)
    kinds = registry.listed_kinds()
    if kind not in kinds:
        raise HTTPException(404, f"there is no kind {kind[:50]!r}; there are: {', '.join(kinds)}")
    configured = tuple(selection.account for selection in registry.selections(kind))
    given = read_fields(query, {"account": configured, "shard": ("own",)})
    accounts, is_own = given["account"] or configured, bool(given["shard"])
    found: list[Known] = []
    unknown: list[str] = []
    for account in accounts:
        selected = [one for one in registry.selected(account, kind) if one.key not in gone]
        reachable = [one for one in selected if _address(one)]
        # Prometheus drops every target for an empty answer, so it must be true: all are known, none gets an address.
        is_whole = registry.is_known_whole(account, kind) and not any(map(_may_get_an_address, selected))
        if not (reachable or is_whole):
            unknown.append(account)
        found += [one for one in reachable if not is_own or registry.owns(one.key)]
    if unknown and len(unknown) == len(accounts):
        words = f"no {kind} has been listed yet, or none has an address yet; accounts: {', '.join(unknown)}"
        raise HTTPException(503, words)
    return found, unknown


def groups(found: list[Known]) -> str:
    """Encode the answer, ordered by account and id, so that all exporters of an installation answer alike."""
    return "[" + ",\n".join(map(_group, sorted(found, key=lambda one: one.key))) + "]\n"


def _group(one: Known) -> str:
    facts = {"account": one.key.account, "kind": one.key.kind, "id": one.key.id, "name": one.name, **(one.facts or {})}
    labels = {f"__meta_edge_{label}": value for label, value in facts.items()}
    return encode({"targets": [_address(one)], "labels": labels})


def _address(one: Known) -> str:
    """Return a resource's address; empty if it is not known."""
    return (one.facts or {}).get(_ADDRESSES[one.key.kind], "") if one.key.kind in _ADDRESSES else one.name


def _may_get_an_address(one: Known) -> bool:
    """Return whether an address of a resource without one may come with a later answer."""
    return one.facts is None if one.key.kind in _ADDRESSES else one.key.kind in NAMED_BY_SEARCH
