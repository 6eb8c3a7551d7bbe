"""The operations on edge scripts."""

from functools import partial
from http import HTTPStatus
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import empty, payload, script_error
from exporter.sandbox.operation import Access, ErrorStyle, Refusal, operation
from exporter.sandbox.request_parsing import RequestError, int64, json_body, page_size, query_number
from exporter.sandbox.world import World

_LARGEST_PAGE: Final = 1_000
_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=256)]


class ScriptSettings(BaseModel):
    """The settings of an edge script that an update changes."""

    Name: _Name | None = None
    ScriptType: Annotated[int, Field(ge=0, le=2)] | None = None


class NewSecret(BaseModel):
    """A named secret of an edge script."""

    Name: _Name
    Secret: Annotated[str, Field(max_length=4_096, json_schema_extra={"writeOnly": True})]


def _failure(error: RequestError, _request: Request) -> Response:
    if error.status == HTTPStatus.UNAUTHORIZED:
        return empty(error.status)
    field = error.fields[0][0] if error.fields else None
    return script_error(error.status, "request.invalid", field, str(error))


_operation: Final = partial(operation, access=Access.ACCESS_KEY, errors=ErrorStyle("ScriptError", None, _failure))


def _script_id(world: World, request: Request) -> int:
    script_id = int64(request.path_params["id"])
    if script_id is None or script_id not in world.scripts.scripts:
        raise Refusal(script_error(404, "script.not_found", "Id", "There is no script with this id."))
    return script_id


@_operation(
    "GET",
    "/compute/script",
    result="EdgeScriptPage",
    documented=False,
    query={"page": {"type": "integer", "minimum": 1}, "perPage": {"type": "integer", "maximum": _LARGEST_PAGE}},
    failures=(500,),
)
async def script_list(world: World, request: Request) -> Response:
    """Return a page of the account's edge scripts."""
    page = query_number(request, "page", 1)
    size = page_size(request, _LARGEST_PAGE)
    if page < 1:
        # The platform answers 500 for page 0.
        return empty(500)
    if size > _LARGEST_PAGE:
        return script_error(400, "paging.invalid", "perPage", "perPage must be up to 1000.")
    scripts = world.scripts
    start = (page - 1) * size
    return payload(
        {
            "Items": [scripts.answer(script_id) for script_id in scripts.scripts.slice(start, size)],
            "CurrentPage": page,
            "TotalItems": len(scripts.scripts),
            "HasMoreItems": start + size < len(scripts.scripts),
        },
    )


@_operation("GET", "/compute/script/{id}", result="EdgeScript", documented=False, failures=(404,))
async def script_get(world: World, request: Request) -> Response:
    """Return an edge script."""
    return payload(world.scripts.answer(_script_id(world, request)))


@_operation(
    "POST",
    "/compute/script/{id}",
    result="EdgeScript",
    body=ScriptSettings,
    failures=(404,),
)
async def script_update(world: World, request: Request) -> Response:
    """Update an edge script's settings."""
    settings = await json_body(request, ScriptSettings)
    return payload(world.scripts.update(_script_id(world, request), settings.Name, settings.ScriptType))


@_operation(
    "POST",
    "/compute/script/{id}/secrets",
    result="ScriptSecret",
    body=NewSecret,
    failures=(404,),
)
async def script_add_secret(world: World, request: Request) -> Response:
    """Add a named secret to an edge script."""
    secret = await json_body(request, NewSecret)
    added = world.scripts.add_secret(_script_id(world, request), secret.Name)
    if added is None:
        return script_error(400, "secret.name.taken", "Name", "There is a secret of this name.")
    return payload(added)


OPERATIONS: Final = (script_list, script_get, script_update, script_add_secret)
