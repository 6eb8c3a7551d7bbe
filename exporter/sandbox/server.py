"""The sandbox's HTTP server, which runs inside the loop that starts it."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import uvicorn
from starlette.applications import Starlette


class _QuietServer(uvicorn.Server):
    """A server that leaves the process's signals alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class SandboxServer:
    """Serves the sandbox on a port of its own, until it is stopped."""

    def __init__(
        self,
        app: Starlette,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls_certificate: Path | None = None,
        tls_key: Path | None = None,
    ) -> None:
        """Prepare to serve; port 0 takes a free one, and a certificate with its key makes it https."""
        self._app = app
        self._host = host
        self._wanted_port = port
        self._tls = (tls_certificate, tls_key)
        self._server: _QuietServer | None = None
        self._task: asyncio.Task[None] | None = None
        self.port = port

    @property
    def url(self) -> str:
        """Where the sandbox is found."""
        scheme = "http" if self._tls[0] is None else "https"
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{scheme}://{host}:{self.port}"

    async def start(self) -> None:
        """Bind the port and serve; once this returns, requests are answered."""
        certificate, key = self._tls
        config = uvicorn.Config(
            self._app,
            date_header=False,
            server_header=False,
            access_log=False,
            proxy_headers=False,
            log_config=None,
            log_level="warning",
            ws="none",
            lifespan="on",
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        # asyncio switches Nagle's algorithm off for sockets that say that they are TCP, and for no others; with it on,
        # the body waits for the acknowledgement of the head, 40 ms later.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((self._host, self._wanted_port))
        except OSError:
            bound.close()
            raise
        self.port = bound.getsockname()[1]
        server = _QuietServer(config)
        self._server = server
        self._app.state.connection = self._connection
        self._task = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]), name="sandbox")
        while not server.started:
            if self._task.done():
                await self._task
                raise RuntimeError("the sandbox's server ended before it had started")
            await asyncio.sleep(0.002)

    async def stop(self) -> None:
        """Stop serving; what is unanswered is cut off."""
        if self._server is None or self._task is None:
            return
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()
        self._server.should_exit = True
        await self._task
        self._server = self._task = None

    def _connection(self, client: tuple[str, int] | None) -> asyncio.Transport | None:
        if self._server is None:
            return None
        for connection in self._server.server_state.connections:
            if getattr(connection, "client", None) == client:
                return connection.transport
        return None
