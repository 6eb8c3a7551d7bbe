"""Queries about targets: words to search, filters, an order, and a page of the answer."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlencode

from exporter.exposition.store import Status
from exporter.targets.target import PollKey

MOST_ROWS = 1000
MOST_OFFSET = 10**9
LONGEST_SEARCH = 200
MOST_WORDS = 10

Pair = tuple[PollKey, Status]


class QueryError(ValueError):
    """A query is wrong; the message says why."""


class State(StrEnum):
    """The state of a target with one collector; the order is that in which targets are sorted.

    A stale one has failed for so long that its series are gone, and a pending one is not polled yet.
    """

    FAILING = "failing"
    STALE = "stale"
    PENDING = "pending"
    OK = "ok"


# The states that are counted as failing.
UNWELL = (State.FAILING, State.STALE)
_RANKS = {state: rank for rank, state in enumerate(State)}


def state_of(status: Status) -> State:
    """Return the state of a target."""
    if not status.polled:
        return State.PENDING
    if status.up:
        return State.OK
    return State.FAILING if status.served or not status.success else State.STALE


# The values by which targets are sorted; all values of one sort have the same type.
SORTS: Mapping[str, Callable[[Pair], float | str]] = {
    "target": lambda _: "",
    "name": lambda pair: pair[1].target.name.casefold(),
    "collector": lambda pair: pair[0].collector,
    "account": lambda pair: pair[1].target.client_name,
    "state": lambda pair: _RANKS[state_of(pair[1])],
    # Targets that never succeeded are treated as the oldest.
    "age": lambda pair: -pair[1].success,
    "duration": lambda pair: pair[1].duration,
    "chart": lambda pair: sum(pair[1].chart),
}


@dataclass(frozen=True, slots=True)
class TargetQuery:
    """A query about the targets; its fields are the parameters of a URL.

    Attributes:
        search: words that must all be in a target's name, key, account or reason, in upper or lower case.
        collector, account, state: empty for all.
        sort: one of `SORTS`; equal targets stay in the order of account, kind and id.
        order: `asc` or `desc`.
        limit: the most targets of a page.
        offset: the number of found targets before the page.
    """

    search: str = ""
    collector: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    state: tuple[State, ...] = ()
    sort: str = "target"
    order: str = "asc"
    limit: int = MOST_ROWS
    offset: int = 0

    def admits(self, pair: Pair) -> bool:
        """Return whether a target matches by its collector, account and words."""
        key, status = pair
        account = status.target.client_name
        if self.collector and key.collector not in self.collector:
            return False
        if self.account and account not in self.account:
            return False
        text = f"{status.target.name}\n{key.target.label}\n{account}\n{status.reason}".casefold() if self.search else ""
        return all(word in text for word in self.search.casefold().split())

    def arrange(self, pairs: list[Pair]) -> list[Pair]:
        """Sort the found targets."""
        if self.sort != "target":
            return sorted(pairs, key=SORTS[self.sort], reverse=self.order == "desc")
        return pairs[::-1] if self.order == "desc" else pairs

    def but(self, **changes: object) -> "TargetQuery":
        """Return a copy with these changes, at its first page."""
        return replace(self, **{"offset": 0, **changes})  # type: ignore[arg-type]

    def encoded(self, usual: "TargetQuery") -> str:
        """Encode the query for a URL, without the values of the usual one."""
        values = ((name, getattr(self, name)) for name in PARAMETERS)
        own = {name: value for name, value in values if value != getattr(usual, name)}
        return urlencode(own, doseq=True, errors="replace")


PARAMETERS = tuple(field.name for field in fields(TargetQuery))
_SINGLE = ("search", "sort", "order", "limit", "offset")
# The status page begins with these rows; failing targets come first.
ON_PAGE = TargetQuery(limit=100, sort="state")


class FilterValues(NamedTuple):
    """The collectors and accounts that a query may name."""

    collectors: Collection[str]
    accounts: Collection[str]


def parse_query(given: Iterable[tuple[str, str]], known: FilterValues, usual: TargetQuery) -> TargetQuery:
    """Read a query from a URL's fields, with the usual values for what is empty or absent.

    Raises:
        QueryError: a field is unknown or invalid.
    """
    values = read_fields(given, PARAMETERS, _SINGLE)
    search = " ".join(values.get("search", [""])[0].split())
    if len(search) > LONGEST_SEARCH or search.count(" ") >= MOST_WORDS:
        raise QueryError(f"search takes {MOST_WORDS} words and {LONGEST_SEARCH} characters at most")
    (sort,) = check("sort", values.get("sort", [usual.sort]), SORTS)
    (order,) = check("order", values.get("order", [usual.order]), ("asc", "desc"))
    return TargetQuery(
        search=search,
        collector=check("collector", values.get("collector", []), known.collectors),
        account=check("account", values.get("account", []), known.accounts),
        state=tuple(State(state) for state in check("state", values.get("state", []), list(State))),
        sort=sort,
        order=order,
        limit=_number("limit", values.get("limit", [str(usual.limit)])[0], 1, MOST_ROWS),
        offset=_number("offset", values.get("offset", [str(usual.offset)])[0], 0, MOST_OFFSET),
    )


def read_fields(
    given: Iterable[tuple[str, str]], known: Collection[str], single: Collection[str]
) -> dict[str, list[str]]:
    """Group a URL's values by their fields, without empty ones; raises QueryError for an unknown or repeated field."""
    values: dict[str, list[str]] = {}
    for name, value in given:
        if name not in known:
            raise QueryError(f"there is no parameter {name[:50]!r}; there are: {', '.join(known)}")
        if value.strip():
            values.setdefault(name, []).append(value.strip())
        if name in single and len(values.get(name, ())) > 1:
            raise QueryError(f"{name} is given more than once")
    return values


def check(name: str, values: Iterable[str], allowed: Collection[str]) -> tuple[str, ...]:
    """Return a field's values without duplicates; raises QueryError for one that is not allowed."""
    wanted = tuple(dict.fromkeys(values))
    for value in wanted:
        if value not in allowed:
            raise QueryError(f"{name} cannot be {value[:100]!r}; there are: {', '.join(allowed)}")
    return wanted


def _number(name: str, text: str, least: int, most: int) -> int:
    # `int` accepts digits of any script, and takes long for very many digits.
    if text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most:
        return int(text)
    raise QueryError(f"{name} must be a whole number from {least} to {most}, not {text[:50]!r}")
