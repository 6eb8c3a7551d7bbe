"""The operation that searches all resources."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import payload
from exporter.sandbox.operation import EMPTY, Access, operation
from exporter.sandbox.request_parsing import RequestError, query_number
from exporter.sandbox.search import DEFAULT_SIZE
from exporter.sandbox.world import World

_LONGEST_TERM: Final = 1_000
_PLACE: Final = {"type": "integer", "format": "int64", "minimum": 0}


@operation(
    "GET",
    "/search",
    access=Access.ACCESS_KEY,
    errors=EMPTY,
    result="SearchResponse",
    query={"search": {"type": "string", "maxLength": _LONGEST_TERM}, "from": _PLACE, "size": _PLACE},
)
async def search(world: World, request: Request) -> Response:
    """Return the resources whose names contain a term."""
    start = query_number(request, "from", 0)
    size = query_number(request, "size", DEFAULT_SIZE)
    term = request.query_params.get("search", "")
    if start < 0 or size < 0 or len(term) > _LONGEST_TERM:
        raise RequestError("from and size must not be negative, and search takes up to 1000 characters")
    return payload(world.search.answer(term, start, size))


OPERATIONS: Final = (search,)
