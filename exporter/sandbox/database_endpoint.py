"""The HTTP endpoint of the databases."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from exporter.sandbox import hrana
from exporter.sandbox.answers import payload
from exporter.sandbox.request_errors import RequestError, json_object
from exporter.sandbox.route import BEARER, bearer_token
from exporter.sandbox.sql import ForbiddenError
from exporter.sandbox.world import DATABASES, World

_HOST: Final = re.compile(r"(?P<database>[a-z0-9-]+)\.lite\..+", re.IGNORECASE)


async def _on_pipeline_or_cursor(request: Request) -> Response:
    world: World = request.app.state.world
    token_kind = world.tokens.valid.get(bearer_token(request))
    if token_kind is None:
        return payload({"error": "Unauthorized: the request carries no valid access token"}, 401)
    # A host of the form `orders.lite.example.net` names the database; a host of another form means the first database.
    named_host = _HOST.fullmatch(request.headers.get("host", ""))
    database = world.databases.get(DATABASES[0] if named_host is None else named_host["database"].lower())
    if database is None:
        return PlainTextResponse("There is no such database", 404)
    try:
        content = await json_object(request)
        if request.url.path.endswith("/cursor"):
            batch = {"type": "batch", "batch": content.get("batch")}
            return _as_cursor(database.answer(content.get("baton"), [batch], token_kind))
        return payload(database.answer(content.get("baton"), content.get("requests"), token_kind))
    except ForbiddenError:
        return payload({"error": "Authorization forbidden: writes are not allowed"}, 403)
    # RecursionError: the condition of a batch's step (`and`, `or`, `not`) is nested too deeply.
    except (RequestError, hrana.ProtocolError, RecursionError) as error:
        return PlainTextResponse(str(error), 400)


async def _on_version_or_health(_request: Request) -> Response:
    return Response(status_code=200)


def _as_cursor(answer: dict[str, Any]) -> Response:
    first = {"baton": answer["baton"], "base_url": answer["base_url"]}
    (batch,) = answer["results"]
    entries = _cursor_entries(batch["response"]["result"])
    return PlainTextResponse("".join(f"{json.dumps(line)}\n" for line in (first, *entries)))


def _cursor_entries(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the entries of a cursor for the result of a batch; a step that was skipped has none."""
    for step, (step_result, error) in enumerate(zip(result["step_results"], result["step_errors"], strict=True)):
        if error is not None:
            yield {"type": "step_error", "step": step, "error": error}
        elif step_result is not None:
            yield {"type": "step_begin", "step": step, "cols": step_result["cols"]}
            yield from ({"type": "row", "row": row} for row in step_result["rows"])
            inserted = step_result["last_insert_rowid"]
            yield {
                "type": "step_end",
                "affected_row_count": step_result["affected_row_count"],
                # The cursor protocol has a number here, the pipeline a string.
                "last_insert_rowid": None if inserted is None else int(inserted),
            }


# The interface documents version 2 of the protocol; a libSQL server also has version 3, which some clients use.
ROUTES: Final = (
    APIRoute(
        "/v2/pipeline",
        _on_pipeline_or_cursor,
        methods=["POST"],
        operation_id="database_pipeline",
        summary="Execute SQL statements",
        response_model=None,
        dependencies=[BEARER],
        openapi_extra={
            "requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}},
        },
    ),
    *(Route(path, _on_pipeline_or_cursor, methods=["POST"]) for path in ("/v3/pipeline", "/v3/cursor")),
    *(Route(path, _on_version_or_health) for path in ("/v2", "/v3", "/health")),
)
