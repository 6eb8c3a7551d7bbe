"""The sandbox as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware

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

    app = Sandbox(
        title="Edge platform sandbox",
        version="1.0.0",
        routes=[*OPERATIONS, *database_endpoint.ROUTES, *undocumented.OPERATIONS, *control.ROUTES],
        middleware=[Middleware(FaultGate, scripted, world.clock)],
        exception_handlers={RequestError: control.refuse},
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        # The platform does not redirect a path with an extra slash.
        redirect_slashes=False,
    )
    app.state.world = world
    app.state.faults = scripted
    return app
