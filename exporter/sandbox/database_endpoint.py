"""The database's HTTP endpoint, which is not behind the management API's authentication."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from exporter.sandbox import hrana
from exporter.sandbox.answers import payload
from exporter.sandbox.database import BatonError, Database
from exporter.sandbox.keys import TokenKind
from exporter.sandbox.operation import bearer_token
from exporter.sandbox.request_parsing import RequestError, body_bytes, reasons
from exporter.sandbox.sql import ForbiddenError
from exporter.sandbox.world import World

_Body = TypeVar("_Body")
_Execute: TypeAlias = Callable[[Database, _Body, TokenKind], Awaitable[Response]]
_LARGEST_PIPELINE: Final = 4 * 1024 * 1024
_HOST: Final = re.compile(r"(?P<database>[a-z0-9-]+)\.lite\..+", re.IGNORECASE)


def routes(world: World) -> list[Route]:
    """Return the routes of the database's endpoint.

    The interface documents version 2 of the protocol; a libSQL server also has version 3, which some clients use.
    """

    async def pipeline(request: Request) -> Response:
        return await _answer(world, request, hrana.PIPELINE, _pipeline)

    async def cursor(request: Request) -> Response:
        return await _answer(world, request, hrana.CURSOR, _cursor)

    async def supported(_request: Request) -> Response:
        return Response(status_code=200)

    return [
        Route("/v2/pipeline", pipeline, methods=["POST"]),
        Route("/v3/pipeline", pipeline, methods=["POST"]),
        Route("/v3/cursor", cursor, methods=["POST"]),
        Route("/v2", supported),
        Route("/v3", supported),
        Route("/health", supported),
    ]


async def _answer(world: World, request: Request, adapter: TypeAdapter[_Body], execute: _Execute[_Body]) -> Response:
    kind = world.tokens.kind(bearer_token(request))
    if kind is None:
        return payload({"error": "Unauthorized: the request carries no valid access token"}, 401)
    database = _database(world, request)
    if database is None:
        return PlainTextResponse("There is no such database", 404)
    try:
        body = adapter.validate_json(await body_bytes(request, _LARGEST_PIPELINE))
        answer = await execute(database, body, kind)
    except RequestError as error:
        answer = PlainTextResponse(str(error), error.status)
    except ValidationError as error:
        answer = PlainTextResponse(f"JSON parse error: {reasons(error)[0]}", 400)
    except hrana.ProtocolError as error:
        answer = PlainTextResponse(str(error), 400)
    except BatonError:
        answer = PlainTextResponse("The baton is invalid, or its stream has expired", 400)
    except ForbiddenError:
        answer = payload({"error": "Authorization forbidden: the access token is read only"}, 403)
    return answer


async def _pipeline(database: Database, body: hrana.Pipeline, kind: TokenKind) -> Response:
    return payload(await database.answer(body, kind))


async def _cursor(database: Database, body: hrana.Cursor, kind: TokenKind) -> Response:
    batch = hrana.Batch(type="batch", batch=body.batch)
    answer = await database.answer(hrana.Pipeline(baton=body.baton, requests=(batch,)), kind)
    first = {"baton": answer["baton"], "base_url": answer["base_url"]}
    entries = _entries(answer["results"][0]["response"]["result"])
    return PlainTextResponse("".join(f"{json.dumps(line)}\n" for line in (first, *entries)))


def _entries(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the results of a batch's steps as the entries of a cursor; skipped steps have none."""
    for place, (done, error) in enumerate(zip(result["step_results"], result["step_errors"], strict=True)):
        if error is not None:
            yield {"type": "step_error", "step": place, "error": error}
        elif done is not None:
            yield {"type": "step_begin", "step": place, "cols": done["cols"]}
            yield from ({"type": "row", "row": row} for row in done["rows"])
            inserted = done["last_insert_rowid"]
            yield {
                "type": "step_end",
                "affected_row_count": done["affected_row_count"],
                # The cursor protocol has a number here, the pipeline a string.
                "last_insert_rowid": None if inserted is None else int(inserted),
            }


def _database(world: World, request: Request) -> Database | None:
    """Return the database that the host names; the first one if the host does not have the form of a name."""
    named = _HOST.fullmatch(request.headers.get("host", "").partition(":")[0])
    return world.database() if named is None else world.database(named["database"].lower())
