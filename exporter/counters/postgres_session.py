"""One session of the state database. The server releases the session's locks when the session ends.

The session has time limits, so that the server ends the session if this process is dead, cut off or suspended.
Statements are sent one by one, because the limits do not apply within a pipeline.
"""

import asyncio
import select
from collections.abc import Callable, Generator, Mapping
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.waiting import wait_async

from exporter.counters.storage import StorageError

LEAST_VERSION = 140000
# The part of a lease for which this process relies on the session. The rest allows for clocks that run differently.
_RELIABLE = 0.8
# PostgreSQL's client library allows no shorter time limit for connecting.
_SHORTEST_CONNECT_SECONDS = 2

R = TypeVar("R")


class Session(psycopg.AsyncConnection[tuple[Any, ...]]):
    """A connection to the state database. `begin` makes a connection; one task at a time may use it.

    Attributes:
        token: the random name of the session on the server. Behind a pooler, a session with another name may answer.
        alive_at: when the last answered statement was sent, in seconds of `clock`.
        reliable_seconds: for how many seconds after `alive_at` this process relies on the session.
        is_holder: whether the session has locked the shard of this process.
        has_read: whether the rows of the shard were read in this session.
        clock: returns monotonic seconds that include the time of a suspension, as `boot_seconds`.
    """

    token = ""
    alive_at = 0.0
    is_holder = False
    has_read = False
    reliable_seconds = 0.0
    _is_asking = False
    clock: Callable[[], float]

    @classmethod
    async def begin(cls, url: str, lease: float, clock: Callable[[], float], *, writes: bool = True) -> "Session":
        """Connect, and set time limits: the server ends the session after `lease` seconds without a statement.

        If the session `writes`, a database that is read-only is refused, and the next host of the address is tried.

        Raises:
            StorageError: the connection fails, or the server is not suitable. The message contains no password.
        """
        parameters: dict[str, str | int] = {
            "connect_timeout": max(_SHORTEST_CONNECT_SECONDS, int(lease / 3)),
            "client_encoding": "UTF8",
            "application_name": "edge-exporter",
        }
        if writes:
            # The locks of a standby are not those of its primary: each would give every shard to an exporter.
            parameters["target_session_attrs"] = "read-write"
        try:
            address = make_conninfo(url, **parameters)
        except psycopg.Error:
            # The error may quote the password, or another part of the address.
            raise StorageError("the address of the database is not understood") from None
        try:
            # Prepared statements may fail behind a pooler in transaction mode, with a less clear error than `_POOLER`.
            session = await cls.connect(address, autocommit=True, prepare_threshold=None)
        except (psycopg.Error, OSError, UnicodeError) as error:  # UnicodeError: the host has an invalid name
            raise StorageError(_one_line(error)) from None
        session.clock, session.reliable_seconds = clock, lease * _RELIABLE
        if problem := _why_unfit(session):
            session.end()
            raise StorageError(problem)
        limits = _session_settings(lease)
        ((_, session.token),) = await session.ask(_SET, {"names": list(limits), "values": list(limits.values())})
        return session

    def end(self) -> None:
        """End the session. The server then releases the locks of the session."""
        self.pgconn.finish()

    def is_certain(self) -> bool:
        """Return whether the session certainly exists on the server."""
        if self.closed or self.clock() >= self.alive_at + self.reliable_seconds:
            return False
        if self._is_asking:
            return True
        # If the server sends something without a statement, it has most likely ended the session.
        incoming = select.poll()
        incoming.register(self.pgconn.socket, select.POLLIN)
        return not incoming.poll(0)

    async def ask(self, statement: LiteralString, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """Execute a statement, and return the rows of the result.

        Raises:
            StorageError: the statement failed, and the rows must be read again. The session has ended, unless it holds
                a shard and the database refused the statement. The message contains no password.
        """
        sent = self.clock()
        self._is_asking = True
        try:
            cursor = await self.execute(statement, values, binary=True)
            rows = await cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            # A holder keeps its shard while the database refuses to write: otherwise a spare would poll as well. But a
            # missing table or right (class 42) needs a new session, perhaps with another role, or another exporter.
            # Other sessions may have locked a shard unknowingly.
            is_refusal = error.sqlstate is not None and not error.sqlstate.startswith("42")
            if self.is_holder and is_refusal:
                self.has_read, self.alive_at = False, sent
            else:
                self.end()
            raise StorageError(_one_line(error)) from None
        finally:
            self._is_asking = False
        self.alive_at = sent
        return rows

    def require_same_session(self, *, is_same: bool) -> None:
        """Unless this session executed the last statement (`is_same`), end this session, and raise StorageError."""
        if not is_same:
            self.end()
            raise StorageError(_POOLER)

    async def wait(self, gen: Generator[Any, Any, R], *_: Any, **__: Any) -> R:  # noqa: ANN401 - as in the library
        """Wait for an answer. After `reliable_seconds` without one, end the session: a proxy may hide a lost server."""
        try:
            async with asyncio.timeout(self.reliable_seconds):
                return await wait_async(gen, self.pgconn.socket)
        except TimeoutError:
            self.end()
            raise psycopg.OperationalError(f"no answer within {self.reliable_seconds:g} s") from None
        except asyncio.CancelledError:
            self.end()
            raise


def _why_unfit(session: Session) -> str:
    if session.info.server_version < LEAST_VERSION:
        return f"the database is a PostgreSQL {session.info.server_version // 10000}; expected version 14 or newer"
    encoding = session.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        return f"the encoding of the database is {encoding}, which cannot store every name; expected UTF8"
    if session.pgconn.host.startswith((b"/", b"@")):
        return "a Unix socket is used, where the server does not notice a lost exporter; expected a host, over TCP"
    return ""


def _session_settings(lease: float) -> dict[str, str]:
    """Return the settings of the session on the server, which need no privileges.

    With these settings, the server ends a session that sends no statement, or does not receive an answer, for
    `lease` seconds. The server cancels a slow statement so early that the ledger tries again before this process no
    longer relies on the session (`reliable_seconds`).
    """
    lease_ms = str(int(lease * 1000))
    return {
        "idle_session_timeout": lease_ms,
        "statement_timeout": str(int(lease * 1000 / 2)),
        "tcp_user_timeout": lease_ms,
        # After a third of the lease without data, the server sends a probe, and repeats it once a second until it is
        # answered. If there is no answer, the session ends after a lease without data.
        "tcp_keepalives_idle": str(max(1, int(lease / 3))),
        "tcp_keepalives_interval": "1",
        "tcp_keepalives_count": str(max(1, int(lease * 2 / 3))),
        # During a statement, the server checks after every third of the lease whether this process is still connected.
        "client_connection_check_interval": str(int(lease * 1000 / 3)),
        # The default of the database may be `off`: then a commit is confirmed before the commit is on disk.
        "synchronous_commit": "on",
    }


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or repr(error)


_POOLER = (
    "statements run in different sessions of the server, as behind a pooler in transaction mode; expected the database "
    "itself, or a pooler in session mode"
)
# `count` joins the rows of the settings to one row, so that the name of the session is set once.
_SET = """
    SELECT count(set_config(name, value, false)), set_config('edge_exporter.session', gen_random_uuid()::text, false)
    FROM unnest(%(names)s::text[], %(values)s::text[]) AS given (name, value)
"""
