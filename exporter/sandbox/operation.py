"""Operations of the sandbox: routes that authenticate before they read, and answer errors as their area does."""

import re
from collections.abc import Callable, Coroutine
from enum import Enum, auto
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import payload, problem, script_error
from exporter.sandbox.keys import STATISTICS_ROLES
from exporter.sandbox.request_parsing import RequestError, json_object, reasons
from exporter.sandbox.world import World

_MEDIA_TYPES: Final = re.compile(r"(application/json|text/json|application/[\w.!#$&^+-]*\+json)", re.ASCII)
_Endpoint: TypeAlias = Callable[..., Coroutine[Any, Any, Response]]


class Access(Enum):
    """The authentication that an operation requires."""

    STATISTICS = auto()
    """Either scheme, and one of the roles that the interface lists."""

    ACCESS_KEY = auto()
    """The AccessKey header, as the interface shows."""

    EITHER = auto()
    """Either scheme: the interface does not show which."""


def bearer_token(request: Request) -> str:
    """Return the token of an Authorization header; empty if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def _world(request: Request) -> World:
    world: World = request.app.state.world
    return world


TheWorld: TypeAlias = Annotated[World, Depends(_world)]


class Refusal(Exception):
    """Ends a handler with a response."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


class _ReadRequest(Request):
    """A request whose body was read: it is JSON, whatever its media type. Empty parameters of the query are absent."""

    def __init__(self, request: Request, content: object) -> None:
        super().__init__(request.scope)
        self._content = content

    @property
    def headers(self) -> Headers:
        return Headers({"content-type": "application/json"})

    @property
    def query_params(self) -> QueryParams:
        return QueryParams([(name, value) for name, value in super().query_params.multi_items() if value])

    async def body(self) -> bytes:
        return b"{}"

    async def json(self) -> object:
        return self._content


class Operation(APIRoute):
    """One operation: its path, its authentication, its answer and its failures.

    Args:
        endpoint: its function; the function's name and docstring are its identifier and summary.
        route: its method and path.
        result: the name of its answer's schema.
        failures: further statuses of failures; those for authentication, the query and the body are added.
        access: the authentication that it requires.
        errors: the name of its errors' schema, which decides their format; None if they have no body.
        unauthorised: the same for an unauthorised request; if empty, as other errors.
        documented: whether the interface document has it.
    """

    def __init__(
        self,
        endpoint: _Endpoint,
        route: str,
        result: str = "",
        *failures: int,
        access: Access = Access.EITHER,
        errors: str | None = "StatusOnly",
        unauthorised: str | None = "",
        documented: bool = True,
    ) -> None:
        self.access, self.result, self.documented = access, result, documented
        self.errors, self.unauthorised = errors, errors if unauthorised == "" else unauthorised
        self.method, path = route.split()
        name, summary = endpoint.__name__, (endpoint.__doc__ or "").removesuffix(".")
        super().__init__(path, endpoint, methods=[self.method], response_model=None, operation_id=name, summary=summary)
        self.description = ""
        of_query = {400} if self.dependant.query_params else set()
        of_body = {400, 413, 415} if self.body_field is not None else set()
        self.statuses = sorted({401, *of_query, *of_body, *failures})

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            if not self._is_allowed(request):
                return self._failure(RequestError("the request is not authorised", status=401), request)
            try:
                return await answer(_ReadRequest(request, await self._content(request)))
            except Refusal as refusal:
                return refusal.response
            except RequestValidationError as error:
                return self._failure(_first(error), request)
            except RequestError as error:
                return self._failure(error, request)

        return handle

    def _is_allowed(self, request: Request) -> bool:
        key = request.headers.get("accesskey")
        if key is None and self.access is not Access.ACCESS_KEY:
            key = bearer_token(request)
        role = request.app.state.world.keys.get(key) if key else None
        return role in STATISTICS_ROLES if self.access is Access.STATISTICS else role is not None

    async def _content(self, request: Request) -> object:
        if self.body_field is None:
            return None
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if _MEDIA_TYPES.fullmatch(media_type) is None:
            raise RequestError("the content type is not supported", status=415)
        return await json_object(request)

    def _failure(self, error: RequestError, request: Request) -> Response:
        """Answer in the format of the operation's errors."""
        status, path = error.status, request.url.path
        match self.unauthorised if status == HTTPStatus.UNAUTHORIZED else self.errors:
            case None:
                return Response(status_code=status)
            case "StatusOnly":
                return payload({"statusCode": status}, status)
            case "CoreError":
                return payload({"Message": "Authorization has been denied for this request."}, status)
            case "ScriptError":
                field = error.fields[0][0] if error.fields else None
                return script_error(status, "request.invalid", field, str(error))
            case "FieldErrors" if error.fields:
                trace = request.app.state.world.next_trace()
                return problem(422, "The request cannot be processed.", path, error.fields, trace)
        return problem(status, str(error), path)


def _first(error: RequestValidationError) -> RequestError:
    """Return what is wrong with the body; if nothing is, with the first wrong parameter."""
    wrong = [fault for fault in error.errors() if fault["loc"][0] == "body"]
    if not wrong:
        return RequestError(reasons(error, skip=1)[0].replace(": ", " ", 1))
    fields = [(str(fault["loc"][1]), fault["msg"]) for fault in wrong]
    return RequestError(*reasons(RequestValidationError(wrong), skip=1), fields=fields)


def operation(route: str, *more: Any, **named: Any) -> Callable[[_Endpoint], Operation]:  # noqa: ANN401 - as `Operation`
    """Return a decorator that makes an operation of a function; the arguments are those of `Operation`."""
    return lambda endpoint: Operation(endpoint, route, *more, **named)
