"""What the daemon uses of its machine, in one value that a simulation replaces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from starlette.types import ASGIApp

from exporter.blocking import Executors
from exporter.http_server.protocol import NOTHING_READY, Ready
from exporter.settings.service import WebSettings
from exporter.web.server import WebServer
from exporter.wiring.clients import ClientMachine
from exporter.wiring.state_storage import OpenStorage, own_storage


class Server(Protocol):
    """Serves the daemon's application, as `exporter.web.server.WebServer` does."""

    @property
    def url(self) -> str:
        """The server's URL, without the route prefix."""

    def leave_room(self, outgoing: int) -> None:
        """Reserve file descriptors for this number of outgoing connections."""

    async def start(self, app: ASGIApp, route_prefix: str = "/", ready: Ready = NOTHING_READY) -> None:
        """Serve an application, and the answers that are ready."""

    async def reload(self) -> None:
        """Apply changes of the server's own configuration, such as its certificate."""

    async def stop(self) -> None:
        """Stop serving."""


def _listen(web: WebSettings, executors: Executors) -> WebServer:
    return WebServer(web.listen.host, web.listen.port, web.config_file, executors)


@dataclass(frozen=True, slots=True)
class Machine(ClientMachine):
    """What the daemon uses of its machine: what its clients use, a file for the state, and a server.

    Attributes:
        open_storage: creates the storage of a state that no other process shares.
        listen: creates the server of the application, which listens on its address.
    """

    open_storage: OpenStorage = own_storage
    listen: Callable[[WebSettings, Executors], Server] = _listen


REAL = Machine()
