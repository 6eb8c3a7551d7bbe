"""Counts the open connections, and closes connections that wait for their clients, the oldest first."""

import resource
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

# The limit of connections is between these two, however many file descriptors the process may have.
LEAST_CONNECTIONS, MOST_CONNECTIONS = 16, 512


def raise_file_limit() -> None:
    """Raise the soft limit of open files to the hard limit; nothing happens if the system refuses."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def file_limit() -> int:
    """Return how many files and sockets this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft


class Connections:
    """The open connections, oldest first; `limit` is how many may be open."""

    def __init__(self, limit: int = LEAST_CONNECTIONS) -> None:
        self.limit = limit
        # Connection → its functions `waits` and `abort`.
        self._open: dict[object, tuple[Callable[[], bool], Callable[[], object]]] = {}

    def set_limit(self, files: int) -> None:
        """Set the limit to `files`, the number of file descriptors that are left for connections.

        The limit is at least `LEAST_CONNECTIONS`, and at most `MOST_CONNECTIONS`.
        """
        self.limit = max(LEAST_CONNECTIONS, min(MOST_CONNECTIONS, files))

    def add(self, connection: object, waits: Callable[[], bool], abort: Callable[[], object]) -> None:
        """Add a connection, or replace its functions.

        `waits` returns whether the client has to act, and `abort` closes the connection.
        """
        self._open[connection] = waits, abort

    def remove(self, connection: object) -> None:
        """Remove a connection that has ended; `close_waiting` may have removed the connection before."""
        self._open.pop(connection, None)

    @property
    def excess(self) -> int:
        """How many connections have to end before another may be opened; 0 or less if there is room."""
        return len(self._open) + 1 - self.limit

    def close_waiting(self, most: int) -> None:
        """Close up to `most` connections that wait for their clients, the oldest first."""
        waiting = (connection for connection, (waits, _) in self._open.items() if waits())
        for connection in list(islice(waiting, most)):
            _, abort = self._open.pop(connection)
            abort()
