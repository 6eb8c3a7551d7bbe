"""An operation of the sandbox: what is declared about it, and the checks that all of them share."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exporter.sandbox.answers import empty, problem, status_only
from exporter.sandbox.auth import Access, is_allowed
from exporter.sandbox.request_parsing import BadBodyError, BadQueryError, BodyTooLargeError, UnsupportedMediaTypeError
from exporter.sandbox.world import World

Handler: TypeAlias = Callable[[World, Request], Awaitable[Response]]
Schema: TypeAlias = dict[str, Any]

_PATH_PARAMETER: Final = re.compile(r"{(\w+)}")
_ID: Final[Schema] = {"type": "integer", "format": "int64"}


@dataclass(frozen=True, slots=True)
class ErrorStyle:
    """How an area of the interface words its errors, and that of a caller who is not authorised."""

    schema: str | None
    unauthorised: str | None
    answer: Callable[[int, str, Request], Response]


def _protection(status: int, detail: str, request: Request) -> Response:
    return status_only(status) if status == HTTPStatus.UNAUTHORIZED else problem(status, detail, request.url.path)


EMPTY: Final = ErrorStyle(None, None, lambda status, _detail, _request: empty(status))
STATUS_ONLY: Final = ErrorStyle(
    "StatusOnly",
    "StatusOnly",
    lambda status, _detail, _request: status_only(status),
)
PROBLEM: Final = ErrorStyle(
    "ProblemDetails",
    "ProblemDetails",
    lambda status, detail, request: problem(status, detail, request.url.path),
)
PROTECTION: Final = ErrorStyle("ProblemDetails", "StatusOnly", _protection)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation, as its description has it."""

    name: str
    where: str
    schema: Schema
    required: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its path, who may call it, how it answers and how it fails.

    Attributes:
        result: the name of its answer's schema.
        query: the schemas of its query parameters.
        path_schemas: the schemas of path parameters that are not plain 64-bit identifiers.
        body: the schema of its request body.
        failures: statuses beside those of every operation, of a query and of a body.
        documented: whether the interface document has it.
    """

    name: str
    method: str
    path: str
    handler: Handler
    result: str
    summary: str
    access: Access = Access.EITHER
    errors: ErrorStyle = STATUS_ONLY
    query: Mapping[str, Schema] = field(default_factory=dict)
    path_schemas: Mapping[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    failures: tuple[int, ...] = ()
    documented: bool = True

    @property
    def parameters(self) -> list[Parameter]:
        """Its parameters: those of the path, and then those of the query."""
        names = _PATH_PARAMETER.findall(self.path)
        of_path = [Parameter(name, "path", self.path_schemas.get(name, _ID), required=True) for name in names]
        return of_path + [Parameter(name, "query", schema, required=False) for name, schema in self.query.items()]

    @property
    def statuses(self) -> list[int]:
        """The statuses of its failures."""
        of_query = {400} if self.query else set()
        of_body = {400, 413, 415} if self.body is not None else set()
        return sorted({401, *of_query, *of_body, *self.failures})


def route(operation: Operation, world: World) -> Route:
    """Make the route that serves an operation."""

    async def endpoint(request: Request) -> Response:
        if not is_allowed(world, request, operation.access):
            return operation.errors.answer(401, "The request is not authorised.", request)
        try:
            return await operation.handler(world, request)
        except UnsupportedMediaTypeError:
            return operation.errors.answer(415, "The content type is not supported.", request)
        except BodyTooLargeError:
            return operation.errors.answer(413, "The body is too large.", request)
        except (BadBodyError, BadQueryError) as fault:
            return operation.errors.answer(400, str(fault), request)

    return Route(operation.path, endpoint, methods=[operation.method], name=operation.name)
