"""The sandbox as an ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware import Middleware

from exporter.sandbox import control, database_endpoint, undocumented
from exporter.sandbox.faults import FaultGate, Faults
from exporter.sandbox.management_api import OPERATIONS
from exporter.sandbox.request_errors import RequestError
from exporter.sandbox.world import World


def create_app(world: World, faults: Faults | None = None) -> FastAPI:
    """Build the application that serves a world; it holds both as `state.world` and `state.faults`."""
    scripted = Faults() if faults is None else faults

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        world.close()

    app = FastAPI(
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
