"""The sandbox's HTTP server, which runs inside the loop that starts it."""

import ssl
from pathlib import Path

from starlette.applications import Starlette

from exporter.http_server.connections import Connections
from exporter.http_server.server import LoopServer, bind
from exporter.responsive.runtime import file_limit

MOST_CONNECTIONS = 512
LEAST_CONNECTIONS = 16
# The exporter may run in the same process, and needs a part of the files.
SHARE_OF_FILES = 4


class SandboxServer:
    """Serves the sandbox on a separate port until it is stopped.

    Args:
        app: the application of `create_app`.
        host: the address to listen on.
        port: 0 for a free one.
        tls_certificate: with its key, makes the server speak https.
        tls_key: the certificate's private key.
        connections: how many connections may be open; by default what the limit of open files allows.
    """

    def __init__(
        self,
        app: Starlette,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls_certificate: Path | None = None,
        tls_key: Path | None = None,
        connections: int | None = None,
    ) -> None:
        self._app = app
        self._host = host
        self._wanted_port = port
        self._certificate = tls_certificate
        self._key = tls_key
        self._connections = connections
        self._server: LoopServer | None = None
        self.port = port

    @property
    def url(self) -> str:
        """The sandbox's URL."""
        scheme = "http" if self._certificate is None else "https"
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{scheme}://{host}:{self.port}"

    async def start(self) -> None:
        """Bind the port and serve; requests are answered when this returns.

        Raises:
            OSError: the address cannot be used.
        """
        allowed = max(LEAST_CONNECTIONS, min(MOST_CONNECTIONS, file_limit() // SHARE_OF_FILES))
        connections = Connections(allowed if self._connections is None else self._connections)
        bound = bind(self._host, self._wanted_port)
        self.port = bound.getsockname()[1]
        tls = None
        if self._certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self._certificate, self._key)

            async def tls() -> ssl.SSLContext:
                return context

        # The application gives each answer the date of its own clock.
        server = LoopServer(self._app, connections, tls, has_lifespan=True, has_date=False)
        self._server = server
        self._app.state.connection = server.connection
        await server.start(bound)

    async def stop(self) -> None:
        """Stop serving; answers under way are cut off."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(answer_seconds=0.0)
