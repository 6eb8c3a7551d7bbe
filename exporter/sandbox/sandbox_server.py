"""The sandbox's ASGI application and HTTP server."""

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.middleware import Middleware

from exporter.http_server.connections import Connections, file_limit
from exporter.http_server.loop_server import LoopServer, bind
from exporter.sandbox import control, database_endpoint, undocumented
from exporter.sandbox.faults import FaultGate, Faults
from exporter.sandbox.management_api import OPERATIONS
from exporter.sandbox.request_errors import RequestError
from exporter.sandbox.world import World

# The connections may use a quarter of the process's file descriptors: in a demo, the exporter needs the others.
FILES_DIVISOR = 4


def create_app(world: World) -> FastAPI:
    """Create the application that serves a world. The application's `state` has the `world` and the `faults`."""
    faults = Faults()
    app = FastAPI(
        title="Edge platform sandbox",
        version="1.0.0",
        routes=[*OPERATIONS, *database_endpoint.ROUTES, *undocumented.OPERATIONS, *control.ROUTES],
        middleware=[Middleware(FaultGate, faults, world.clock)],
        exception_handlers={RequestError: control.refuse},
        docs_url=None,
        redoc_url=None,
        # The platform does not redirect a path with an extra slash.
        redirect_slashes=False,
    )
    app.state.world = world
    app.state.faults = faults
    return app


class SandboxServer:
    """Serves the sandbox on a port, from `start` to `stop`.

    Args:
        app: the application of `create_app`.
        port: the port; 0 takes a free one.
    """

    def __init__(self, app: Starlette, host: str = "127.0.0.1", port: int = 0) -> None:
        self._app, self._host = app, host
        self._server: LoopServer  # set by `start`
        self.port = port

    @property
    def url(self) -> str:
        """The sandbox's URL. If the port is 0, `start` must be called first: it replaces the port."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    def start(self) -> None:
        """Serve from now on, in the running event loop.

        Raises:
            ListenError: the address cannot be used.
        """
        bound = bind(self._host, self.port)
        _, self.port, *_ = bound.getsockname()
        connections = Connections()
        connections.set_limit(file_limit() // FILES_DIVISOR)
        # `FaultGate` adds the date of the world's clock.
        self._server = LoopServer(bound, self._app, connections, has_date=False)
        self._app.state.connection = self._server.connection  # for `Exchange.connection`
        self._server.start()

    async def stop(self) -> None:
        """Stop serving at once, even in the middle of an answer, and close the world; to be called after `start`."""
        await self._server.stop(answer_seconds=0.0)
        self._app.state.world.close()
