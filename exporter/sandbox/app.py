"""The sandbox as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route

from exporter.sandbox import control, database_endpoint, undocumented
from exporter.sandbox.fault_gate import FaultGate
from exporter.sandbox.faults import Faults
from exporter.sandbox.operations import OPERATIONS
from exporter.sandbox.request_errors import RequestError
from exporter.sandbox.world import World


class Sandbox(FastAPI):
    """Describes the operations, with their parameters and bodies, for `/openapi.json`."""

    def openapi(self) -> dict[str, Any]:
        """Return FastAPI's description, with the schemes of authentication."""
        described = super().openapi()
        described["components"]["securitySchemes"] = {
            "AccessKey": {"type": "apiKey", "in": "header", "name": "AccessKey"},
            "bearer": {"type": "http", "scheme": "bearer"},
        }
        return described


def create_app(world: World, faults: Faults | None = None) -> FastAPI:
    """Build the application that serves a world; it holds both as `state.world` and `state.faults`."""
    scripted = Faults(world.seed) if faults is None else faults

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        world.close()

    async def as_text(request: Request, error: HTTPException) -> Response:
        """Answer in plain text; if the method is not allowed, with the methods of all routes of the path."""
        matching = (one for one in app.routes if one.matches(request.scope)[0] is not Match.NONE)
        methods = {method for one in matching if isinstance(one, Route) for method in one.methods or ()}
        allowed = sorted(methods | ({"HEAD"} if "GET" in methods else set()))
        return PlainTextResponse(error.detail, error.status_code, {"Allow": ", ".join(allowed)} if allowed else None)

    app = Sandbox(
        title="Edge platform sandbox",
        version="1.0.0",
        routes=[*OPERATIONS, *database_endpoint.ROUTES, *undocumented.OPERATIONS, *control.ROUTES],
        middleware=[Middleware(FaultGate, scripted, world.clock)],
        exception_handlers={HTTPException: as_text, RequestError: control.refuse},
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        # The platform does not redirect a path with an extra slash.
        redirect_slashes=False,
    )
    app.state.world = world
    app.state.faults = scripted
    return app
