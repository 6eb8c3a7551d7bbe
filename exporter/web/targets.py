"""The targets, once for each collector that polls them: all, those that a query finds, and their numbers."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field
from itertools import chain, product

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from exporter.collectors import discovery
from exporter.exposition.store import Status
from exporter.targets.target import DATABASE_PREFIX, PollKey
from exporter.web.parts import Parts
from exporter.web.url_fields import Json, read_fields

MOST_ROWS = 1000
MOST_DIGITS = 9
LONGEST_SEARCH = 200

# The states of a target with one collector, in the order of lists; a pending one is not polled yet.
FAILING, PENDING, UP = STATES = ("failing", "pending", "up")


def state_of(status: Status) -> str:
    """Return the state of a target."""
    if not status.polled:
        return PENDING
    return UP if status.up else FAILING


@dataclass(frozen=True, slots=True)
class Census:
    """The numbers of targets.

    Attributes:
        accounts: account or database, and state → number.
        collectors: collector and state → number.
        failing: account (empty for databases), collector and reason → number.
        mismatched: account → the number of served targets whose total is not the sum of the answer's days.
    """

    accounts: Counter[tuple[str, str]]
    mismatched: Counter[str]
    collectors: Counter[tuple[str, str]] = field(default_factory=Counter)
    failing: Counter[tuple[str, str, str]] = field(default_factory=Counter)


def take_census(parts: Parts) -> Census:
    """Count all targets in one pass."""
    alike = Counter(
        (one.target.client_name, one.collector, state_of(one), one.reason, one.is_mismatched and one.served)
        for one in all_targets(parts)
    )
    accounts = parts.schedule.accounts
    with_days = (name for name in accounts if not name.startswith(DATABASE_PREFIX))
    census = Census(Counter(dict.fromkeys(product(accounts, STATES), 0)), Counter(dict.fromkeys(with_days, 0)))
    for (account, collector, state, reason, is_mismatched), number in alike.items():
        census.accounts[account, state] += number
        census.collectors[collector, state] += number
        if reason:
            census.failing["" if account.startswith(DATABASE_PREFIX) else account, collector, reason] += number
        if is_mismatched:
            census.mismatched[account] += number
    return census


def all_targets(parts: Parts) -> Iterator[Status]:
    """Yield every target, once for each collector; one that was not polled yet has a status without a poll."""
    store = parts.store
    for _, status in store.statuses():
        yield status
    for name, plan in parts.schedule.plans.items():
        for target in parts.registry.targets(plan.collector.polls):
            # Where discovery is off, it may look up names, which has no status.
            if store.find(PollKey(target.key, name)) is None and plan.collector.wants(discovery.without_names(target)):
                yield Status(target, name, success=store.remembered(name, target))


def not_polled(parts: Parts, labels: Collection[str]) -> list[str]:
    """Return the labels, such as `dns_zone/102`, of which no target is polled, in order."""
    return sorted(set(labels) - {one.target.key.label for one in all_targets(parts)}) if labels else []


@dataclass(frozen=True, slots=True)
class TargetQuery:
    """A query about the targets; its fields are the parameters of a URL, empty for all.

    `search` has words that must all be in a target's name, key, account or reason, in upper or lower case; `offset` is
    the number of found targets before the first one of the answer.
    """

    search: str
    collector: tuple[str, ...]
    account: tuple[str, ...]
    state: tuple[str, ...]
    offset: int

    def admits(self, status: Status) -> bool:
        """Return whether a target matches by its collector, account and words."""
        target, account = status.target, status.target.client_name
        if self.collector and status.collector not in self.collector:
            return False
        if self.account and account not in self.account:
            return False
        text = f"{target.name}\n{target.key.label}\n{account}\n{status.reason}".casefold() if self.search else ""
        return all(word in text for word in self.search.casefold().split())


def parse_query(parts: Parts, query: QueryParams) -> TargetQuery:
    """Read a query from a URL; raises HTTPException (400) if a parameter is unknown or invalid."""
    plans, accounts = parts.schedule.plans, parts.schedule.accounts
    allowed = {"search": None, "collector": plans, "account": accounts, "state": STATES, "offset": None}
    given = read_fields(query, allowed)
    search, (*_, offset) = " ".join(given["search"]), given["offset"] or ("0",)
    if len(search) > LONGEST_SEARCH:
        raise HTTPException(400, f"search takes {LONGEST_SEARCH} characters at most")
    # `int` accepts digits of any script, and takes long for very many digits.
    if not (offset.isascii() and offset.isdecimal() and len(offset) <= MOST_DIGITS):
        raise HTTPException(400, f"offset must be a whole number of at most {MOST_DIGITS} digits, not {offset[:50]!r}")
    return TargetQuery(search, given["collector"], given["account"], given["state"], int(offset))


def find_targets(parts: Parts, query: QueryParams, limit: int = MOST_ROWS) -> Json:
    """Return the targets that a URL's query asks for, failing ones first, then by account, kind and id.

    `states` are the numbers of the targets that match, whatever states are asked for.
    """
    asked, known = parse_query(parts, query), sorted(all_targets(parts), key=lambda one: one.key)
    states: dict[str, list[Status]] = {state: [] for state in STATES}
    for status in filter(asked.admits, known):
        states[state_of(status)].append(status)
    found = list(chain.from_iterable(states[state] for state in STATES if not asked.state or state in asked.state))
    return {
        "query": asdict(asked),
        "total": len(known),
        "matched": len(found),
        "states": {state: len(admitted) for state, admitted in states.items()},
        "offset": asked.offset,
        "limit": limit,
        "targets": [target_values(parts, one) for one in found[asked.offset : asked.offset + limit]],
    }


def target_values(parts: Parts, status: Status) -> Json:
    """Return a target as one collector sees it; `reason` is one word for its failure."""
    wall, due = parts.clocks.wall(), parts.schedule.due_at(status.key)
    # The series of a stale target have ended: it has failed for too long.
    is_stale = not (status.up or status.served) and status.success > 0 and status.polled > 0
    return {
        "account": status.target.client_name,
        "collector": status.collector,
        "target": status.target.key.label,
        "name": status.target.name,
        "state": state_of(status),
        "stale": is_stale,
        "reason": status.reason,
        "message": status.message,
        "last_success": status.success or None,
        "last_poll": status.polled or None,
        "next_poll": None if due is None else wall + max(0.0, due - parts.clocks.monotonic()),
        "failing_since": status.since or None,
        "duration": status.duration if status.polled else None,
        "chart": [] if is_stale else list(status.chart),
    }
