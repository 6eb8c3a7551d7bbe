"""The state database: packed rows and leases in PostgreSQL, shared by all exporters of an installation.

Statements run in short transactions of three round trips, with timeouts shorter than a lease. Sessions have no state,
so that a transaction pooler can be used.
"""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from sys import intern
from typing import Any, LiteralString, NamedTuple, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from exporter.counters.rows import StateRow, columns, whole_text
from exporter.counters.storage import StorageError
from exporter.platform.http.mask import is_secret_name, without_secrets
from exporter.targets.target import PollKey

SCHEMA_VERSION = 2
# "edge" in ASCII: the advisory lock for changes of the schema and for claims of leases.
LOCK = 0x65646765
# More rows than this are written in several transactions, so that each of them is shorter than a lease.
_LARGEST_COMMIT = 5000
_SHORTEST_CONNECT_SECONDS = 2
_READ_SECONDS = 120.0

R = TypeVar("R")
# Key → the row's shard, and the row; None deletes it.
Rows = Mapping[PollKey, tuple[int, StateRow | None]]


class Group(NamedTuple):
    """A process, and the exporters with which it shares rows.

    Attributes:
        installation: the common name of the exporters that share their rows.
        shards: the number of shards.
        holder: the unique name of this process.
    """

    installation: str
    shards: int
    holder: str


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection with a time limit for each answer.

    A proxy may keep a connection open although its other end is gone; no timeout of TCP detects that.

    Attributes:
        patience: the longest wait for an answer, in seconds.
    """

    patience = _READ_SECONDS

    def wait(self, gen: Generator[Any, Any, R], *args: Any, **kwargs: Any) -> R:  # noqa: ANN401 - the library's own
        """Wait for an answer.

        Raises:
            psycopg.OperationalError: no answer came in time; the connection is closed.
        """
        return super().wait(self._limited(gen, time.monotonic() + self.patience), *args, **kwargs)

    def _limited(self, gen: Generator[Any, Any, R], until: float) -> Generator[Any, Any, R]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if time.monotonic() > until:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer within {self.patience:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            answer: R = end.value
            return answer


class StateDatabase:
    """A connection to the state database; used by one thread at a time. A lost connection is opened again.

    Args:
        url: reads the address, whose password may change; raises StorageError if it cannot be read.
        lease: a lease's length in seconds; a writing statement is cancelled after two thirds of it.
        took: called with the name and the duration of each operation, in seconds.

    Raises:
        StorageError: by all methods: the database cannot be used. The message does not contain the password.
    """

    def __init__(
        self, url: Callable[[], str], lease: float, took: Callable[[str, float], None] = lambda _name, _seconds: None
    ) -> None:
        self.lease = lease
        self._url = url
        self._took = took
        self._secrets: tuple[str, ...] = ()
        self._connection: Connection | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def prepare(self) -> None:
        """Create the tables, or update those of an older version to this schema."""
        version = self._version()
        with self.transaction("check", self.lease) as connection:
            is_current = version == SCHEMA_VERSION and connection.execute(_HAS_CONFIGURATION).fetchone() is not None
        # A role without the right to create tables can use existing ones.
        if not is_current:
            with self.transaction("migrate", _READ_SECONDS) as connection:
                _migrate(connection)

    def check(self) -> None:
        """Find out whether the database can be used, without changing anything."""
        if not self._version():
            with self.transaction("check", self.lease) as connection:
                row = connection.execute("SELECT has_schema_privilege(current_schema(), 'CREATE')").fetchone()
            if row is None or not row[0]:
                raise StorageError("the role may create no table in the schema; expected a role with that right")

    def _version(self) -> int:
        with self.transaction("check", self.lease) as connection:
            found = connection.execute("SELECT to_regclass('edge_exporter_schema') IS NOT NULL").fetchone()
            version = _schema_version(connection) if found is not None and found[0] else 0
        if version > SCHEMA_VERSION:
            raise StorageError(f"its schema is {version}, of a newer exporter; this one reads up to {SCHEMA_VERSION}")
        return version

    def rows(self, group: Group, shards: Collection[int]) -> dict[PollKey, StateRow]:
        """Return the rows of some shards. Rows written for another number of shards are included, as they may match."""
        return self._read(_OF_SHARDS, {**group._asdict(), "held_shards": list(shards)}, _READ_SECONDS)

    def row(self, installation: str, key: PollKey) -> StateRow | None:
        """Return one target's row; None if there is none."""
        values = dict(zip(_KEY, _texts(key), strict=True))
        return self._read(_OF_TARGET, {"installation": installation, **values}, self.lease).get(key)

    def _read(self, condition: LiteralString, values: Mapping[str, object], seconds: float) -> dict[PollKey, StateRow]:
        with self.transaction("read", seconds) as connection:
            return {
                # Thousands of rows share these three texts.
                PollKey.of(intern(collector), intern(account), intern(kind), target_id): StateRow(name, success, data)
                for collector, account, kind, target_id, name, success, data in connection.execute(
                    _READ + condition, values, binary=True
                )
            }

    def commit(self, rows: Rows, group: Group, held: Mapping[int, int]) -> frozenset[int]:
        """Write rows of shards whose leases are held, and delete those whose value is None.

        A lost connection is opened again once: writing a row twice does no harm.

        Args:
            rows: key → the row's shard, and the row; a row of None is deleted.
            group: this process.
            held: shard → epoch of its lease.

        Returns:
            The shards that another process has claimed; their rows were not written.
        """
        # All exporters lock shared rows in the same order, which prevents deadlocks.
        ordered = iter(sorted(rows.items(), key=lambda item: columns(item[0])))
        known = {**group._asdict(), "held_shards": list(held), "held_epochs": list(held.values())}
        lost = frozenset[int]()
        while part := list(islice(ordered, _LARGEST_COMMIT)):
            values = {**known, **_arrays(part)}
            was_connected = self._connection is not None
            try:
                still_held = self._commit(values)
            except StorageError:
                if not was_connected or self._connection is not None:
                    raise
                still_held = self._commit(values)
            lost |= held.keys() - still_held
        return lost

    def _commit(self, values: Mapping[str, object]) -> set[int]:
        with self.transaction("commit", self.lease) as connection:
            held = connection.execute(_COMMIT, values)
        # The result may be read only after the commit is confirmed.
        return {shard for (shard,) in held}

    @contextmanager
    def transaction(self, name: str, seconds: float) -> Iterator[Connection]:
        """Open a transaction, and commit it at the end of the block.

        Args:
            name: the operation's name, for its metric.
            seconds: the time limit of its statements.
        """
        began = time.monotonic()
        try:
            connection = self._connected()
            connection.patience = seconds
            with connection.pipeline(), connection.transaction():
                connection.execute(_GUARD, {"milliseconds": str(round(seconds * 1000 * 2 / 3))})
                yield connection
        except psycopg.Error as error:
            if self._connection is not None and self._connection.closed:
                self.close()
            # One line, without the secrets of the address, and without the original error, which could quote it.
            raise StorageError(without_secrets(" ".join(str(error).split()), self._secrets)) from None
        self._took(name, time.monotonic() - began)

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            address = _address(self._url())
            self._secrets = tuple(str(value) for name, value in address.items() if is_secret_name(name))
            connection = Connection.connect(_conninfo(address, self.lease), autocommit=True, prepare_threshold=None)
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            self._connection = connection
        return self._connection


