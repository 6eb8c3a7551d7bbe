"""The clocks, threads, connections, storage and server of the daemon, in one value that tests replace."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.blocking import Executors
from exporter.settings.service import WebSettings
from exporter.web.server import WebServer
from exporter.wiring.clients import ClientMachine
from exporter.wiring.state_storage import OpenStorage, unshared_storage


def _listen(web: WebSettings, executors: Executors) -> WebServer:
    return WebServer(web.listen.host, web.listen.port, web.config_file, executors)


@dataclass(frozen=True, slots=True)
class Machine(ClientMachine):
    """What tests replace: the clocks, random numbers, threads and connections of clients, the storage, and the server.

    Attributes:
        open_storage: creates the storage of a state that is not in a database.
        listen: creates the web server, and listens on the address in the settings.
    """

    open_storage: OpenStorage = unshared_storage
    listen: Callable[[WebSettings, Executors], WebServer] = _listen


REAL = Machine()
