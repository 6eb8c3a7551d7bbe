"""The sandbox's HTTP server, which runs inside the loop that starts it."""

import ssl
from pathlib import Path

from starlette.applications import Starlette

from exporter.http_server.connections import Connections
from exporter.http_server.server import LoopServer, bind
from exporter.responsive.runtime import file_limit

# The exporter may run in the same process, and needs the greater part of the files.
LEAST_CONNECTIONS, MOST_CONNECTIONS, SHARE_OF_FILES = 16, 512, 4


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
        allowed = max(LEAST_CONNECTIONS, min(MOST_CONNECTIONS, file_limit() // SHARE_OF_FILES))
        self._connections = allowed if connections is None else connections
        self._app = app
        self._host = host
        self._certificate = tls_certificate
        self._key = tls_key
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
        bound = bind(self._host, self.port)
        self.port = bound.getsockname()[1]
        tls = None
        if self._certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(self._certificate, self._key)

            async def tls() -> ssl.SSLContext:
                return context

        # The application gives each answer the date of its own clock.
        self._server = LoopServer(self._app, Connections(self._connections), tls, has_lifespan=True, has_date=False)
        self._app.state.connection = self._server.connection
        await self._server.start(bound)

    async def stop(self) -> None:
        """Stop serving; answers under way are cut off."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(answer_seconds=0.0)