def location_of(url: Callable[[], str]) -> str:
    """Return the name of a database for logs: its host, port and name."""
    try:
        address = _address(url())
    except StorageError:
        return "PostgreSQL"
    port = address.get("port")
    return f"postgresql://{address.get('host', '')}{f':{port}' if port else ''}/{address.get('dbname', '')}"


def _address(url: str) -> Mapping[str, Any]:
    try:
        return conninfo_to_dict(url)
    except psycopg.Error:
        # The error may quote any part of an address that cannot be parsed.
        raise StorageError("its address is not understood") from None


def _conninfo(address: Mapping[str, Any], lease: float) -> str:
    third = lease / 3
    more: dict[str, Any] = {
        **address,
        "connect_timeout": max(_SHORTEST_CONNECT_SECONDS, int(third)),
        # A connection whose other end disappears is detected before the lease ends.
        "tcp_user_timeout": int(third * 1000),
        "keepalives": 1,
        "keepalives_idle": max(1, int(third / 2)),
        "keepalives_interval": 1,
        "keepalives_count": 2,
        "client_encoding": "UTF8",
        "application_name": "edge-exporter",
    }
    return make_conninfo("", **more)


def _schema_version(connection: Connection) -> int:
    row = connection.execute("SELECT version FROM edge_exporter_schema").fetchone()
    return 0 if row is None else int(row[0])


