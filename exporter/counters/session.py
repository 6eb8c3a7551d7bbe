"""One session of the state database: the locks that it holds last exactly as long as the server keeps it.

The session's own limits let the server end it when its process is dead, cut off or suspended. Statements are sent one
by one: within a pipeline none of these limits would count.
"""

import asyncio
import select
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, LiteralString, NamedTuple, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.waiting import wait_async

from exporter.counters import schema
from exporter.counters.storage import StorageError
from exporter.platform.http.mask import is_secret_name, without_secrets

LEAST_VERSION = 140000
# The session is not relied on for the last part of a lease, because clocks differ.
_RELIABLE = 0.8
_SHORTEST_CONNECT_SECONDS = 2
_POOLER = (
    "statements run in different sessions of the server, as behind a pooler in transaction mode; expected the database "
    "itself, or a pooler in session mode"
)

R = TypeVar("R")


class PoolerError(StorageError):
    """A statement was answered by another session of the server than the one before."""


class Backend(NamedTuple):
    """The server's process of a session: its id, and when it began."""

    pid: int
    began: datetime


@dataclass(frozen=True, slots=True)
class Locks:
    """The locks of all exporters of an installation.

    Attributes:
        shards: shard → the process id of the session that holds it.
        totals: the numbers of shards that exporters are configured with → the process ids of their sessions.
    """

    shards: Mapping[int, int]
    totals: Mapping[int, frozenset[int]]


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
        backend: the server's process of the session.
        answered: when the last answered statement was sent, by `clock`.
        counts_shards: whether it has the shared lock of the number of shards.
        holds_shard: whether it has the lock of a shard.
        number: the number of the session, since it has read the shard's rows; 0 before.

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
        self.answered = 0.0
        self.counts_shards = self.holds_shard = False
        self.number = 0
        self.backend = Backend(0, datetime.min.replace(tzinfo=UTC))

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
        ((pid, began),) = await session.ask(_SET, {"names": list(names), "values": list(values)})
        session.backend = Backend(pid, began)
        return session

    def close(self) -> None:
        """End the session, and with it its locks."""
        self._connection.pgconn.finish()

    @property
    def is_closed(self) -> bool:
        """Whether the session is over."""
        return self._connection.closed

    def is_certain(self) -> bool:
        """Return whether the server certainly still keeps the session: asked for in each request for counters."""
        if self.is_closed or self._clock() >= self.answered + self._lease * _RELIABLE:
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

    async def locks(self, installation: str) -> Locks:
        """Return who holds which lock; raises PoolerError if another session answers than the one that began."""
        of_shards, of_totals = classes(installation)
        found = await self.ask(_LOCKS, {"classes": [of_shards, of_totals]})
        pid, began, *_ = found[0]
        if Backend(pid, began) != self.backend:
            self.close()
            raise PoolerError(_POOLER)
        shards: dict[int, int] = {}
        totals: dict[int, frozenset[int]] = {}
        for *_, kind, number, holder in found:
            if kind == of_shards:
                shards[number] = holder
            # Number 0 is the lock under which one exporter at a time looks for a shard.
            elif kind == of_totals and number != 0:
                totals[number] = totals.get(number, frozenset()) | {holder}
        return Locks(shards, totals)

    async def prepare_schema(self) -> None:
        """Create the tables, or update those of an older version; a role that may not create any can use theirs."""
        if await self.schema_version() < schema.SCHEMA_VERSION:
            await self.ask("BEGIN")
            await self.ask("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": schema.MIGRATION_LOCK})
            for statement in schema.MIGRATION:
                await self.ask(statement)
            await self.ask(schema.SET_VERSION, {"version": schema.SCHEMA_VERSION})
            await self.ask("COMMIT")

    async def schema_version(self) -> int:
        """Return the version of the tables; 0 if there are none."""
        ((has_tables,),) = await self.ask(schema.HAS_SCHEMA)
        found = await self.ask(schema.VERSION) if has_tables else []
        version = int(found[0][0]) if found else 0
        if version > schema.SCHEMA_VERSION:
            newest = schema.SCHEMA_VERSION
            self.close()
            raise StorageError(f"its schema is {version}, of a newer exporter; this one reads up to {newest}")
        return version


def classes(installation: str) -> tuple[int, int]:
    """Return the classes of an installation's advisory locks: that of its shards, and that of their total numbers."""
    digest = blake2b(installation.encode(), digest_size=8).digest()
    # Positive numbers have the same form in pg_locks as in the functions.
    return int.from_bytes(digest[:4]) >> 1, int.from_bytes(digest[4:]) >> 1


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

    A session that is idle, in a transaction or not, ends after the lease; so does one whose answer nobody takes. A
    statement ends before the lease, so that it does not wait for a lock for longer than its holder counts on.
    """
    whole, third = str(int(lease * 1000)), str(int(lease * 1000 / 3))
    return {
        "idle_session_timeout": whole,
        "idle_in_transaction_session_timeout": whole,
        "statement_timeout": str(int(lease * 1000 * 2 / 3)),
        "lock_timeout": third,
        "tcp_user_timeout": whole,
        "tcp_keepalives_idle": str(max(1, int(lease / 3))),
        "tcp_keepalives_interval": "1",
        "tcp_keepalives_count": str(max(1, int(lease * 2 / 3))),
        "client_connection_check_interval": third,
    }


def _line(error: Exception, secrets: tuple[str, ...]) -> str:
    """Return an error on one line, without the secrets of the address."""
    return without_secrets(" ".join(str(error).split()) or repr(error), secrets)


# The database's own setting may confirm a commit before it is on disk.
_SET = """
    SELECT pid, backend_start FROM (
        SELECT count(set_config(name, value, false)), set_config('synchronous_commit', CASE
            WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on'
            ELSE current_setting('synchronous_commit') END, false)
        FROM unnest(%(names)s::text[], %(values)s::text[]) AS given (name, value)
    ) AS done, pg_stat_get_activity(pg_backend_pid())
"""
_LOCKS = """
    SELECT own.pid, own.backend_start, held.kind, held.number, held.pid
    FROM pg_stat_get_activity(pg_backend_pid()) AS own
    LEFT JOIN (
        SELECT classid::bigint AS kind, objid::bigint AS number, pid FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND classid::bigint = ANY(%(classes)s::bigint[])
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS held ON true
"""
