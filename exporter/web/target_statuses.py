"""Lists the statuses of targets, one for a target and a collector, and finds the statuses that match a query."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from heapq import nsmallest

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.collectors import discovery
from exporter.exposition.store import STATES, Status
from exporter.targets.target import PollKey
from exporter.web.parts import Parts
from exporter.web.url_fields import Json, read_fields

# The most rows, one for each target and collector, in an answer of the JSON API and on the status page.
MOST_ROWS = 1000
PAGE_ROWS = 100


def count_states(statuses: Iterable[Status]) -> dict[str, int]:
    """Return state → number of statuses in this state, for the states in `STATES`."""
    counts = Counter(one.state for one in statuses)
    return {state: counts[state] for state in STATES}


def all_statuses(parts: Parts) -> Iterator[Status]:
    """Yield the statuses of the targets, also of targets that were not polled yet in this run."""
    store = parts.store
    yield from store.statuses.values()
    for name, plan in parts.schedule.plans.items():
        for target in parts.registry.targets(plan.collector.polls):
            is_new = PollKey(target.key, name) not in store.statuses
            if is_new and discovery.has_status(plan.collector, target):
                yield Status(target, name, success=store.remembered(name, target))


def find_targets(parts: Parts, query: QueryParams, limit: int = MOST_ROWS) -> Json:
    """Return a page of the targets that match a URL's query, ordered by state (failing first), account, kind and id.

    In the result, `targets` has at most `limit` targets, from the offset on. `matched` is the number of targets that
    match the query. `states` maps a state to the number of targets that match the query without its `state`.

    Raises:
        HTTPException: a parameter is unknown or invalid (400).
    """
    asked = _read_query(parts, query)
    offset, wanted = asked["offset"], asked["state"] or STATES
    known, words = list(all_statuses(parts)), set(asked["search"].casefold().split())
    matching = [one for one in known if _matches(asked, words, one)]
    found = [one for one in matching if one.state in wanted]
    # Only the rows up to the end of the page are sorted, because a sort of all targets would take longer.
    rows = nsmallest(offset + limit, found, key=lambda one: (STATES.index(one.state), one.key))
    return {
        "query": asked,
        "total": len(known),
        "matched": len(found),
        "states": count_states(matching),
        "limit": limit,
        "targets": [target_values(parts, one) for one in rows[offset:]],
    }


def _read_query(parts: Parts, query: QueryParams) -> Json:
    plans, accounts = parts.schedule.plans, parts.schedule.accounts
    allowed = {"search": None, "collector": plans, "account": accounts, "state": STATES, "offset": None}
    given = read_fields(query, allowed)
    offset = given["offset"][-1] if given["offset"] else "0"
    if not re.fullmatch("[0-9]{1,9}", offset):
        raise HTTPException(400, f"offset must be a whole number of at most 9 digits, not {offset[:50]!r}")
    return {**given, "search": " ".join(given["search"]), "offset": int(offset)}


def _matches(asked: Json, words: Collection[str], status: Status) -> bool:
    target, account = status.target, status.target.client_name
    if asked["collector"] and status.collector not in asked["collector"]:
        return False
    if asked["account"] and account not in asked["account"]:
        return False
    if not words:
        return True
    text = f"{target.name}\n{target.key.label}\n{account}\n{status.reason}".casefold()
    return all(word in text for word in words)


def target_values(parts: Parts, status: Status) -> Json:
    """Return a target's status for one collector as JSON; times are unix seconds, or None if there is no such time."""
    wall, due = parts.clocks.wall(), parts.schedule.due_at(status.key)
    return {
        "account": status.target.client_name,
        "collector": status.collector,
        "target": status.target.key.label,
        "name": status.target.name,
        "state": status.state,
        "stale": status.has_ended,
        "reason": status.reason,
        "message": status.message,
        "last_success": status.success or None,
        "last_poll": status.polled or None,
        "next_poll": None if due is None else wall + max(0.0, due - parts.clocks.monotonic()),
        "failing_since": status.since or None,
        "duration": status.duration if status.polled else None,
        # In JSON, 3 is shorter than 3.0.
        "chart": [] if status.has_ended else [int(one) if one.is_integer() else one for one in status.chart],
    }