def _migrate(connection: Connection) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
    connection.execute("CREATE TABLE IF NOT EXISTS edge_exporter_schema (version integer NOT NULL)")
    version = _schema_version(connection)
    for step in _MIGRATIONS[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(_ADD_CONFIGURATION)
    connection.execute("DELETE FROM edge_exporter_schema")
    connection.execute("INSERT INTO edge_exporter_schema VALUES (%s)", (SCHEMA_VERSION,))


def _arrays(rows: Sequence[tuple[PollKey, tuple[int, StateRow | None]]]) -> dict[str, object]:
    """Return rows as arrays, one for each column: the rows to write, and the keys of those to delete."""
    # A text that PostgreSQL cannot store is changed, and may then equal the key of another row.
    kept = {_texts(key): (shard, row) for key, (shard, row) in rows if row is not None}
    deleted = [_texts(key) for key, (_, row) in rows if row is None]
    return {
        **{name: [texts[place] for texts in kept] for place, name in enumerate(_KEY)},
        **{f"deleted_{name}": [texts[place] for texts in deleted] for place, name in enumerate(_KEY)},
        "shard": [shard for shard, _ in kept.values()],
        "name": [_text(row.name) for _, row in kept.values()],
        "success": [row.success for _, row in kept.values()],
        "data": [row.data for _, row in kept.values()],
    }


def _texts(key: PollKey) -> tuple[str, ...]:
    return tuple(map(_text, columns(key)))


def _text(text: str) -> str:
    # PostgreSQL cannot store a zero character in a text.
    return whole_text(text).replace("\0", "?")


_KEY = ("collector", "account", "kind", "id")

# The database's own settings may confirm a commit before it is on disk, or never time out; each transaction overrides
# them.
_GUARD = """
    SELECT set_config('statement_timeout', %(milliseconds)s, true),
           set_config('lock_timeout', %(milliseconds)s, true),
           set_config('idle_in_transaction_session_timeout', %(milliseconds)s, true),
           set_config('synchronous_commit', CASE
               WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on'
               ELSE current_setting('synchronous_commit') END, true)
"""

_READ = """
    SELECT collector, account, kind, id, name, success, data FROM edge_exporter_row
    WHERE installation = %(installation)s
"""
# Rows of an account, such as its platform's time, are used by every shard.
_OF_SHARDS = "AND (shards <> %(shards)s OR shard = ANY(%(held_shards)s::integer[]) OR kind = 'account')"
_OF_TARGET = "AND (collector, account, kind, id) = (%(collector)s, %(account)s, %(kind)s, %(id)s)"

# The rows of leases are locked until the commit, so that a claim waits for it and then finds the written rows.
_COMMIT = """
    WITH held AS MATERIALIZED (
        SELECT lease.shard FROM edge_exporter_lease AS lease
        JOIN unnest(%(held_shards)s::integer[], %(held_epochs)s::bigint[]) AS mine (shard, epoch)
          ON lease.shard = mine.shard AND lease.epoch = mine.epoch
        WHERE lease.installation = %(installation)s AND lease.holder = %(holder)s
        FOR SHARE OF lease
    ), deleted AS (
        DELETE FROM edge_exporter_row AS old
        USING unnest(
            %(deleted_collector)b::text[], %(deleted_account)b::text[], %(deleted_kind)b::text[], %(deleted_id)b::text[]
        ) AS gone (collector, account, kind, id)
        WHERE old.installation = %(installation)s
          AND (old.collector, old.account, old.kind, old.id) = (gone.collector, gone.account, gone.kind, gone.id)
          AND (old.shard IN (SELECT shard FROM held) OR old.shards <> %(shards)s AND EXISTS (SELECT FROM held))
    ), written AS (
        INSERT INTO edge_exporter_row (
            installation, collector, account, kind, id, shard, shards, name, success, data
        )
        SELECT %(installation)s, collector, account, kind, id, shard, %(shards)s, name, success, data
        FROM unnest(
            %(collector)b::text[], %(account)b::text[], %(kind)b::text[], %(id)b::text[], %(shard)b::integer[],
            %(name)b::text[], %(success)b::float8[], %(data)b::bytea[]
        ) AS polled (collector, account, kind, id, shard, name, success, data)
        WHERE shard IN (SELECT shard FROM held)
        ON CONFLICT (installation, collector, account, kind, id) DO UPDATE
        SET shard = excluded.shard, shards = excluded.shards, name = excluded.name, success = excluded.success,
            data = excluded.data
    )
    SELECT shard FROM held
"""

# The version before refuses a newer schema, but it can use a table with one more column.
_HAS_CONFIGURATION = """
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('edge_exporter_member') AND attname = 'configuration'
"""
_ADD_CONFIGURATION = "ALTER TABLE edge_exporter_member ADD COLUMN IF NOT EXISTS configuration jsonb"

# Entry n changes schema n to n + 1.
_MIGRATIONS: tuple[tuple[LiteralString, ...], ...] = (
    (
        """
        CREATE TABLE edge_exporter_lease (
            installation text NOT NULL, shard integer NOT NULL, shards integer NOT NULL, epoch bigint NOT NULL,
            holder text NOT NULL, expires timestamptz NOT NULL,
            PRIMARY KEY (installation, shard)
        )
        """,
        """
        CREATE TABLE edge_exporter_row (
            installation text NOT NULL, collector text NOT NULL, account text NOT NULL, kind text NOT NULL,
            id text NOT NULL, shard integer NOT NULL, shards integer NOT NULL,
            name text NOT NULL, success double precision NOT NULL, data bytea NOT NULL,
            PRIMARY KEY (installation, collector, account, kind, id)
        )
        """,
    ),
    (
        """
        CREATE TABLE edge_exporter_member (
            installation text NOT NULL, holder text NOT NULL, shards integer NOT NULL, expires timestamptz NOT NULL,
            PRIMARY KEY (installation, holder)
        )
        """,
    ),
)
