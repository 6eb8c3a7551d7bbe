"""Stores the ledger in a PostgreSQL, through the one session that holds the lock of this process's shard."""

from collections.abc import Callable, Collection, Sequence
from hashlib import blake2b

from exporter.clock import boot_seconds
from exporter.counters.rows import from_columns, key_columns, to_columns
from exporter.counters.session import Session, location_of
from exporter.counters.storage import Rows, ShardTakenError, Storage, StorageError, StoredState

LEASE_SECONDS = 15.0
# Rows of one statement, so that it is shorter than a lease.
PAGE = 1000
# A lock's number is that of its shard, and of all shards in the higher bits.
_TOTAL_BITS = 16
# The pulse of the ledger is not exact: it asks the server a little earlier.
_EARLY = 0.8
# The server ends a lost session after a lease, and it may learn of its silence late.
_LEASES_UNTIL_TAKEN = 4 / 3


class DatabaseStorage(Storage):
    """Keeps the rows of one shard in a state database.

    First `claim` takes the lock of a free shard. From then on, `prepare` opens a lost session again, locks the same
    shard, and reads its rows anew.

    Args:
        url: reads the database's address, whose password may change; raises StorageError if it cannot be read.
        installation: the common name of the exporters that share their rows.
        total: the number of shards.
        wanted: the shards of which one is taken.
        seen: called with the shards that are held by any exporter; None while that is unknown.
        lease: seconds after which the server ends a session that is silent.
        clock: seconds that never jump, and that include the time of a suspension.

    Attributes:
        index: the shard; None before `claim` has found one, and after another exporter has taken it.
        obstacle: why `claim` has found none; empty if nothing was in the way.
        has_answered: whether the database has ever answered.
    """

    def __init__(
        self,
        url: Callable[[], str],
        installation: str,
        total: int,
        wanted: Collection[int],
        *,
        seen: Callable[[Collection[int] | None], None] = lambda _shards: None,
        lease: float = LEASE_SECONDS,
        clock: Callable[[], float] = boot_seconds,
    ) -> None:
        self._url = url
        self._installation = installation
        self._total = total
        self._wanted = wanted
        self._seen = seen
        self._lease = lease
        self._clock = clock
        # Positive numbers have the same form in pg_locks as in the functions.
        self._class = int.from_bytes(blake2b(installation.encode(), digest_size=4).digest()) >> 1
        # The session, the one that holds the shard, and the one in which its rows were read.
        self._session: Session | None = None
        self._holder: Session | None = None
        self._reader: Session | None = None
        # How many sessions have read the rows, and when the last one was certain to hold the shard.
        self._number = 0
        self._held = 0.0
        self.index: int | None = None
        self.obstacle = ""
        self.has_answered = False

    @property
    def location(self) -> str:
        """The host and the database, without the password."""
        try:
            return location_of(self._url())
        except StorageError:
            return "PostgreSQL"

    @property
    def pulse(self) -> float:
        """Seconds between two calls of `prepare`, so that the server does not take this process for dead."""
        return self._lease / 3

    def session(self) -> int:
        """Return the number of the session, as long as it certainly holds the shard whose rows it has read; else 0."""
        session = self._session
        return self._number if session is not None and session is self._reader and session.is_certain() else 0

    async def claim(self) -> int | None:
        """Try to take a free shard; return its number, and None if there is none: `obstacle` says why.

        Raises:
            StorageError: the database cannot be used now.
        """
        self.index = await self._lock(await self._connected(), self._wanted)
        return self.index

    async def prepare(self) -> StoredState | None:
        """Keep the session alive, or open it again; return the shard's rows if it is another session than before.

        Raises:
            ShardTakenError: another exporter has the shard.
            StorageError: the database cannot be used now.
        """
        if self.index is None:
            raise ShardTakenError("another exporter has taken the shard")
        session = await self._connected()
        if session is self._reader:
            if self._clock() >= session.answered + self.pulse * _EARLY:
                await self._look(session)
            return None
        if session is not self._holder and await self._lock(session, [self.index]) is None:
            if self._clock() < self._held + self._lease * _LEASES_UNTIL_TAKEN:
                raise StorageError(f"the former session of this exporter may not have ended yet: {self.obstacle}")
            self.index = None
            await self.close()
            raise ShardTakenError(f"another exporter has taken the shard: {self.obstacle}")
        rows = from_columns(await session.ask(_ROWS, {**self._own(), "index": self.index}))
        self._reader, self._number = session, self._number + 1
        return StoredState(rows, are_newer=True, session=self._number)

    async def commit(self, rows: Rows) -> None:
        """Write rows, as long as it is this session that answers, and not another one behind a pooler."""
        session = self._session
        if session is None or session is not self._reader:
            raise StorageError("there is no session")
        written, deleted = to_columns(rows), [key_columns(key) for key, row in rows.items() if row is None]
        for at in range(0, max(len(written), len(deleted)), PAGE):
            values = {
                **{name: _column(written[at : at + PAGE], place) for place, name in enumerate(_COLUMNS)},
                **{f"deleted_{name}": _column(deleted[at : at + PAGE], place) for place, name in enumerate(_KEY)},
            }
            ((is_own,),) = await session.ask(
                _WRITE, {**self._own(), **values, "index": self.index, "session": session.token}
            )
            self._check(session, is_own=is_own)

    async def check(self) -> None:
        """Find out whether the database can be used, without changing anything; raises StorageError if it cannot."""
        session = await Session.open(self._url(), self._lease, self._clock)
        try:
            ((has_table, may_create),) = await session.ask(_MAY_CREATE)
            if not has_table and not may_create:
                raise StorageError("the role may create no table in the schema; expected a role with that right")
        finally:
            session.close()

    async def close(self) -> None:
        """End the session, which frees the shard at once."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _own(self) -> dict[str, object]:
        return {"installation": self._installation, "class": self._class, "total": self._total}

    async def _connected(self) -> Session:
        """Return the session, opened again if it was lost."""
        session = self._session
        if session is not None and session.is_certain():
            return session
        if session is not None:
            self._held = session.answered if session is self._holder else self._held
            await self.close()
        try:
            session = await Session.open(self._url(), self._lease, self._clock)
            ((has_table, _),) = await session.ask(_MAY_CREATE)
            if not has_table:
                await session.ask(_CREATE)
        except StorageError:
            self._seen(None)
            raise
        self._session, self.has_answered = session, True
        return session

    async def _lock(self, session: Session, wanted: Collection[int]) -> int | None:
        """Lock the first of these shards that is free; return None, and set `obstacle`, if there is none."""
        held = await self._look(session)
        self.obstacle = self._other_total(held)
        free = [] if self.obstacle else [index for index in wanted if index not in held[self._total]]
        for index in free:
            values = {"class": self._class, "number": self._total << _TOTAL_BITS | index, "session": session.token}
            ((is_locked,),) = await session.ask(_LOCK, values)
            if is_locked:
                # Exporters of another number of shards count the same targets: of two that lock at once, none goes on.
                self.obstacle = self._other_total(await self._look(session))
                if self.obstacle:
                    await self.close()
                    return None
                self._holder = session
                return index
        own = sorted(held[self._total] & set(wanted))
        is_one = len(own) == 1 and self._total > 1
        shards = (
            f"shard {own[0]} of {self._total} is held" if is_one else f"{len(own)} of {self._total} shards are held"
        )
        self.obstacle = self.obstacle or shards
        return None

    async def _look(self, session: Session) -> dict[int, set[int]]:
        """Return which shards are held, by the number of all shards for which their exporters are configured."""
        ((name, locks),) = await session.ask(_HELD, self._own())
        self._check(session, is_own=name == session.token)
        held: dict[int, set[int]] = {self._total: set()}
        for lock in locks:
            held.setdefault(lock >> _TOTAL_BITS, set()).add(lock & ((1 << _TOTAL_BITS) - 1))
        self._seen(held[self._total])
        return held

    def _other_total(self, held: Collection[int]) -> str:
        others = sorted(set(held) - {self._total})
        return f"exporters with shard.total {others[0]} are running, here it is {self._total}" if others else ""

    def _check(self, session: Session, *, is_own: bool) -> None:
        if not is_own:
            session.close()
            raise StorageError(_POOLER)


_POOLER = (
    "statements run in different sessions of the server, as behind a pooler in transaction mode; expected the database "
    "itself, or a pooler in session mode"
)
_KEY = ("collector", "account", "kind", "id")
_COLUMNS = (*_KEY, "name", "success", "data")


def _column(rows: Sequence[Sequence[object]], place: int) -> list[object]:
    return [row[place] for row in rows]


_MAY_CREATE = """
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
# A row that another shard counts is not deleted. All exporters lock shared rows in the order of their keys, which
# prevents deadlocks.
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
    )
    SELECT EXISTS (SELECT FROM own)
"""
