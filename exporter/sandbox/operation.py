"""An operation of the sandbox: what is declared about it, and the checks that all of them share."""

from collections.abc import Awaitable, Callable
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
    """A parameter of an operation, for its description."""

    name: str
    where: str
    schema: dict[str, Any]
    required: bool = True


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: where it is found, who may call it, how it answers and how it fails."""

    name: str
    method: str
    path: str
    handler: Handler
    access: Access
    errors: ErrorStyle
    result: str
    summary: str
    documented: bool = True
    parameters: tuple[Parameter, ...] = ()
    body: dict[str, Any] | None = None
    statuses: tuple[int, ...] = field(default=())


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
