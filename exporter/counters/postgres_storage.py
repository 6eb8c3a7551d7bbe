"""Stores the ledger's rows in PostgreSQL, through the one session that holds the lock of this process's shard."""

from collections.abc import Callable, Collection, Sequence

from exporter.clock import boot_seconds
from exporter.counters.postgres_session import Session
from exporter.counters.rows import StateRow, from_columns, key_columns, to_columns
from exporter.counters.shard_locks import OtherTotalError, ShardLocks
from exporter.counters.storage import Changes, ShardTakenError, Storage, StorageError
from exporter.targets.target import PollKey

# The most rows of a statement. With many more rows, a statement could take longer than its time limit.
PAGE = 1000
# `keep_open` sends a statement after this part of `pulse`, the time between two calls of `keep_open`: the ledger may
# call it a little late.
_EARLY = 0.8
# After this many leases, the server has ended a lost session: it may notice the loss up to a third of a lease late.
_LEASES_UNTIL_ENDED = 4 / 3


class PostgresStorage(Storage):
    """Keeps the rows of one shard in a state database.

    First, `claim` locks a free shard. Then `open` reads the shard's rows. If the session is lost, `open` begins a new
    session, locks the same shard again, and reads the rows again. `read` and `check` need no shard.

    Args:
        url: reads the address of the database; called for a new session, because the password may change. Raises
            StorageError if the address cannot be read.
        installation: `state.installation`, the common name of the exporters that share the state.
        total: the number of shards.
        wanted: the shards that `claim` may lock: one or all; may be empty if `claim` is not called.
        lease: seconds without a statement after which the server ends the session.
        clock: returns monotonic seconds that include the time of a suspension, as `boot_seconds`.

    Attributes:
        index: this process's shard; None before `claim` has locked one, and after `open` has raised ShardTakenError.
        obstacle: why `claim` last returned None; empty before that, and again after `claim` has returned a shard.
        locks: the locks of the installation's shards.
        has_answered: whether `claim` or `open` has ever had a session in which the table existed or was created.
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
        # Often enough that the server does not end the session.
        self.pulse = lease / 3
        self._url = url
        self.locks = ShardLocks(installation, total)
        self._wanted = wanted
        self._lease = lease
        self._clock = clock
        self._session: Session | None = None
        # The last time of `clock` at which the former session certainly held the shard.
        self._held_at = 0.0
        # From when on `claim` may lock a shard.
        self._claims_from = 0.0
        self.index: int | None = None
        self.obstacle = ""
        self.has_answered = False

    def is_certain(self) -> bool:
        """Return whether the session has read the shard's rows, and certainly still holds the shard."""
        session = self._session
        return session is not None and session.has_read and session.is_certain()

    async def claim(self) -> int | None:
        """Lock a free shard, and return its number. If no shard can be locked, set `obstacle`, and return None.

        Raises:
            StorageError: the database cannot be used now.
        """
        session = self._certain_session() or await self._connect()
        try:
            held = await self.locks.read(session)
        except OtherTotalError as error:
            self.obstacle = str(error)
            return None
        if self._clock() < self._claims_from:
            self.obstacle = "the shards are left to their former holders for now"
            return None
        for index in self._wanted:
            if index not in held and await self.locks.take(session, index):
                self.index, self.obstacle = index, ""
                return index
        total, first = self.locks.total, min(self._wanted)
        wants_any = len(self._wanted) == total
        self.obstacle = f"{total} of {total} shards are held" if wants_any else f"shard {first} of {total} is held"
        return None

    async def keep_open(self) -> bool:
        """Return whether the session that has read the shard's rows certainly still exists, and keep it alive.

        The server ends a session without statements, so a statement is sent if the last one was most of a pulse ago.

        Raises:
            StorageError: the database cannot be used now, or exporters with another number of shards are running.
        """
        session = self._certain_session()
        if session is None or not session.has_read:
            return False
        if self._clock() >= session.alive_at + self.pulse * _EARLY:
            # This statement also updates `locks.held`, and finds exporters with another number of shards.
            await self.locks.read(session)
        return True

    async def open(self) -> dict[PollKey, StateRow]:
        """Begin a new session if the former one is lost; lock the shard, and return the shard's rows.

        Raises:
            ShardTakenError: another exporter has the shard, or exporters with another number of shards are running.
            StorageError: the database cannot be used now, or the former session may still hold the shard.
        """
        if self.index is None:
            raise ShardTakenError("another exporter has taken the shard")
        session = self._certain_session() or await self._connect()
        if obstacle := await self._lock_again(session, self.index):
            # The shard may still be held by the former session of this exporter.
            if self._clock() < self._held_at + self._lease * _LEASES_UNTIL_ENDED:
                raise StorageError(obstacle)
            self.index = None
            await self.close()
            raise ShardTakenError(obstacle)
        rows = from_columns(await session.ask(_ROWS, self._shard_parameters()))
        session.has_read = True
        return rows

    async def commit(self, changes: Changes, *, takes_over: bool = True) -> None:
        """Write and delete rows, in pages of `PAGE` rows; if a page fails, the pages before it stay written.

        A row of another shard is not deleted. Without `takes_over`, no row is replaced.
        """
        session = self._session
        if session is None or not session.has_read:
            raise StorageError("the state database is not open")
        written, deleted = to_columns(changes), [key_columns(key) for key, row in changes.items() if row is None]
        for start in range(0, max(len(written), len(deleted)), PAGE):
            page = slice(start, start + PAGE)
            values = {name: _column(written[page], place) for place, name in enumerate(_COLUMNS)}
            gone = {f"deleted_{name}": _column(deleted[page], place) for place, name in enumerate(_KEY)}
            how = {"session": session.token, "takes_over": takes_over}
            parameters = {**self._shard_parameters(), **values, **gone, **how}
            ((is_same,),) = await session.ask(_WRITE, parameters)
            session.require_same_session(is_same=is_same)

    async def read(self, collectors: Collection[str]) -> dict[PollKey, StateRow]:
        """Return the rows of some collectors, of all shards; none if there is no table. Exporters may write meanwhile.

        Raises:
            StorageError: the database cannot be used now.
        """
        session = await Session.begin(self._url(), self._lease, self._clock, writes=False)
        try:
            ((has_table, _),) = await session.ask(_HAS_TABLE)
            wanted = {"installation": self.locks.installation, "collectors": list(collectors)}
            return from_columns(await session.ask(_ROWS_OF, wanted)) if has_table else {}
        finally:
            session.end()

    async def check(self) -> None:
        """Check, without changing anything, that a session can begin, and that the table exists or can be created.

        Raises:
            StorageError: no session can begin, or the table does not exist and cannot be created.
        """
        session = await Session.begin(self._url(), self._lease, self._clock)
        try:
            ((has_table, may_create),) = await session.ask(_HAS_TABLE)
            if not has_table and not may_create:
                raise StorageError("the role cannot create a table; expected a schema in which the role may create one")
        finally:
            session.end()

    async def close(self) -> None:
        """End the session; the server then frees the shard."""
        if self._session is not None:
            self._session.end()
            self._session = None

    def _shard_parameters(self) -> dict[str, object]:
        return {"installation": self.locks.installation, "index": self.index, "total": self.locks.total}

    def _certain_session(self) -> Session | None:
        return self._session if self._session is not None and self._session.is_certain() else None

    async def _connect(self) -> Session:
        """End the former session, and begin a new one; create the table if it does not exist."""
        if self._session is not None and self._session.is_holder:
            self._held_at = self._session.alive_at
        await self.close()
        try:
            session = await Session.begin(self._url(), self._lease, self._clock)
            ((has_table, _),) = await session.ask(_HAS_TABLE)
            if not has_table:
                await session.ask(_CREATE)
        except StorageError:
            self.locks.held = None
            raise
        # After a lost connection, former holders of shards have priority for half a lease, so that they can continue.
        self._claims_from = self._clock() + self._lease / 2 if self.has_answered else 0.0
        self._session, self.has_answered = session, True
        self.location = f"postgresql://{session.info.host}:{session.info.port}/{session.info.dbname}"
        return session

    async def _lock_again(self, session: Session, index: int) -> str:
        """Lock the shard if the session has not locked it. Return an empty text, or why the shard cannot be locked."""
        try:
            await self.locks.read(session)
        except OtherTotalError as error:
            # Exporters with another number of shards already poll and count this shard's targets: do not lock it.
            return str(error)
        has_lock = session.is_holder or await self.locks.take(session, index)
        return "" if has_lock else "the shard is held by another session"


