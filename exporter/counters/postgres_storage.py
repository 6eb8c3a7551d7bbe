"""Stores the ledger in a PostgreSQL, through the one session that holds the lock of this process's shard."""

from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b

from exporter.clock import boot_seconds
from exporter.counters.postgres_session import Session
from exporter.counters.rows import StateRow, from_columns, key_columns, to_columns
from exporter.counters.storage import Changes, ShardTakenError, Storage, StorageError
from exporter.targets.target import PollKey

# Rows of one statement, so that it is shorter than a lease.
PAGE = 1000
# A lock's number is that of its shard, with the number of all shards in the higher bits.
_TOTAL = 1 << 16
# The pulse of the ledger is not exact: the server is asked a little earlier.
_EARLY = 0.8
# The server ends a lost session after a lease, and it may learn of its silence late.
_LEASES_UNTIL_TAKEN = 4 / 3


class OtherTotalError(StorageError):
    """Exporters with another number of shards are running."""


class PostgresStorage(Storage):
    """Keeps the rows of one shard in a state database.

    First `claim` takes the lock of a free shard. From then on, `prepare` opens a lost session again, locks the same
    shard, and reads its rows anew.

    Args:
        url: reads the database's address, whose password may change; raises StorageError if it cannot be read.
        installation: the common name of the exporters that share their rows.
        total: the number of shards.
        wanted: the shards of which one is taken.
        lease: seconds after which the server ends a session that is silent.
        clock: seconds that never jump, and that include the time of a suspension.

    Attributes:
        index: the shard; None before `claim` has found one, and after another exporter has taken it.
        obstacle: why `claim` has found none.
        held: the shards that any exporter held when that was asked last; None while it is unknown.
        has_answered: whether the database has ever answered.
    """

    def __init__(
        self,
        url: Callable[[], str],
        installation: str,
        total: int,
        wanted: Collection[int],
        *,
        lease: float,
        clock: Callable[[], float] = boot_seconds,
    ) -> None:
        self.location = "PostgreSQL"
        # So often that the server does not take this process for dead.
        self.pulse = lease / 3
        self._url = url
        self._installation = installation
        self._total = total
        self._wanted = wanted
        self._lease = lease
        self._clock = clock
        # Positive numbers have the same form in pg_locks as in the functions.
        self._class = int.from_bytes(blake2b(installation.encode(), digest_size=4).digest()) >> 1
        self._session: Session | None = None
        # When the last session that is lost was certain to hold the shard.
        self._held = 0.0
        self._claims_from = 0.0
        self.index: int | None = None
        self.obstacle = ""
        self.held: set[int] | None = None
        self.has_answered = False

    def is_certain(self) -> bool:
        """Return whether the session certainly holds the shard, and has read its rows."""
        session = self._session
        return session is not None and session.has_read and session.is_certain()

    async def claim(self) -> int | None:
        """Try to take a free shard; return its number, and None if there is none: `obstacle` says why.

        Raises:
            StorageError: the database cannot be used now.
        """
        session = self._certain_session() or await self._connect()
        try:
            await self._look(session)
        except OtherTotalError as error:
            self.obstacle = str(error)
            return None
        if self._clock() < self._claims_from:
            self.obstacle = "the shards are left to their former holders for now"
            return None
        held = sorted(set(self._wanted).intersection(self.held or ()))
        for index in self._wanted:
            if index not in held and await self._lock(session, index):
                self.index = index
                return index
        self.obstacle = (
            f"{len(held)} of {self._total} shards are held"
            if len(held) != 1 or self._total == 1
            else f"shard {held[0]} of {self._total} is held"
        )
        return None

    async def is_open(self) -> bool:
        """Return whether the session that read the shard's rows lasts; the server is asked if it was not for long.

        Raises:
            StorageError: the database cannot be used now.
        """
        session = self._certain_session()
        if session is None or not session.has_read:
            return False
        if self._clock() >= session.answered + self.pulse * _EARLY:
            await self._look(session)
        return True

    async def open(self) -> dict[PollKey, StateRow]:
        """Lock the shard, in a new session if the former one is lost, and return the shard's rows.

        Raises:
            ShardTakenError: another exporter has the shard.
            StorageError: the database cannot be used now.
        """
        if self.index is None:
            raise ShardTakenError("another exporter has taken the shard")
        session = self._certain_session() or await self._connect()
        if not await self._holds(session, self.index):
            if self._clock() < self._held + self._lease * _LEASES_UNTIL_TAKEN:
                raise StorageError("the shard is held, perhaps by the former session of this exporter")
            self.index = None
            await self.close()
            raise ShardTakenError("another exporter has taken the shard")
        rows = from_columns(await session.ask(_ROWS, self._own()))
        session.has_read = True
        return rows

    async def commit(self, changes: Changes) -> None:
        """Write and delete rows, as long as it is this session that answers, and not another one behind a pooler."""
        session = self._session
        if session is None or not session.has_read:
            raise StorageError("there is no session")
        written, deleted = to_columns(changes), [key_columns(key) for key, row in changes.items() if row is None]
        for start in range(0, max(len(written), len(deleted)), PAGE):
            page = slice(start, start + PAGE)
            values = {name: _column(written[page], place) for place, name in enumerate(_COLUMNS)}
            gone = {f"deleted_{name}": _column(deleted[page], place) for place, name in enumerate(_KEY)}
            ((is_own,),) = await session.ask(_WRITE, {**self._own(), **values, **gone, "session": session.token})
            self._check(session, is_own=is_own)

    async def check(self) -> None:
        """Find out whether the database can be used, without changing anything; raises StorageError if it cannot."""
        session = await Session.begin(self._url(), self._lease, self._clock)
        try:
            ((has_table, may_create),) = await session.ask(_HAS_TABLE)
            if not has_table and not may_create:
                raise StorageError("the role may create no table in the schema; expected a role with that right")
        finally:
            session.end()

    async def close(self) -> None:
        """End the session, which frees the shard at once."""
        if self._session is not None:
            self._session.end()
            self._session = None

    def _own(self) -> dict[str, object]:
        return {"installation": self._installation, "index": self.index, "total": self._total}

    def _certain_session(self) -> Session | None:
        """Return the session, unless it is lost or may be."""
        return self._session if self._session is not None and self._session.is_certain() else None

    async def _connect(self) -> Session:
        """Open a session in place of the one before, and note how long that one held the shard."""
        if self._session is not None and self._session.is_holder:
            self._held = self._session.answered
        await self.close()
        try:
            session = await Session.begin(self._url(), self._lease, self._clock)
            ((has_table, _),) = await session.ask(_HAS_TABLE)
            if not has_table:
                await session.ask(_CREATE)
        except StorageError:
            self.held = None
            raise
        # A former holder whose rows nobody has changed serves its counters at once.
        self._claims_from = self._clock() + self._lease / 2 if self.has_answered else 0.0
        self._session, self.has_answered = session, True
        self.location = f"postgresql://{session.info.host}:{session.info.port}/{session.info.dbname}"
        return session

    async def _holds(self, session: Session, index: int) -> bool:
        """Return whether a session has the lock of the shard, which it takes if it can."""
        try:
            await self._look(session)
        except OtherTotalError:
            return False
        return session.is_holder or await self._lock(session, index)

    async def _lock(self, session: Session, index: int) -> bool:
        """Lock a shard, if it is free; return whether it was."""
        values = {"class": self._class, "number": self._total * _TOTAL + index, "session": session.token}
        ((is_locked,),) = await session.ask(_LOCK, values)
        session.is_holder = bool(is_locked)
        return session.is_holder

    async def _look(self, session: Session) -> None:
        """Ask which shards are held by any exporter; raises OtherTotalError where there is another total."""
        ((name, locks),) = await session.ask(_HELD, {"class": self._class})
        self._check(session, is_own=name == session.token)
        self.held = {lock % _TOTAL for lock in locks if lock // _TOTAL == self._total}
        if others := [lock // _TOTAL for lock in locks if lock // _TOTAL != self._total]:
            # They count the same targets. Of two that have locked at the same moment, none goes on.
            session.end()
            raise OtherTotalError(f"exporters with shard.total {min(others)} are running, here it is {self._total}")

    def _check(self, session: Session, *, is_own: bool) -> None:
        if not is_own:
            session.end()
            raise StorageError(_POOLER)


_POOLER = (
    "statements run in different sessions of the server, as behind a pooler in transaction mode; expected the database "
    "itself, or a pooler in session mode"
)
_KEY = ("collector", "account", "kind", "id")
_COLUMNS = (*_KEY, "name", "success", "data")


def _column(rows: Sequence[Sequence[object]], place: int) -> list[object]:
    return [row[place] for row in rows]


_HAS_TABLE = """
    SELECT to_regclass('edge_exporter_row') IS NOT NULL, has_schema_privilege(current_schema(), 'CREATE')
"""
# One at a time creates the table; the number is "edge" in ASCII.
_CREATE = """
    DO $$ BEGIN
        PERFORM pg_advisory_xact_lock(1701080933);
        CREATE TABLE IF NOT EXISTS edge_exporter_row (
            installation text NOT NULL, collector text NOT NULL, account text NOT NULL, kind text NOT NULL,
            id text NOT NULL, shard integer NOT NULL, shards integer NOT NULL,
            name text NOT NULL, success double precision NOT NULL, data bytea NOT NULL,
            PRIMARY KEY (installation, collector, account, kind, id)
        );
    END $$
"""
_HELD = """
    SELECT current_setting('edge_exporter.session', true), array(
        SELECT objid::bigint FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND classid::bigint = %(class)s
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
"""
_LOCK = """
    SELECT CASE WHEN current_setting('edge_exporter.session', true) = %(session)s
        THEN pg_try_advisory_lock(%(class)s::integer, %(number)s::integer) END
"""
# The rows of a shard. Included are those that were written for another number of shards, as they may be this shard's
# now, and those of accounts, such as the platform's time, which all shards use.
_ROWS = """
    SELECT collector, account, kind, id, name, success, data FROM edge_exporter_row
    WHERE installation = %(installation)s AND (shard = %(index)s OR shards <> %(total)s OR kind = 'account')
"""
# A row that another shard counts is neither written nor deleted. All exporters lock shared rows in the order of their
# keys, which prevents deadlocks.
_WRITE = """
    WITH own AS MATERIALIZED (
        SELECT WHERE current_setting('edge_exporter.session', true) = %(session)s
    ), deleted AS (
        DELETE FROM edge_exporter_row AS old
        USING own, unnest(
            %(deleted_collector)b::text[], %(deleted_account)b::text[], %(deleted_kind)b::text[], %(deleted_id)b::text[]
        ) AS gone (collector, account, kind, id)
        WHERE old.installation = %(installation)s
          AND (old.collector, old.account, old.kind, old.id) = (gone.collector, gone.account, gone.kind, gone.id)
          AND (old.shard = %(index)s OR old.shards <> %(total)s)
    ), written AS (
        INSERT INTO edge_exporter_row AS old (
            installation, collector, account, kind, id, shard, shards, name, success, data
        )
        SELECT %(installation)s, collector, account, kind, id, %(index)s, %(total)s, name, success, data
        FROM own, unnest(
            %(collector)b::text[], %(account)b::text[], %(kind)b::text[], %(id)b::text[],
            %(name)b::text[], %(success)b::float8[], %(data)b::bytea[]
        ) AS polled (collector, account, kind, id, name, success, data)
        ON CONFLICT (installation, collector, account, kind, id) DO UPDATE
        SET shard = excluded.shard, shards = excluded.shards, name = excluded.name, success = excluded.success,
            data = excluded.data
        WHERE old.shard = excluded.shard OR old.shards <> excluded.shards OR old.kind = 'account'
    )
    SELECT EXISTS (SELECT FROM own)
"""
