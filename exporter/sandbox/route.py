"""The routes of the sandbox's operations. They check the key first, and send errors in the platform's formats."""

import re
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import Depends, Security
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import payload, problem, script_error
from exporter.sandbox.request_errors import RequestError, reasons
from exporter.sandbox.world import World

_JSON_MEDIA_TYPE: Final = re.compile(r"(application/json|text/json|application/[\w.!#$&^+-]*\+json)", re.ASCII)
_Endpoint: TypeAlias = Callable[..., Coroutine[Any, Any, Response]]
# These constants describe the authentication in OpenAPI; they check nothing.
ACCESS_KEY: Final = Security(APIKeyHeader(name="AccessKey", scheme_name="AccessKey", auto_error=False))
BEARER: Final = Security(HTTPBearer(scheme_name="bearer", auto_error=False))
ErrorFormat: TypeAlias = Literal["empty", "status", "core", "script", "problem", "field problems"]


def bearer_token(request: Request) -> str:
    """Return the bearer token of a request; empty if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


async def _world(request: Request) -> World:
    world: World = request.app.state.world
    return world


TheWorld: TypeAlias = Annotated[World, Depends(_world)]


class Refusal(Exception):
    """Raised by an operation to end the request with this response."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status_code)
        self.response = response


class PlatformRoute(APIRoute):
    """The route of one operation.

    Args:
        endpoint: the function of the operation; its name and docstring are the operation's id and summary in OpenAPI.
        route: the method and the path, separated by a blank.
        roles: the roles that may call the operation; None means all.
        bearer: whether a bearer token is accepted, too, if the AccessKey header is missing.
        errors: the format of errors.
        unauthorised: the format of the error for an unauthorised request; None means `errors`.
        described: whether the OpenAPI description contains the operation.
    """

    def __init__(
        self,
        endpoint: _Endpoint,
        route: str,
        *,
        roles: frozenset[str] | None = None,
        bearer: bool = True,
        errors: ErrorFormat = "status",
        unauthorised: ErrorFormat | None = None,
        described: bool = True,
    ) -> None:
        self.roles, self.bearer = roles, bearer
        self.errors, self.unauthorised = errors, unauthorised or errors
        self.method, path = route.split()
        super().__init__(
            path,
            endpoint,
            methods=[self.method],
            operation_id=endpoint.__name__,
            summary=(endpoint.__doc__ or "").removesuffix("."),
            response_model=None,
            responses={"default": {"description": "The request is refused, or the platform failed"}},
            dependencies=[ACCESS_KEY, BEARER] if bearer else [ACCESS_KEY],
            include_in_schema=described,
        )
        self.description = ""  # FastAPI would repeat the docstring, which is the summary

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            if not self._is_allowed(request):
                return self._failure(RequestError("the request is not authorised", status=401), request)
            try:
                return await answer(self._as_json(request))
            except Refusal as refusal:
                return refusal.response
            except RequestValidationError as error:
                return self._failure(_request_error(error), request)
            except RequestError as error:
                return self._failure(error, request)
            except HTTPException:  # FastAPI could not read the body
                return self._failure(RequestError("the body cannot be read as JSON"), request)

        return handle

    def _is_allowed(self, request: Request) -> bool:
        key = request.headers.get("accesskey")
        if key is None and self.bearer:
            key = bearer_token(request)
        role = request.app.state.world.keys.get(key) if key else None
        return role is not None and (self.roles is None or role in self.roles)

    def _as_json(self, request: Request) -> Request:
        """Refuse content types other than JSON, and replace JSON types by `application/json`."""
        if self.body_field is None:
            return request
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if _JSON_MEDIA_TYPE.fullmatch(media_type) is None:
            raise RequestError("the content type is not supported", status=415)
        others = [(name, value) for name, value in request.scope["headers"] if name != b"content-type"]
        # FastAPI does not accept `text/json`.
        headers = [*others, (b"content-type", b"application/json")]
        return Request({**request.scope, "headers": headers}, request.receive)

    def _failure(self, error: RequestError, request: Request) -> Response:
        status, path = error.status, request.url.path
        match self.unauthorised if status == HTTPStatus.UNAUTHORIZED else self.errors:
            case "empty":
                return Response(status_code=status)
            case "status":
                return payload({"statusCode": status}, status)
            case "core":  # a format for unauthorised requests alone
                return payload({"Message": "Authorization has been denied for this request."}, status)
            case "script":
                field = next((name for name, _ in error.fields), None)
                return script_error(status, "request.invalid", field, str(error))
            case "field problems" if error.fields:
                # The platform answers with this status and title, whatever is wrong with the fields.
                trace_id = request.app.state.world.error_trace_id
                return problem(422, "The request cannot be processed.", path, error.fields, trace_id)
            case "problem" | "field problems":
                return problem(status, str(error), path)


def _request_error(error: RequestValidationError) -> RequestError:
    """Return an error with the faults of the body or, if the body has no faults, with one wrong parameter."""
    # `skip=1`: FastAPI's paths of fields begin with "body", "query" or "path".
    body_faults = [fault for fault in error.errors() if fault["loc"][0] == "body"]
    if not body_faults:
        first, *_ = reasons(error, skip=1)
        return RequestError(first)
    if body_faults[0]["type"] == "json_invalid":
        return RequestError("the body cannot be read as JSON")
    # A fault of the whole body, such as a missing body, is in no field.
    fields = [(str(fault["loc"][1]), fault["msg"]) for fault in body_faults if len(fault["loc"]) > 1]
    return RequestError(*reasons(RequestValidationError(body_faults), skip=1), fields=fields)


def operation(route: str, **named: Any) -> Callable[[_Endpoint], PlatformRoute]:  # noqa: ANN401 - as `PlatformRoute`
    """Return a decorator that creates the `PlatformRoute` of a function, with these arguments."""
    return lambda endpoint: PlatformRoute(endpoint, route, **named)
