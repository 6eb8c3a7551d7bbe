"""The search over all resources of an account (interface document, SearchResponse)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Field, TypeAdapter

from exporter.platform.errors import PlatformError, Rejected
from exporter.platform.operation import Answer, Caller, Operation, Parameter, Request
from exporter.platform.wire import Each, Identity, Integer, PascalWire, usable

PAGE_SIZE = 1000
# Requested if the platform refuses the larger pages.
DEFAULT_PAGE_SIZE = 20
# Ends the search if a platform sends new resources without end.
MOST_PAGES = 10_000


class SearchResult(PascalWire):
    """A resource that a search found."""

    type: str
    id: Identity
    name: str | None = None


class SearchResponse(PascalWire):
    """One page of a search; its items are validated one by one."""

    query: str | None = None
    total: Integer = None
    from_: Integer = Field(None, alias="From")
    size: Integer = None
    search_results: list[Each[SearchResult]] | None = None


SEARCH = Operation(
    name="search",
    path="/search",
    help="Finds the account's resources by text.",
    answer=TypeAdapter(SearchResponse),
    parameters=(
        Parameter("search", "query", "string", "Text to search for.", required=False),
        Parameter("from", "query", "integer", "How many results to skip.", required=False),
        Parameter("size", "query", "integer", "Results per page.", required=False),
    ),
)


class ResourceKey(NamedTuple):
    """The type of a resource, as the platform names it, and its id."""

    type: str
    id: int


@dataclass(frozen=True, slots=True)
class SearchListing:
    """The result of a search, from the pages that could be read.

    Attributes:
        names: resource → its name, which is empty if the platform sent none.
        total: the platform's last count of the resources; None if it sent none.
        complete: whether `total` equals the number of `names`.
        fault: the error of a later page, which ended the search. None without one, or if it was `Rejected`: platforms
            may refuse to show more than 10,000 results.
    """

    names: Mapping[ResourceKey, str]
    total: int | None
    complete: bool
    fault: PlatformError | None = None


async def count_results(caller: Caller, text: str) -> Answer[int | None]:
    """Return the platform's number of resources that a search finds; None if it sent none.

    Raises:
        PlatformError: there is no usable answer.
    """
    answer = await caller.call(Request(SEARCH, query={"search": text, "from": 0, "size": 1}))
    return Answer(answer.value.total, answer.date)


async def _page(caller: Caller, skipped: int, size: int) -> Answer[SearchResponse]:
    """Return a page of a search without a text, which should find every resource."""
    return await caller.call(Request(SEARCH, query={"search": "", "from": skipped, "size": size}))


async def _first_page(caller: Caller) -> tuple[int, Answer[SearchResponse]]:
    try:
        return PAGE_SIZE, await _page(caller, 0, PAGE_SIZE)
    except Rejected:
        return DEFAULT_PAGE_SIZE, await _page(caller, 0, DEFAULT_PAGE_SIZE)


async def list_resources(caller: Caller) -> Answer[SearchListing]:
    """List the resources of the account, page by page.

    If a later page fails, the pages before it are returned: platforms may show 10,000 results at most, and answer
    requests for more with an error of any kind.

    Raises:
        PlatformError: the first page gave no usable answer.
    """
    size, answer = await _first_page(caller)
    names: dict[ResourceKey, str] = {}
    total: int | None = None
    fault: PlatformError | None = None
    received = 0
    for _ in range(MOST_PAGES):
        items = answer.value.search_results or []
        readable = usable(items)
        known_before = len(names)
        for item in readable:
            names[ResourceKey(item.type, item.id)] = item.name or ""
        received += len(items)
        if answer.value.total is not None:
            total = answer.value.total
        # Stop at a page without a new item: the platform may ignore `from`, and would send the same page without end.
        # An item that cannot be read may be new; then the search goes on if there is a total at which it ends.
        may_have_new = len(names) > known_before or (total is not None and len(readable) < len(items))
        is_last = total is not None and received >= total
        if is_last or not may_have_new:
            break
        try:
            answer = await _page(caller, received, size)
        except PlatformError as error:
            fault = None if isinstance(error, Rejected) else error
            break
    complete = total is not None and len(names) == total
    return Answer(SearchListing(names, total, complete, fault), answer.date)
