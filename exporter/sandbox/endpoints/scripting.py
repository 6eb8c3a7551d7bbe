"""The operations on edge scripts."""

from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import empty, payload, script_error
from exporter.sandbox.operation import Access, ErrorStyle, Refusal, operation
from exporter.sandbox.request_parsing import int64, json_object, page_size, query_number
from exporter.sandbox.world import World

_LONGEST_NAME: Final = 256
_LONGEST_SECRET: Final = 4_096
_SCRIPT_TYPES: Final = (0, 1, 2)
_LARGEST_PAGE: Final = 1_000


def _failure(status: int, detail: str, _request: Request) -> Response:
    if status == 401:  # noqa: PLR2004 - sent without a body
        return empty(status)
    return script_error(status, "request.invalid", None, detail)


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
    body={
        "type": "object",
        "properties": {
            "Name": {"type": ["string", "null"], "minLength": 1, "maxLength": _LONGEST_NAME},
            "ScriptType": {"enum": [*_SCRIPT_TYPES, None]},
        },
    },
    failures=(404,),
)
async def script_update(world: World, request: Request) -> Response:
    """Update an edge script's settings."""
    body = await json_object(request)
    script_id = _script_id(world, request)
    name = body.get("Name")
    if name is not None and not _is_text(name, _LONGEST_NAME, shortest=1):
        return script_error(400, "script.name.invalid", "Name", "Name must be a string of 1 to 256 characters.")
    script_type = body.get("ScriptType")
    if script_type is not None and (isinstance(script_type, bool) or script_type not in _SCRIPT_TYPES):
        return script_error(400, "script.type.invalid", "ScriptType", "ScriptType must be 0, 1 or 2.")
    return payload(world.scripts.update(script_id, name, script_type))


@_operation(
    "POST",
    "/compute/script/{id}/secrets",
    result="ScriptSecret",
    body={
        "type": "object",
        "required": ["Name", "Secret"],
        "properties": {
            "Name": {"type": "string", "minLength": 1, "maxLength": _LONGEST_NAME},
            "Secret": {"type": "string", "maxLength": _LONGEST_SECRET, "writeOnly": True},
        },
    },
    failures=(404,),
)
async def script_add_secret(world: World, request: Request) -> Response:
    """Add a named secret to an edge script."""
    body = await json_object(request)
    script_id = _script_id(world, request)
    name = body.get("Name")
    if not _is_text(name, _LONGEST_NAME, shortest=1):
        return script_error(400, "secret.name.invalid", "Name", "Name must be a string of 1 to 256 characters.")
    if not _is_text(body.get("Secret"), _LONGEST_SECRET):
        return script_error(400, "secret.value.invalid", "Secret", "Secret must be a string of up to 4096 characters.")
    added = world.scripts.add_secret(script_id, str(name))
    if added is None:
        return script_error(400, "secret.name.taken", "Name", "There is a secret of this name.")
    return payload(added)


def _is_text(value: Any, longest: int, shortest: int = 0) -> bool:  # noqa: ANN401 - any JSON
    return isinstance(value, str) and shortest <= len(value) <= longest


OPERATIONS: Final = (script_list, script_get, script_update, script_add_secret)
