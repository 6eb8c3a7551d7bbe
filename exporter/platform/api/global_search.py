"""The search for resources of an account (interface document, SearchResponse)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import Field, TypeAdapter

from exporter.platform.errors import PlatformError, Rejected
from exporter.platform.operation import Answer, Caller, Operation, Parameter, Request
from exporter.platform.wire import Each, Identity, Integer, PascalWire, usable

PAGE_SIZE = 1000
# The size of a page to request if the platform refuses `PAGE_SIZE`.
DEFAULT_PAGE_SIZE = 20
# Ends the search if a platform sends new resources without end.
MOST_PAGES = 10_000


class SearchResult(PascalWire):
    """A resource that a search found."""

    type: str
    id: Identity
    name: str | None = None


class SearchResponse(PascalWire):
    """One page of a search; an invalid item does not make the page invalid."""

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
    """The platform's word for the type of a resource, and the id of the resource."""

    type: str
    id: int


@dataclass(frozen=True, slots=True)
class SearchListing:
    """The result of a search, from the pages that could be read.

    Attributes:
        names: resource → its name; empty if the platform sent no name.
        total: the number of resources, as the last page with a total says; None if no page has a total.
        complete: whether `total` equals the number of `names`.
        fault: the error of the second or a later page, which ended the search. None without an error, and for
            `Rejected`, because platforms may refuse to show more than 10,000 results.
    """

    names: Mapping[ResourceKey, str]
    total: int | None
    complete: bool
    fault: PlatformError | None = None


async def count_results(caller: Caller, text: str) -> Answer[int | None]:
    """Return how many resources a search for a text finds; None if the answer has no total.

    Raises:
        PlatformError: there is no usable answer.
    """
    answer = await caller.call(Request(SEARCH, query={"search": text, "from": 0, "size": 1}))
    return Answer(answer.value.total, answer.date)


async def _page(caller: Caller, skipped: int, size: int) -> Answer[SearchResponse]:
    """Return a page of a search for the empty text. Such a search should find every resource."""
    return await caller.call(Request(SEARCH, query={"search": "", "from": skipped, "size": size}))


async def _first_page(caller: Caller) -> tuple[int, Answer[SearchResponse]]:
    """Return the size of pages that the platform accepts, and the first page."""
    try:
        return PAGE_SIZE, await _page(caller, 0, PAGE_SIZE)
    except Rejected:
        return DEFAULT_PAGE_SIZE, await _page(caller, 0, DEFAULT_PAGE_SIZE)


async def list_resources(caller: Caller) -> Answer[SearchListing]:
    """List the resources of the account, page by page.

    If the second or a later page fails with any error, the resources of the pages before are returned, because
    platforms may refuse to show more than 10,000 results.

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
        # Stop at a page without a new item: a platform that ignores `from` sends the first page again and again.
        # An invalid item may be new: after a page with one, the search goes on if a total says where to stop.
        may_have_new = len(names) > known_before or (total is not None and len(readable) < len(items))
        is_last = total is not None and received >= total
        if is_last or not may_have_new:
            break
        try:
            answer = await _page(caller, received, size)
        except PlatformError as error:
            fault = None if isinstance(error, Rejected) else error
            break
    complete = len(names) == total
    return Answer(SearchListing(names, total, complete, fault), answer.date)
