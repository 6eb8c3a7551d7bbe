"""The sandbox as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exporter.sandbox import control
from exporter.sandbox.answers import payload
from exporter.sandbox.endpoints import (
    containers,
    database,
    dns,
    protection,
    scripting,
    search,
    shield,
    undocumented,
    waf,
)
from exporter.sandbox.faults import FaultGate, Faults
from exporter.sandbox.openapi import describe
from exporter.sandbox.operation import Operation
from exporter.sandbox.request_parsing import RequestError
from exporter.sandbox.timestamps import http_date
from exporter.sandbox.world import World

OPERATIONS: Final[tuple[Operation, ...]] = (
    *dns.OPERATIONS,
    *shield.OPERATIONS,
    *protection.OPERATIONS,
    *waf.OPERATIONS,
    *scripting.OPERATIONS,
    *search.OPERATIONS,
    *containers.OPERATIONS,
)


class WorldDate:
    """Adds a Date header with the world's time to every response."""

    def __init__(self, app: ASGIApp, world: World) -> None:
        self._app = app
        self._world = world

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def dated(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("date", http_date(self._world.clock.now()))
            await send(message)

        await self._app(scope, receive, dated)


def create_app(world: World, faults: Faults | None = None) -> Starlette:
    """Build the application that serves a world; it holds both as `state.world` and `state.faults`."""
    scripted = Faults(world.seed) if faults is None else faults

    async def openapi(_request: Request) -> Response:
        return payload(describe(OPERATIONS))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        world.close()

    async def not_allowed(request: Request, _error: Exception) -> Response:
        """Answer like Starlette, but allow the methods of all routes of the path and not of the first alone."""
        matching = [one for one in routes if one.matches(request.scope)[0] is not Match.NONE]
        methods = sorted({method for one in matching for method in one.methods or ()})
        return PlainTextResponse("Method Not Allowed", 405, {"Allow": ", ".join(methods)})

    routes = [
        *(operation.route(world) for operation in OPERATIONS),
        *database.routes(world),
        *undocumented.routes(world),
        *control.routes(world, scripted),
        Route("/openapi.json", openapi),
    ]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(WorldDate, world), Middleware(FaultGate, scripted, world.clock)],
        exception_handlers={405: not_allowed, RequestError: control.refuse},
        lifespan=lifespan,
    )
    # The platform does not redirect a path with an extra slash.
    app.router.redirect_slashes = False
    app.state.world = world
    app.state.faults = scripted
    return app
