"""`/sd/{kind}`: the resources of a kind for Prometheus' HTTP service discovery, for jobs that probe them."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.metric import label_value
from exporter.responsive.slices import unhurried
from exporter.targets.registry import Selection
from exporter.targets.target import NAMED_BY_SEARCH, Target, TargetKey
from exporter.web.api import encode
from exporter.web.status import View
from exporter.web.target_query import check, read_fields

# The answer's header with the accounts of which nothing is known.
INCOMPLETE = "X-Edge-Incomplete"
# The kinds whose address is a fact of their own answer, and not their name.
_ADDRESSES = {"script": "default_hostname"}

# a resource, its name and its address
_Row = tuple[TargetKey, str, str]


@dataclass(slots=True)
class Discovery:
    """The resources of a kind that have an address.

    Attributes:
        unknown: the accounts of which nothing is known.
    """

    view: View
    unknown: tuple[str, ...] = ()
    _heap: list[_Row] | None = None

    async def pieces(self) -> AsyncIterator[str]:
        """Encode the answer, ordered by account and id, so that all exporters of an installation answer alike."""
        heap, separator = self._heap or [], "["
        async for row in unhurried((heappop(heap) for _ in range(len(heap))), self.view.clocks.monotonic):
            yield separator + encode(_group(self.view, row))
            separator = ",\n"
        yield "]\n" if separator != "[" else "[]\n"


async def discover(view: View, kind: str, query: QueryParams) -> Discovery:
    """Find the resources of a kind; it causes no platform call.

    Raises:
        HTTPException: nothing lists such a kind (404), or nothing is known of it yet (503).
        QueryError: a parameter is unknown or has an invalid value.
    """
    registry = view.registry
    kinds = registry.listed_kinds()
    if kind not in kinds:
        raise HTTPException(404, f"there is no kind {kind[:50]!r}; there are: {', '.join(kinds)}")
    given = read_fields(query.multi_items(), ("account", "shard"), ("shard",))
    is_own = bool(check("shard", given.get("shard", ()), ("own",)))
    selections = {one.account: one for one in registry.selections(kind)}
    accounts = check("account", given.get("account", ()), selections) or tuple(selections)
    heap: list[_Row] = []
    unknown = []
    for account in accounts:
        # Of an account without any target the answer is empty, which must be true: Prometheus would drop its targets.
        is_known, is_complete = False, registry.is_known_whole(account, kind)
        async for row, may_come in unhurried(_rows(view, selections[account]), view.clocks.monotonic):
            is_known = is_known or bool(row[2])
            is_complete = is_complete and not may_come
            if row[2] and (not is_own or registry.owns(row[0])):
                heappush(heap, row)
        if not (is_known or is_complete):
            unknown.append(account)
    if unknown and len(unknown) == len(accounts):
        names = label_value(", ".join(unknown))
        raise HTTPException(503, f"no {kind} has been listed yet, or none has an address yet; accounts: {names}")
    return Discovery(view, tuple(unknown), heap)


def _rows(view: View, selection: Selection) -> Iterator[tuple[_Row, bool]]:
    """Yield an account's selected resources, and whether an address may still come for one that has none."""
    registry, kind = view.registry, selection.kind
    fixed = {target.id for target in selection.fixed}
    is_gone = view.schedule().is_gone
    for key, name in registry.every(selection.account, kind):
        if key.id not in fixed and selection.rejection(name) is not None:
            continue
        if is_gone(Target(*key[:2], key.id)):
            continue
        facts = registry.directory.facts(key)
        address = (facts or {}).get(_ADDRESSES[kind], "") if kind in _ADDRESSES else name
        may_come = not address and (facts is None if kind in _ADDRESSES else kind in NAMED_BY_SEARCH)
        yield (key, name, address), may_come


def _group(view: View, row: _Row) -> dict[str, object]:
    key, name, address = row
    facts = {"account": key.account, "kind": key.kind, "id": key.id, "name": name}
    facts |= view.registry.directory.facts(key) or {}
    return {
        "targets": [label_value(address)],
        "labels": {f"__meta_edge_{label}": label_value(value) for label, value in facts.items()},
    }
