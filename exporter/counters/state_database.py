"""The state database: packed rows and leases in PostgreSQL, shared by all exporters of an installation.

Statements run in short transactions, sent in one round trip, with time-outs below a lease's length. No state is kept
in a session, so that a transaction pooler may stand in between.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from sys import intern
from typing import Any, LiteralString, NamedTuple, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from exporter.counters.storage import LeaseHeldError, LeaseLostError, StorageError, Stored, columns, whole_text
from exporter.targets.target import PollKey

SCHEMA_VERSION = 1
# "edge" in ASCII: the advisory lock under which the schema is changed and leases are claimed.
_LOCK = 0x65646765
# More rows than these are written in several transactions, so that none of them takes as long as a lease.
_LARGEST_COMMIT = 5000
_SHORTEST_CONNECT_SECONDS = 2
_READ_SECONDS = 120.0

_Connection = psycopg.Connection[tuple[Any, ...]]
R = TypeVar("R")


class Claim(NamedTuple):
    """What is claimed, and by whom.

    Attributes:
        installation: the name of the exporters that share their rows.
        shard: the shard's number.
        shards: how many there are.
        holder: a name of this process that no other one has.
    """

    installation: str
    shard: int
    shards: int
    holder: str


class StateDatabase:
    """A connection to the state database; used by one thread at a time. It is made anew when it is lost.

    Args:
        url: reads the address, which may have a new password each time; raises StorageError where it cannot be read.
        lease: a lease's length in seconds; no statement waits for longer than two thirds of it.

    Raises:
        StorageError: by all methods: the database cannot be used. No message holds the password.
    """

    def __init__(self, url: Callable[[], str], lease: float) -> None:
        self._url = url
        self._lease = lease
        self._password = ""
        self._connection: _Connection | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def prepare(self) -> None:
        """Make the tables, or lead older ones to this version's schema."""
        # Without rights to create anything, an exporter can use tables that are there.
        if self._version() < SCHEMA_VERSION:
            self._run(_migrate, _READ_SECONDS)

    def check(self) -> None:
        """Find out whether it can be used, and change nothing."""
        if not self._version():
            statement = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
            row = self._run(lambda connection: connection.execute(statement).fetchone(), self._lease)
            if row is None or not row[0]:
                raise StorageError("the role may create no table in the schema; expected a role with that right")

    def _version(self) -> int:
        def read(connection: _Connection) -> int:
            found = connection.execute("SELECT to_regclass('edge_exporter_schema') IS NOT NULL").fetchone()
            return _schema_version(connection) if found is not None and found[0] else 0

        version = self._run(read, self._lease)
        if version > SCHEMA_VERSION:
            raise StorageError(f"it has schema {version} of a newer version; this one knows {SCHEMA_VERSION}")
        return version

    def claim(self, claim: Claim) -> int:
        """Claim a shard's lease, which is free, has expired, or is this process's already; returns its epoch.

        Raises:
            LeaseHeldError: another process holds it, or one of another number of shards is held.
        """

        def take(connection: _Connection) -> int:
            # Two exporters of different totals could each find that the other has none.
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            values = {**claim._asdict(), "seconds": self._lease}
            row = connection.execute(_CLAIM, values).fetchone()
            if row is None:
                raise LeaseHeldError(_holders(connection, claim))
            return int(row[0])

        return self._run(take, self._lease)

    def renew(self, claim: Claim, epoch: int) -> None:
        """Let a lease last for its whole length again.

        Raises:
            LeaseLostError: another process has claimed it.
        """
        self._of_lease(_RENEW, claim, epoch)

    def release(self, claim: Claim, epoch: int) -> None:
        """Let others claim a lease at once.

        Raises:
            LeaseLostError: another process has claimed it already.
        """
        self._of_lease(_RELEASE, claim, epoch)

    def _of_lease(self, statement: LiteralString, claim: Claim, epoch: int) -> None:
        values = {**claim._asdict(), "epoch": epoch, "seconds": self._lease}

        def change(connection: _Connection) -> bool:
            return connection.execute(statement, values).fetchone() is not None

        if not self._run(change, self._lease):
            raise LeaseLostError("another exporter has claimed the lease")

    def rows(self, claim: Claim) -> dict[PollKey, Stored]:
        """A shard's rows, and those that were written for another number of shards: they may be of its targets."""
        return self._run(lambda connection: dict(_read(connection, _OF_SHARD, claim._asdict())), _READ_SECONDS)

    def all_rows(self, installation: str) -> dict[PollKey, Stored]:
        """The rows of all shards."""
        values = {"installation": installation}
        return self._run(lambda connection: dict(_read(connection, _OF_INSTALLATION, values)), _READ_SECONDS)

    def row(self, installation: str, key: PollKey) -> Stored | None:
        """One target's row; None where there is none."""
        names = ("collector", "account", "kind", "id")
        values = {"installation": installation, **dict(zip(names, _texts(key), strict=True))}
        return self._run(lambda connection: dict(_read(connection, _OF_TARGET, values)).get(key), self._lease)

    def commit(self, rows: Mapping[PollKey, Stored | None], claim: Claim, epoch: int) -> None:
        """Write a shard's rows, and delete those that are None.

        A connection that was lost is made anew once: a row can be written twice without harm.

        Raises:
            LeaseLostError: another process has claimed the lease; nothing was written.
        """
        # All exporters lock the rows that they share in the same order.
        ordered = iter(sorted(rows.items(), key=lambda item: columns(item[0])))
        while part := list(islice(ordered, _LARGEST_COMMIT)):
            values = {**claim._asdict(), "epoch": epoch, **_arrays(part)}
            was_connected = self._connection is not None
            try:
                held = self._commit(values)
            except StorageError:
                if not was_connected or self._connection is not None:
                    raise
                held = self._commit(values)
            if not held:
                raise LeaseLostError("another exporter has claimed the lease")

    def _commit(self, values: Mapping[str, object]) -> bool:
        def write(connection: _Connection) -> psycopg.Cursor[tuple[Any, ...]]:
            return connection.execute(_COMMIT, values)

        # The answer is read once the commit is confirmed.
        row = self._run(write, self._lease).fetchone()
        return row is not None and bool(row[0])

    def _run(self, work: Callable[[_Connection], R], seconds: float) -> R:
        """Run statements in one transaction."""
        try:
            connection = self._connected()
            with connection.pipeline(), connection.transaction():
                connection.execute(_GUARD, {"milliseconds": str(round(seconds * 1000 * 2 / 3))})
                return work(connection)
        except psycopg.Error as error:
            if self._connection is not None and self._connection.closed:
                self.close()
            # The cause is left out: it could quote the address.
            raise StorageError(self._without_secret(error)) from None

    def _connected(self) -> _Connection:
        if self._connection is None or self._connection.closed:
            address = _address(self._url())
            self._password = str(address.get("password") or "")
            connection = psycopg.connect(_conninfo(address, self._lease), autocommit=True, prepare_threshold=None)
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            self._connection = connection
        return self._connection

    def _without_secret(self, error: psycopg.Error) -> str:
        """An error's message in one line, without the password that was sent."""
        message = " ".join(str(error).split())
        return message.replace(self._password, "***") if self._password else message


