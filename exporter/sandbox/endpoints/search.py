"""The operation that searches all resources."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import raw_payload
from exporter.sandbox.auth import Access
from exporter.sandbox.operation import EMPTY, Operation
from exporter.sandbox.request_parsing import BadQueryError, query_number
from exporter.sandbox.search import DEFAULT_SIZE
from exporter.sandbox.world import World

_LONGEST_TERM: Final = 1_000


async def _search(world: World, request: Request) -> Response:
    start = query_number(request, "from", 0)
    size = query_number(request, "size", DEFAULT_SIZE)
    if start < 0 or size < 0:
        raise BadQueryError("from and size must not be negative")
    term = request.query_params.get("search", "")
    if len(term) > _LONGEST_TERM:
        raise BadQueryError("search is too long")
    return raw_payload(world.search.answer(term, start, size))


OPERATIONS: Final = (
    Operation(
        name="search",
        method="GET",
        path="/search",
        handler=_search,
        access=Access.ACCESS_KEY,
        errors=EMPTY,
        result="SearchResponse",
        summary="Resources whose names hold a term",
        query={
            "search": {"type": "string", "maxLength": _LONGEST_TERM},
            "from": {"type": "integer", "format": "int64", "minimum": 0},
            "size": {"type": "integer", "format": "int64", "minimum": 0},
        },
    ),
)
