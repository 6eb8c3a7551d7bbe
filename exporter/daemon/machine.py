"""What the daemon uses of its machine, in one value that tests replace."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.blocking import Executors
from exporter.settings.service import WebSettings
from exporter.web.server import WebServer
from exporter.wiring.clients import ClientMachine
from exporter.wiring.state_storage import OpenStorage, own_storage


def _listen(web: WebSettings, executors: Executors) -> WebServer:
    return WebServer(web.listen.host, web.listen.port, web.config_file, executors)


@dataclass(frozen=True, slots=True)
class Machine(ClientMachine):
    """What the daemon uses of its machine: what its clients use, a storage of the state, and a server.

    Attributes:
        open_storage: creates the storage of a state that no other process shares.
        listen: creates the server of the application, which listens on its address.
    """

    open_storage: OpenStorage = own_storage
    listen: Callable[[WebSettings, Executors], WebServer] = _listen


REAL = Machine()
