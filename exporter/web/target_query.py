"""What a person asks of the targets: words to search, filters, an order, and a page of the answer."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from urllib.parse import urlencode

from exporter.exposition.status_board import Status
from exporter.targets.target import PollKey, account_of
from exporter.web.status_models import State

MOST_ROWS = 10_000
LONGEST_SEARCH = 200
MOST_WORDS = 10
_DECIMALS = 9
_LONGEST_NAME = 200
_STATES = {state: rank for rank, state in enumerate(State)}

Pair = tuple[PollKey, Status]
# Only values of one type meet in a sort, but which type it is depends on what is sorted by.
_Rank = tuple[float | str, ...]


class QueryError(ValueError):
    """A query that cannot be answered, in words."""


def state_of(status: Status) -> State:
    """How a target fares."""
    if not status.polled:
        return State.PENDING
    if status.up:
        return State.OK
    return State.FAILING if status.served or not status.success else State.STALE


SORTS: Mapping[str, Callable[[Pair], _Rank]] = {
    "target": lambda _: (),
    "name": lambda pair: (pair[1].target.name.casefold(),),
    "collector": lambda pair: (pair[0].collector,),
    "account": lambda pair: (account_of(pair[1].target),),
    "state": lambda pair: (_STATES[state_of(pair[1])],),
    # By age, so what never went well is the oldest.
    "age": lambda pair: (-pair[1].success,),
    "duration": lambda pair: (pair[1].duration,),
    "chart": lambda pair: (sum(pair[1].chart),),
}


@dataclass(frozen=True, slots=True)
class Query:
    """A question about the targets.

    Attributes:
        search: words that must all stand in a target's name, key, account or reason, whatever their case.
        collectors: of which collectors; empty for all.
        accounts: of which accounts or databases; empty for all.
        states: in which states; empty for all.
        sort: one of `SORTS`; targets that are alike in it stay in the order of account, kind and id.
        offset: how many of the targets that are found come before the page.
        limit: how many a page has.
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
        """Whether a target is asked for by its collector, account and words."""
        key, status = pair
        if self.collectors and key.collector not in self.collectors:
            return False
        if self.accounts and account_of(status.target) not in self.accounts:
            return False
        if not self.search:
            return True
        text = f"{status.target.name}\n{key.target.label}\n{account_of(status.target)}\n{status.reason}".casefold()
        return all(word in text for word in self.search.casefold().split())

    def asks_for(self, state: State) -> bool:
        """Whether targets in this state are asked for."""
        return not self.states or state in self.states

    def arrange(self, pairs: list[Pair]) -> list[Pair]:
        """The found targets in the order that is asked for."""
        if self.sort != "target":
            return sorted(pairs, key=SORTS[self.sort], reverse=self.descending)
        return pairs[::-1] if self.descending else pairs

    def but(self, **changes: object) -> "Query":
        """The same question with a difference, from its first page on."""
        return replace(self, **{"offset": 0, **changes})  # type: ignore[arg-type]

    def encoded(self, default_limit: int, default_sort: str = "target") -> str:
        """The question as a URL's query; empty where nothing in particular is asked."""
        fields: list[tuple[str, str]] = [("search", self.search)] if self.search else []
        fields += [("collector", name) for name in self.collectors]
        fields += [("account", name) for name in self.accounts]
        fields += [("state", state) for state in self.states]
        if self.sort != default_sort:
            fields.append(("sort", self.sort))
        if self.descending:
            fields.append(("order", "desc"))
        if self.limit != default_limit:
            fields.append(("limit", str(self.limit)))
        if self.offset:
            fields.append(("offset", str(self.offset)))
        return urlencode(fields, errors="replace")


@dataclass(frozen=True, slots=True)
class Known:
    """What may be asked for."""

    collectors: Collection[str]
    accounts: Collection[str]


def parse_query(
    fields: Iterable[tuple[str, str]], known: Known, *, default_limit: int, default_sort: str = "target"
) -> Query:
    """Read a query from a URL's fields; an empty field asks for nothing in particular.

    Raises:
        QueryError: it cannot be understood.
    """
    given = read_fields(fields, _PARAMETERS)
    one_each(given, _SINGLE)
    search = " ".join(given.get("search", [""])[0].split())
    if len(search) > LONGEST_SEARCH or search.count(" ") >= MOST_WORDS:
        raise QueryError(f"search takes {MOST_WORDS} words and {LONGEST_SEARCH} characters at most")
    sort = given.get("sort", [default_sort])[0]
    check("sort", [sort], SORTS)
    order = given.get("order", ["asc"])[0]
    check("order", [order], ("asc", "desc"))
    return Query(
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


def read_fields(fields: Iterable[tuple[str, str]], known: Collection[str]) -> dict[str, list[str]]:
    """The values of a URL's fields by their names; empty values are left out.

    Raises:
        QueryError: there is no such parameter.
    """
    given: dict[str, list[str]] = {}
    for name, value in fields:
        if name not in known:
            raise QueryError(f"there is no parameter {name[:50]!r}; there are: {', '.join(known)}")
        if value.strip():
            given.setdefault(name, []).append(value.strip())
    return given


def one_each(given: Mapping[str, list[str]], names: Iterable[str]) -> None:
    """Refuse more than one value of these fields.

    Raises:
        QueryError: there is more than one.
    """
    for name in names:
        if len(given.get(name, ())) > 1:
            raise QueryError(f"{name} stands more than once")


def check(name: str, values: Iterable[str], allowed: Collection[str]) -> tuple[str, ...]:
    """A field's values, each once.

    Raises:
        QueryError: one is not among the allowed ones, which are named.
    """
    wanted = tuple(dict.fromkeys(values))
    for value in wanted:
        if value not in allowed:
            raise QueryError(f"{name} cannot be {value[:100]!r}; there are: {', '.join(allowed)}")
    return wanted


def check_names(name: str, values: Iterable[str], allowed: Collection[str]) -> tuple[str, ...]:
    """The same where there are too many allowed values to name: of these the nearest is.

    Raises:
        QueryError: one is not among the allowed ones.
    """
    wanted = tuple(dict.fromkeys(values))
    for value in wanted:
        if value not in allowed:
            near = get_close_matches(value[:_LONGEST_NAME], allowed, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise QueryError(f"no {name} is named {value[:_LONGEST_NAME]!r}{hint}")
    return wanted


def read_number(name: str, given: Mapping[str, list[str]], default: int, *, least: int, most: int) -> int:
    """A field's whole number, or the default.

    Raises:
        QueryError: it is none, or outside of the range.
    """
    text = given.get(name, [str(default)])[0]
    # `isdecimal` admits digits of every script, and thousands of them: `int` would take its time.
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= _DECIMALS + 1 else -1
    if not least <= number <= most:
        raise QueryError(f"{name} must be a whole number from {least} to {most}, not {text[:50]!r}")
    return number
