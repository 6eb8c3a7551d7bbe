"""One session of the state database: the locks that it holds last exactly as long as the server keeps it.

The session's own limits let the server end it when its process is dead, cut off or suspended. Statements are sent one
by one: within a pipeline none of these limits would count.
"""

import asyncio
import select
from collections.abc import Callable, Generator, Mapping
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.waiting import wait_async

from exporter.counters.storage import StorageError
from exporter.platform.http.mask import is_secret_name, without_secrets

LEAST_VERSION = 140000
# The session is not relied on for the last part of a lease, because clocks differ.
_RELIABLE = 0.8
_SHORTEST_CONNECT_SECONDS = 2

R = TypeVar("R")


class _Connection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """A connection with a time limit for each answer: a proxy may keep it open although its other end is gone."""

    patience = 0.0

    async def wait(self, gen: Generator[Any, Any, R], *_: Any, **__: Any) -> R:  # noqa: ANN401 - the library's own
        """Wait for an answer; raises psycopg.OperationalError, with the connection closed, if none comes in time."""
        try:
            async with asyncio.timeout(self.patience):
                return await wait_async(gen, self.pgconn.socket)
        except TimeoutError:
            self.pgconn.finish()
            raise psycopg.OperationalError(f"no answer within {self.patience:g} s") from None
        except asyncio.CancelledError:
            self.pgconn.finish()
            raise


class Session:
    """A connection to the state database, used by one task.

    Attributes:
        token: the session's name, which its server's process has, too: behind a pooler, another one may answer.
        answered: when the last answered statement was sent, by `clock`.

    Raises:
        StorageError: by all methods: the session is lost, and closed. The message does not contain the password.
    """

    def __init__(
        self, connection: _Connection, secrets: tuple[str, ...], lease: float, clock: Callable[[], float]
    ) -> None:
        self._connection = connection
        self._secrets = secrets
        self._lease = lease
        self._clock = clock
        self._is_asking = False
        self.token = ""
        self.answered = 0.0

    @classmethod
    async def open(cls, url: str, lease: float, clock: Callable[[], float]) -> "Session":
        """Connect, and set the session's limits.

        Args:
            url: the database's address.
            lease: seconds after which the server ends a session that is silent.
            clock: seconds that never jump, and that include the time of a suspension.
        """
        address = _address(url)
        secrets = tuple(str(value) for name, value in address.items() if is_secret_name(name))
        try:
            connection = await _Connection.connect(
                make_conninfo("", **address, **_client_settings(lease)), autocommit=True, prepare_threshold=None
            )
        except (psycopg.Error, OSError) as error:
            raise StorageError(_line(error, secrets)) from None
        session = cls(connection, secrets, lease, clock)
        connection.patience = lease * _RELIABLE
        if problem := _unfit(connection):
            session.close()
            raise StorageError(problem)
        names, values = zip(*_server_settings(lease).items(), strict=True)
        ((_, session.token),) = await session.ask(_SET, {"names": list(names), "values": list(values)})
        return session

    def close(self) -> None:
        """End the session, and with it its locks."""
        self._connection.pgconn.finish()

    def is_certain(self) -> bool:
        """Return whether the server certainly still keeps the session: asked for in each request for counters."""
        if self._connection.closed or self._clock() >= self.answered + self._lease * _RELIABLE:
            return False
        # While no statement is under way, what comes is the end of the session.
        if self._is_asking:
            return True
        coming = select.poll()
        coming.register(self._connection.pgconn.socket, select.POLLIN)
        return not coming.poll(0)

    async def ask(self, statement: LiteralString, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Carry out a statement, and return its rows."""
        sent, self._is_asking = self._clock(), True
        try:
            cursor = await self._connection.execute(statement, values, binary=True)
            rows = await cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            # Whatever failed: only a new session knows which locks it holds.
            self.close()
            raise StorageError(_line(error, self._secrets)) from None
        finally:
            self._is_asking = False
        self.answered = sent
        return rows


def location_of(url: str) -> str:
    """Return the name of a database for logs: its host, port and name; raises StorageError if there are none."""
    address = _address(url)
    port = address.get("port")
    return f"postgresql://{address.get('host', '')}{f':{port}' if port else ''}/{address.get('dbname', '')}"


def _address(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except psycopg.Error:
        # The error may quote any part of an address that cannot be parsed.
        raise StorageError("its address is not understood") from None


def _unfit(connection: _Connection) -> str:
    """Return why a server cannot keep the state; empty if it can."""
    if connection.info.server_version < LEAST_VERSION:
        version = connection.info.server_version // 10000
        return f"it is a PostgreSQL {version}; expected version 14 or newer"
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        return f"its encoding is {encoding}, which cannot store every name; expected UTF8"
    if connection.pgconn.host.startswith((b"/", b"@")):
        return "it is reached over a Unix socket, where the server notices no lost exporter; expected a host, over TCP"
    return ""


def _client_settings(lease: float) -> dict[str, str | int]:
    return {
        "connect_timeout": max(_SHORTEST_CONNECT_SECONDS, int(lease / 3)),
        "tcp_user_timeout": int(lease * 1000),
        "keepalives": 1,
        "keepalives_idle": max(1, int(lease / 3)),
        "keepalives_interval": 1,
        "keepalives_count": 2,
        "client_encoding": "UTF8",
        "application_name": "edge-exporter",
    }


def _server_settings(lease: float) -> dict[str, str]:
    """Return the limits of the session on the server, which an ordinary role may set; none is shorter than the lease.

    A session that is idle ends after the lease; so does one whose answer nobody takes. A statement ends before the
    lease, so that it does not wait for a lock for longer than its holder counts on.
    """
    whole, third = str(int(lease * 1000)), str(int(lease * 1000 / 3))
    return {
        "idle_session_timeout": whole,
        "statement_timeout": str(int(lease * 1000 * 2 / 3)),
        "lock_timeout": third,
        "tcp_user_timeout": whole,
        "tcp_keepalives_idle": str(max(1, int(lease / 3))),
        "tcp_keepalives_interval": "1",
        "tcp_keepalives_count": str(max(1, int(lease * 2 / 3))),
        "client_connection_check_interval": third,
        # The database's own setting may confirm a commit before it is on disk.
        "synchronous_commit": "on",
    }


def _line(error: Exception, secrets: tuple[str, ...]) -> str:
    """Return an error on one line, without the secrets of the address."""
    return without_secrets(" ".join(str(error).split()) or repr(error), secrets)


_SET = """
    SELECT count(set_config(name, value, false)), set_config('edge_exporter.session', gen_random_uuid()::text, false)
    FROM unnest(%(names)s::text[], %(values)s::text[]) AS given (name, value)
"""
