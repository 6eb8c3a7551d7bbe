"""Operations of the sandbox: their declaration, authentication and failures."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from exporter.sandbox.answers import empty, problem, status_only
from exporter.sandbox.keys import STATISTICS_ROLES
from exporter.sandbox.request_parsing import RequestError
from exporter.sandbox.world import World

Handler: TypeAlias = Callable[[World, Request], Awaitable[Response]]
Schema: TypeAlias = dict[str, Any]
_P = ParamSpec("_P")

_PATH_PARAMETER: Final = re.compile(r"{(\w+)}")
_ID: Final[Schema] = {"type": "integer", "format": "int64"}


class Access(Enum):
    """The authentication that an operation requires."""

    STATISTICS = auto()
    """Either scheme, and one of the roles that the interface lists."""

    ACCESS_KEY = auto()
    """The AccessKey header, as the interface shows."""

    EITHER = auto()
    """Either scheme: the interface does not show which."""


def is_allowed(world: World, request: Request, access: Access) -> bool:
    """Return whether a request is authorised."""
    key = request.headers.get("accesskey")
    if key is None and access is not Access.ACCESS_KEY:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            key = token.strip()
    role = world.keys.get(key) if key else None
    if access is Access.STATISTICS:
        return role in STATISTICS_ROLES
    return role is not None


class Refusal(Exception):
    """Ends a handler with a response."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


@dataclass(frozen=True, slots=True)
class ErrorStyle:
    """The format of errors in an area of the interface.

    Attributes:
        schema: the name of the errors' schema; None if they have no body.
        unauthorised: the same for an unauthorised request.
        answer: makes the answer to a wrong request.
    """

    schema: str | None
    unauthorised: str | None
    answer: Callable[[RequestError, Request], Response]


def _problem(error: RequestError, request: Request) -> Response:
    return problem(error.status, str(error), request.url.path)


def _protection(error: RequestError, request: Request) -> Response:
    return status_only(error.status) if error.status == HTTPStatus.UNAUTHORIZED else _problem(error, request)


EMPTY: Final = ErrorStyle(None, None, lambda error, _request: empty(error.status))
STATUS_ONLY: Final = ErrorStyle("StatusOnly", "StatusOnly", lambda error, _request: status_only(error.status))
PROBLEM: Final = ErrorStyle("ProblemDetails", "ProblemDetails", _problem)
PROTECTION: Final = ErrorStyle("ProblemDetails", "StatusOnly", _protection)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its path, its authentication, its answer and its failures.

    Attributes:
        handler: its function; the function's name and docstring are its identifier and summary.
        result: the name of its answer's schema.
        query: the schemas of its query parameters.
        path_schemas: the schemas of path parameters that are not plain 64-bit identifiers.
        body: the model of its request body.
        failures: further statuses of failures; those for authentication, the query and the body are added.
        documented: whether the interface document has it.
    """

    handler: Handler
    method: str
    path: str
    result: str
    access: Access = Access.EITHER
    errors: ErrorStyle = STATUS_ONLY
    query: Mapping[str, Schema] = field(default_factory=dict)
    path_schemas: Mapping[str, Schema] = field(default_factory=dict)
    body: type[BaseModel] | None = None
    failures: tuple[int, ...] = ()
    documented: bool = True

    @property
    def name(self) -> str:
        """Its identifier."""
        return self.handler.__name__

    @property
    def summary(self) -> str:
        """A one-line description of the operation."""
        return (self.handler.__doc__ or "").removesuffix(".")

    @property
    def path_parameters(self) -> dict[str, Schema]:
        """The schemas of its path parameters."""
        return {name: self.path_schemas.get(name, _ID) for name in _PATH_PARAMETER.findall(self.path)}

    @property
    def statuses(self) -> list[int]:
        """The statuses of its failures."""
        of_query = {400} if self.query else set()
        of_body = {400, 413, 415} if self.body is not None else set()
        return sorted({401, *of_query, *of_body, *self.failures})

    def route(self, world: World) -> Route:
        """Make the route that serves the operation."""

        async def endpoint(request: Request) -> Response:
            if not is_allowed(world, request, self.access):
                return self.errors.answer(RequestError("the request is not authorised", status=401), request)
            try:
                return await self.handler(world, request)
            except Refusal as refusal:
                return refusal.response
            except RequestError as error:
                return self.errors.answer(error, request)

        return Route(self.path, endpoint, methods=[self.method], name=self.name)


def _decorator_of(make: Callable[Concatenate[Handler, _P], Operation]) -> Callable[_P, Callable[[Handler], Operation]]:
    def decorator(*args: _P.args, **kwargs: _P.kwargs) -> Callable[[Handler], Operation]:
        return lambda handler: make(handler, *args, **kwargs)

    return decorator


# The type of a decorator that turns a handler into an operation; its arguments are the other fields of `Operation`.
operation = _decorator_of(Operation)