_KEY = ("collector", "account", "kind", "id")
_COLUMNS = (*_KEY, "name", "success", "data")


def _column(rows: Sequence[Sequence[object]], place: int) -> list[object]:
    return [row[place] for row in rows]


_HAS_TABLE = """
    SELECT to_regclass('edge_exporter_row') IS NOT NULL, has_schema_privilege(current_schema(), 'CREATE')
"""
# The lock lets one exporter at a time create the table. The number of the lock is arbitrary.
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
# The rows of a shard. Rows that were written for another number of shards are included, because they may belong to this
# shard now. The rows of accounts, which have no id, are included for every shard.
_ROWS = """
    SELECT collector, account, kind, id, name, success, data FROM edge_exporter_row
    WHERE installation = %(installation)s AND (shard = %(index)s OR shards <> %(total)s OR id = '')
"""
_ROWS_OF = """
    SELECT collector, account, kind, id, name, success, data FROM edge_exporter_row
    WHERE installation = %(installation)s AND collector = ANY(%(collectors)s)
"""
# `own` is empty if another session executes the statement: then nothing is written or deleted. The rows to write are
# sorted by key, so that two exporters that write the same rows lock these rows in one order, without a deadlock.
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
        INSERT INTO edge_exporter_row (
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
        WHERE %(takes_over)s
    )
    SELECT EXISTS (SELECT FROM own)
"""