def location_of(url: Callable[[], str]) -> str:
    """How a database is called in logs: its host, port and name."""
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
        # The error may quote any part of an address that cannot be read.
        raise StorageError("its address is not understood") from None


def _conninfo(address: Mapping[str, Any], lease: float) -> str:
    third = lease / 3
    more: dict[str, Any] = {
        **address,
        "connect_timeout": max(_SHORTEST_CONNECT_SECONDS, int(third)),
        # A peer that is gone without a word is noticed before the lease ends.
        "tcp_user_timeout": int(third * 1000),
        "keepalives": 1,
        "keepalives_idle": max(1, int(third / 2)),
        "keepalives_interval": 1,
        "keepalives_count": 2,
        "client_encoding": "UTF8",
        "application_name": "edge-exporter",
    }
    return make_conninfo("", **more)


def _schema_version(connection: _Connection) -> int:
    row = connection.execute("SELECT version FROM edge_exporter_schema").fetchone()
    return 0 if row is None else int(row[0])


def _migrate(connection: _Connection) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    connection.execute("CREATE TABLE IF NOT EXISTS edge_exporter_schema (version integer NOT NULL)")
    version = _schema_version(connection)
    for step in _MIGRATIONS[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute("DELETE FROM edge_exporter_schema")
    connection.execute("INSERT INTO edge_exporter_schema VALUES (%s)", (SCHEMA_VERSION,))


def _holders(connection: _Connection, claim: Claim) -> str:
    row = connection.execute(_HOLDER, claim._asdict()).fetchone()
    if row is None:
        return "the lease was claimed by another exporter at the same time"
    shard, shards, holder, seconds = row
    return f"{holder} holds shard {shard} of {shards}; its lease lasts for {max(0.0, float(seconds)):.0f} s"


def _read(
    connection: _Connection, statement: LiteralString, values: Mapping[str, object]
) -> Iterator[tuple[PollKey, Stored]]:
    for collector, account, kind, target_id, name, success, data in connection.execute(statement, values, binary=True):
        # Thousands of rows share these three.
        yield PollKey.of(intern(collector), intern(account), intern(kind), target_id), Stored(name, success, data)


def _arrays(rows: Sequence[tuple[PollKey, Stored | None]]) -> dict[str, object]:
    """Rows as arrays, one a column: those that are written, and the keys of those that are deleted."""
    # A text that cannot be stored as it is may become another row's.
    kept = {_texts(key): row for key, row in rows if row is not None}
    deleted = [_texts(key) for key, row in rows if row is None]
    return {
        **{name: [texts[place] for texts in kept] for place, name in enumerate(_KEY)},
        **{f"deleted_{name}": [texts[place] for texts in deleted] for place, name in enumerate(_KEY)},
        "name": [_text(row.name) for row in kept.values()],
        "success": [row.success for row in kept.values()],
        "data": [row.data for row in kept.values()],
    }


def _texts(key: PollKey) -> tuple[str, ...]:
    return tuple(map(_text, columns(key)))


def _text(text: str) -> str:
    # PostgreSQL stores no zero in a text.
    return whole_text(text).replace("\0", "?")


_KEY = ("collector", "account", "kind", "id")

# A database may be set to answer a commit before it is on disk, or to wait for ever: each transaction says otherwise.
_GUARD = """
    SELECT set_config('statement_timeout', %(milliseconds)s, true),
           set_config('lock_timeout', %(milliseconds)s, true),
           set_config('idle_in_transaction_session_timeout', %(milliseconds)s, true),
           set_config('synchronous_commit', CASE
               WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on'
               ELSE current_setting('synchronous_commit') END, true)
"""

# A lease of another total keeps all of this one's away, so that no target has two exporters.
_CLAIM = """
    INSERT INTO edge_exporter_lease AS lease
    SELECT %(installation)s, %(shard)s, %(shards)s, 1, %(holder)s,
           clock_timestamp() + make_interval(secs => %(seconds)s)
    WHERE NOT EXISTS (
        SELECT FROM edge_exporter_lease other
        WHERE other.installation = %(installation)s AND other.shards <> %(shards)s
          AND other.holder <> %(holder)s AND other.expires > clock_timestamp()
    )
    ON CONFLICT (installation, shard) DO UPDATE
    SET epoch = lease.epoch + 1, shards = excluded.shards, holder = excluded.holder, expires = excluded.expires
    WHERE lease.expires <= clock_timestamp() OR lease.holder = excluded.holder
    RETURNING epoch
"""
_HOLDER = """
    SELECT shard, shards, holder, extract(epoch FROM expires - clock_timestamp()) FROM edge_exporter_lease
    WHERE installation = %(installation)s AND (shard = %(shard)s OR shards <> %(shards)s)
      AND expires > clock_timestamp()
    ORDER BY expires DESC LIMIT 1
"""
_RENEW = """
    UPDATE edge_exporter_lease SET expires = clock_timestamp() + make_interval(secs => %(seconds)s)
    WHERE installation = %(installation)s AND shard = %(shard)s AND epoch = %(epoch)s AND holder = %(holder)s
    RETURNING epoch
"""
_RELEASE = """
    UPDATE edge_exporter_lease SET expires = clock_timestamp()
    WHERE installation = %(installation)s AND shard = %(shard)s AND epoch = %(epoch)s AND holder = %(holder)s
    RETURNING epoch
"""

# What is known of an account, such as its platform's time, is of use to every shard.
_OF_SHARD = """
    SELECT collector, account, kind, id, name, success, data FROM edge_exporter_row
    WHERE installation = %(installation)s
      AND (shards <> %(shards)s OR shard = %(shard)s OR kind = 'account')
"""
_OF_INSTALLATION = """
    SELECT collector, account, kind, id, name, success, data FROM edge_exporter_row
    WHERE installation = %(installation)s
"""
_OF_TARGET = """
    SELECT collector, account, kind, id, name, success, data FROM edge_exporter_row
    WHERE installation = %(installation)s AND collector = %(collector)s AND account = %(account)s
      AND kind = %(kind)s AND id = %(id)s
"""

# The lease's row is locked until the commit: a claim waits for it, and finds afterwards what was written.
_COMMIT = """
    WITH held AS MATERIALIZED (
        SELECT FROM edge_exporter_lease
        WHERE installation = %(installation)s AND shard = %(shard)s AND epoch = %(epoch)s AND holder = %(holder)s
        FOR SHARE
    ), deleted AS (
        DELETE FROM edge_exporter_row AS old
        USING unnest(
            %(deleted_collector)b::text[], %(deleted_account)b::text[], %(deleted_kind)b::text[], %(deleted_id)b::text[]
        ) AS gone (collector, account, kind, id)
        WHERE EXISTS (SELECT FROM held) AND old.installation = %(installation)s
          AND (old.collector, old.account, old.kind, old.id) = (gone.collector, gone.account, gone.kind, gone.id)
          AND (old.shards <> %(shards)s OR old.shard = %(shard)s)
    ), written AS (
        INSERT INTO edge_exporter_row (
            installation, collector, account, kind, id, shard, shards, name, success, data
        )
        SELECT %(installation)s, collector, account, kind, id, %(shard)s, %(shards)s, name, success, data
        FROM unnest(
            %(collector)b::text[], %(account)b::text[], %(kind)b::text[], %(id)b::text[],
            %(name)b::text[], %(success)b::float8[], %(data)b::bytea[]
        ) AS polled (collector, account, kind, id, name, success, data)
        WHERE EXISTS (SELECT FROM held)
        ON CONFLICT (installation, collector, account, kind, id) DO UPDATE
        SET shard = excluded.shard, shards = excluded.shards, name = excluded.name, success = excluded.success,
            data = excluded.data
    )
    SELECT count(*) FROM held
"""

# The n-th entry leads from schema n to n + 1.
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
)
