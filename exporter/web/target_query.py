"""Queries about targets: words to search, filters, an order, and a page of the answer."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlencode

from exporter.exposition.store import Status
from exporter.targets.target import PollKey

MOST_ROWS = 1000
# The status page begins with these rows; failing targets come first.
PAGE_ROWS = 100
PAGE_SORT = "state"
LONGEST_SEARCH = 200
MOST_WORDS = 10
_DECIMALS = 9
_LONGEST_NAME = 200


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
_STATES = {state: rank for rank, state in enumerate(State)}

Pair = tuple[PollKey, Status]
# The type of the sort values depends on the sort; all values of one sort have the same type.
_Rank = tuple[float | str, ...]


class QueryError(ValueError):
    """A query is wrong; the message says why."""


def state_of(status: Status) -> State:
    """Return the state of a target."""
    if not status.polled:
        return State.PENDING
    if status.up:
        return State.OK
    return State.FAILING if status.served or not status.success else State.STALE


SORTS: Mapping[str, Callable[[Pair], _Rank]] = {
    "target": lambda _: (),
    "name": lambda pair: (pair[1].target.name.casefold(),),
    "collector": lambda pair: (pair[0].collector,),
    "account": lambda pair: (pair[1].target.client_name,),
    "state": lambda pair: (_STATES[state_of(pair[1])],),
    # Targets that never succeeded are treated as the oldest.
    "age": lambda pair: (-pair[1].success,),
    "duration": lambda pair: (pair[1].duration,),
    "chart": lambda pair: (sum(pair[1].chart),),
}


@dataclass(frozen=True, slots=True)
class TargetQuery:
    """A query about the targets.

    Attributes:
        search: words that must all be in a target's name, key, account or reason, in upper or lower case.
        collectors, accounts, states: empty for all.
        sort: one of `SORTS`; equal targets stay in the order of account, kind and id.
        offset: the number of found targets before the page.
        limit: the most targets of a page.
    """

    search: str = ""
    collectors: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
    sort: str = "target"
    descending: bool = False
    offset: int = 0
    limit: int = 1000

    def admits(self, pair: Pair) -> bool:
        """Return whether a target matches by its collector, account and words."""
        key, status = pair
        account = status.target.client_name
        if (self.collectors and key.collector not in self.collectors) or (
            self.accounts and account not in self.accounts
        ):
            return False
        text = f"{status.target.name}\n{key.target.label}\n{account}\n{status.reason}".casefold() if self.search else ""
        return all(word in text for word in self.search.casefold().split())

    def arrange(self, pairs: list[Pair]) -> list[Pair]:
        """Sort the found targets."""
        if self.sort != "target":
            return sorted(pairs, key=SORTS[self.sort], reverse=self.descending)
        return pairs[::-1] if self.descending else pairs

    def but(self, **changes: object) -> "TargetQuery":
        """Return a copy with these changes, at its first page."""
        return replace(self, **{"offset": 0, **changes})  # type: ignore[arg-type]

    def encoded(self, default_limit: int, default_sort: str = "target") -> str:
        """Encode the query for a URL, without default values."""
        fields = {
            "search": self.search,
            "collector": self.collectors,
            "account": self.accounts,
            "state": self.states,
            "sort": "" if self.sort == default_sort else self.sort,
            "order": "desc" if self.descending else "",
            "limit": "" if self.limit == default_limit else self.limit,
            "offset": self.offset or "",
        }
        return urlencode({name: value for name, value in fields.items() if value != ""}, doseq=True, errors="replace")


class FilterValues(NamedTuple):
    """The collectors and accounts that a query may name."""

    collectors: Collection[str]
    accounts: Collection[str]


def parse_query(
    fields: Iterable[tuple[str, str]], known: FilterValues, *, default_limit: int, default_sort: str = "target"
) -> TargetQuery:
    """Read a query from a URL's fields, without empty ones; raises QueryError if one is unknown or invalid."""
    given = read_fields(fields, _PARAMETERS, _SINGLE)
    search = " ".join(given.get("search", [""])[0].split())
    if len(search) > LONGEST_SEARCH or search.count(" ") >= MOST_WORDS:
        raise QueryError(f"search takes {MOST_WORDS} words and {LONGEST_SEARCH} characters at most")
    (sort,) = check("sort", given.get("sort", [default_sort]), SORTS)
    (order,) = check("order", given.get("order", ["asc"]), ("asc", "desc"))
    return TargetQuery(
        search=search,
        collectors=check("collector", given.get("collector", []), known.collectors),
        accounts=check("account", given.get("account", []), known.accounts),
        states=tuple(State(state) for state in check("state", given.get("state", []), list(State))),
        sort=sort,
        descending=order == "desc",
        offset=read_number("offset", given, 0, least=0, most=10**_DECIMALS),
        limit=read_number("limit", given, default_limit, least=1, most=MOST_ROWS),
    )


_SINGLE = ("search", "sort", "order", "limit", "offset")
_PARAMETERS = ("collector", "account", "state", *_SINGLE)


def read_fields(
    fields: Iterable[tuple[str, str]], known: Collection[str], single: Collection[str]
) -> dict[str, list[str]]:
    """Group a URL's values by their fields, without empty ones; raises QueryError for an unknown or repeated field."""
    given: dict[str, list[str]] = {}
    for name, value in fields:
        if name not in known:
            raise QueryError(f"there is no parameter {name[:50]!r}; there are: {', '.join(known)}")
        if value.strip():
            given.setdefault(name, []).append(value.strip())
        if name in single and len(given.get(name, ())) > 1:
            raise QueryError(f"{name} is given more than once")
    return given


def check(name: str, values: Iterable[str], allowed: Collection[str], *, is_listed: bool = True) -> tuple[str, ...]:
    """Return a field's values without duplicates.

    Raises:
        QueryError: a value is not allowed; the message lists the allowed values, or only the nearest one where
            `is_listed` is False.
    """
    wanted = tuple(dict.fromkeys(values))
    wrong = next((value for value in wanted if value not in allowed), None)
    if wrong is None:
        return wanted
    if is_listed:
        raise QueryError(f"{name} cannot be {wrong[:100]!r}; there are: {', '.join(allowed)}")
    near = get_close_matches(wrong[:_LONGEST_NAME], allowed, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise QueryError(f"no {name} is named {wrong[:_LONGEST_NAME]!r}{hint}")


def read_number(name: str, given: Mapping[str, list[str]], default: int, *, least: int, most: int) -> int:
    """Return a field's whole number, or the default; raises QueryError if it is none, or outside of the range."""
    text = given.get(name, [str(default)])[0]
    # `int` accepts digits of any script, and takes long for very many digits.
    if text.isascii() and text.isdecimal() and len(text) <= _DECIMALS + 1 and least <= int(text) <= most:
        return int(text)
    raise QueryError(f"{name} must be a whole number from {least} to {most}, not {text[:50]!r}")
