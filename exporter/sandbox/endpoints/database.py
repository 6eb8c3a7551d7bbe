"""The database's HTTP endpoint, which is not behind the management API's authentication."""

import re
from typing import Final

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from exporter.sandbox import hrana
from exporter.sandbox.answers import payload
from exporter.sandbox.database import BatonError, Database, ForbiddenError
from exporter.sandbox.request_parsing import BodyTooLargeError, body_bytes
from exporter.sandbox.tokens import TokenKind
from exporter.sandbox.world import World

_LARGEST_PIPELINE: Final = 4 * 1024 * 1024
_HOST: Final = re.compile(r"(?P<database>[a-z0-9-]+)\.lite\..+", re.IGNORECASE)


def routes(world: World) -> list[Route]:
    """Return the routes of the database's endpoint."""

    async def pipeline(request: Request) -> Response:
        kind = _token_kind(world, request)
        if kind is None:
            return payload({"error": "Unauthorized: the request carries no valid access token"}, 401)
        database = _database(world, request)
        if database is None:
            return PlainTextResponse("There is no such database", 404)
        try:
            asked = hrana.PIPELINE.validate_json(await body_bytes(request, _LARGEST_PIPELINE))
            answer = payload(await database.answer(asked, kind))
        except BodyTooLargeError:
            answer = PlainTextResponse("The request is too large", 413)
        except ValidationError as error:
            answer = PlainTextResponse(f"JSON parse error: {_first_fault(error)}", 400)
        except BatonError:
            answer = PlainTextResponse("The baton is invalid, or its stream has expired", 400)
        except ForbiddenError:
            answer = payload({"error": "Authorization forbidden: the access token is read only"}, 403)
        return answer

    async def spoken(_request: Request) -> Response:
        return Response(status_code=200)

    return [
        Route("/v2/pipeline", pipeline, methods=["POST"]),
        Route("/v2", spoken),
        Route("/health", spoken),
    ]


def _token_kind(world: World, request: Request) -> TokenKind | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return world.tokens.kind(token.strip()) if scheme.lower() == "bearer" else None


def _database(world: World, request: Request) -> Database | None:
    """Return the database that the host names; a host of another form means the first one."""
    named = _HOST.fullmatch(request.headers.get("host", "").partition(":")[0])
    return world.database() if named is None else world.database(named["database"].lower())


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"{fault['msg']} at {where or 'the top'}"
