"""The exporter's HTTP server: access control, TLS and the limit of connections around the endpoints."""

from pathlib import Path

from starlette.types import ASGIApp

from exporter.blocking import Executors, blocking, one_thread
from exporter.http_server.connections import LEAST_CONNECTIONS, Connections, file_limit
from exporter.http_server.loop_server import LoopServer, bind
from exporter.http_server.protocol import NOTHING_READY, Ready
from exporter.log import logger
from exporter.web.auth.access import AccessControl
from exporter.web.auth.tls import ServerTls
from exporter.web.auth.web_config import WebConfig, load_web_config

# File descriptors for the ledger, the logs, name lookups, files, and connections that are being closed.
RESERVED_FILES = 96


class WebServer:
    """Serves the exporter's endpoints.

    `__init__` binds the address, so that a second daemon with this address fails before it polls.

    Args:
        host: the address to listen on; empty for all addresses of the machine.
        port: 0 for a free one.
        config_file: the web configuration file; None for plain HTTP without passwords.

    Raises:
        ListenError: the address cannot be used.
        ConfigurationError: the web configuration file cannot be used.
    """

    def __init__(self, host: str, port: int, config_file: Path | None, executors: Executors = one_thread) -> None:
        self._host = host
        self._config_file = config_file
        self._config = WebConfig() if config_file is None else load_web_config(config_file)
        self._passwords, self._files = executors("passwords"), executors("web files")
        settings = self._config.tls_server_config
        self._tls = None if settings is None else ServerTls(settings, self._files)
        self._socket = bind(host, port)
        self._connections = Connections()
        self._server: LoopServer | None = None
        self._access: AccessControl | None = None

    @property
    def port(self) -> int:
        """The port on which the server listens, also if the operating system has chosen it."""
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The server's URL, without the route prefix."""
        # In a URL, the `%` before the zone of an IPv6 address is encoded.
        host = (self._host or "localhost").replace("%", "%25")
        scheme = "http" if self._config.tls_server_config is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    def limit_clients(self, outgoing: int) -> None:
        """Limit the connections of clients: `outgoing` file descriptors for calls, and `RESERVED_FILES`, stay free.

        If fewer than `LEAST_CONNECTIONS` connections are left for clients, a warning is logged.
        """
        files = file_limit()
        for_clients = files - RESERVED_FILES - outgoing
        if for_clients < LEAST_CONNECTIONS:
            needed = LEAST_CONNECTIONS + RESERVED_FILES + outgoing
            logger().warning("the limit of open files is low, raise it (ulimit -n)", limit=files, needed=needed)
        self._connections.set_limit(for_clients)

    def start(self, app: ASGIApp, route_prefix: str = "/", ready: Ready = NOTHING_READY) -> None:
        """Begin to serve an application; requests that `ready` answers do not reach the application."""
        access = AccessControl(app, self._config, self._passwords, route_prefix=route_prefix)
        _warn_of_ignored_keys(self._config)
        self._access = access
        self._server = LoopServer(
            self._socket,
            access,
            self._connections,
            lambda: None if self._tls is None else self._tls.next_context(),
            # Ready answers bypass access control, so they are for servers without users and headers.
            lambda scope: ready(scope) if access.is_open else None,
        )
        self._server.start()

    async def reload(self) -> None:
        """Reload the web configuration file, if there is one; TLS stays on or off. Before `start`, nothing happens.

        Raises:
            ConfigurationError: this file or a TLS file cannot be used; the former configuration stays in force.
        """
        if self._config_file is None or self._access is None:
            return
        # The file may be on a disk that hangs.
        config = await blocking(self._files, load_web_config, self._config_file)
        settings = config.tls_server_config
        if settings is not None and self._tls is not None:
            self._tls = await blocking(self._files, ServerTls, settings, self._files)
        elif settings is not None or self._tls is not None:
            logger().warning("only a restart switches TLS on or off")
        self._access.replace(config)
        _warn_of_ignored_keys(config)

    async def stop(self) -> None:
        """Stop serving, and close the socket; answers under way may take a second."""
        if self._server is not None:
            await self._server.stop()
        else:
            self._socket.close()


def _warn_of_ignored_keys(config: WebConfig) -> None:
    tls = config.tls_server_config
    # No warning for `http2` and `prefer_server_cipher_suites`: without them, clients are protected just as well.
    ignored = {
        "rate_limit": config.rate_limit,
        "tls_server_config.curve_preferences": tls is not None and tls.curve_preferences,
    }
    for key, is_set in ignored.items():
        if is_set:
            logger().warning("a key of the web configuration has no effect", key=key)
