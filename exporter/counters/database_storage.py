"""Stores the ledger in a PostgreSQL, through the one session that holds the lock of this process's shard."""

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice

from exporter.clock import boot_seconds
from exporter.counters import schema
from exporter.counters.rows import StateRow
from exporter.counters.session import Backend, Locks, PoolerError, Session, classes, location_of
from exporter.counters.storage import ShardTakenError, Storage, StorageError, StoredState
from exporter.targets.target import PollKey

LEASE_SECONDS = 15.0
# Rows of one statement: so it is shorter than a lease, and what an exporter that is suspended leaves unread is little.
PAGE = 1000
# In the class of the totals: the lock under which one exporter at a time looks for a shard.
_GATE = 0


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
        self._shards_class, self._totals_class = classes(installation)
        self._session: Session | None = None
        # The server's process of the last session that held the shard.
        self._former: Backend | None = None
        # How many sessions have read the rows.
        self._number = 0
        # After the database was away, former holders come back first.
        self._is_away = False
        self._claims_from = 0.0
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
        return session.number if session is not None and session.is_certain() else 0

    async def claim(self) -> int | None:
        """Try to take a free shard; return its number, and None if there is none: `obstacle` says why.

        Raises:
            StorageError: the database cannot be used now.
        """
        session = await self._connected()
        if self._clock() < self._claims_from:
            await self._look(session)
        else:
            self.index = await self._take(session, self._wanted)
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
        if session.number and await self._is_alive(session):
            return None
        session = await self._connected()
        if not session.holds_shard and await self._take(session, [self.index]) is None:
            self.index = None
            await self.close()
            raise ShardTakenError(f"another exporter has taken the shard: {self.obstacle}")
        rows = await self._read(session)
        self._number += 1
        session.number = self._number
        return StoredState(rows, are_newer=True, session=self._number)

    async def _is_alive(self, session: Session) -> bool:
        """Return whether the session still lasts; ask the server now and then."""
        # A little earlier than the pulse: the rounds of the ledger are not exact.
        if session.is_certain() and self._clock() < session.answered + self.pulse * 0.8:
            return True
        try:
            await self._look(session)
        except PoolerError:
            raise
        except StorageError:
            return False
        return True

    async def commit(self, rows: Mapping[PollKey, StateRow | None]) -> None:
        """Write rows, as long as this session holds the shard's lock."""
        session = self._session
        if session is None:
            raise StorageError("there is no session")
        own = {**self._own(), "backend": session.backend.pid, "began": session.backend.began}
        # All exporters lock shared rows in the same order, which prevents deadlocks.
        ordered = iter(sorted(rows.items(), key=lambda item: tuple(schema.key_values(item[0]).values())))
        while part := list(islice(ordered, PAGE)):
            ((is_own,),) = await session.ask(schema.WRITE, {**own, **schema.arrays(part)})
            if not is_own:
                session.close()
                raise StorageError("the session has changed: nothing was written")

    async def check(self) -> None:
        """Find out whether the database can be used, without changing anything; raises StorageError if it cannot."""
        session = await Session.open(self._url(), self._lease, self._clock)
        try:
            if not await session.schema_version():
                ((may_create,),) = await session.ask(schema.MAY_CREATE)
                if not may_create:
                    raise StorageError("the role may create no table in the schema; expected a role with that right")
        finally:
            session.close()

    async def close(self) -> None:
        """End the session, which frees the shard at once."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _own(self) -> dict[str, object]:
        return {
            "installation": self._installation,
            "index": -1 if self.index is None else self.index,
            "total": self._total,
            "shards_class": self._shards_class,
            "totals_class": self._totals_class,
        }

    async def _connected(self) -> Session:
        """Return the session, opened again if it was lost."""
        lost = self._session
        if lost is not None and not lost.is_closed:
            return lost
        if lost is not None:
            self._session, self._is_away = None, True
            self._former = lost.backend if lost.holds_shard else self._former
        try:
            session = await Session.open(self._url(), self._lease, self._clock)
            await session.prepare_schema()
        except StorageError:
            self._is_away = True
            self._seen(None)
            raise
        if self._is_away:
            self._claims_from = self._clock() + self._lease / 2
        self._session, self._is_away, self.has_answered = session, False, True
        return session

    async def _look(self, session: Session) -> Locks:
        """Read who holds which lock."""
        locks = await session.locks(self._installation)
        self._seen(locks.shards)
        return locks

    async def _take(self, session: Session, wanted: Collection[int]) -> int | None:
        """Lock the first of these shards that is free; return None, and set `obstacle`, if there is none.

        In this transaction, no other exporter looks for a shard.
        """
        await session.ask("BEGIN")
        gate = {"class": self._totals_class, "gate": _GATE}
        await session.ask("SELECT pg_advisory_xact_lock(%(class)s::integer, %(gate)s::integer)", gate)
        locks = await self._look(session)
        holder = None if self.index is None else locks.shards.get(self.index)
        former = self._former if self._former is not None and self._former.pid == holder else None
        index = None
        if former is not None:
            # The server has not noticed yet that the former session of this process is over.
            await session.ask(_END_FORMER, {"pid": former.pid, "began": former.began})
        else:
            self.obstacle = await self._count_shards(session, locks)
            if not self.obstacle:
                index = await self._first_free(session, locks, wanted)
        await session.ask("COMMIT")
        await self._look(session)
        if former is not None:
            raise StorageError("the former session has not ended yet")
        session.holds_shard = index is not None
        return index

    async def _count_shards(self, session: Session, locks: Locks) -> str:
        """Take the shared lock of the number of shards, unless the session has it; return what is in the way."""
        pid = session.backend.pid
        if any(pid in holders for holders in locks.totals.values()):
            if session.counts_shards:
                return ""
            # A new session has no lock, unless another exporter's statements go through the same one.
            session.close()
            raise StorageError("the session is shared with another exporter, by a pooler in transaction mode")
        if others := sorted(locks.totals.keys() - {self._total}):
            return f"exporters with shard.total {others[0]} are running, here it is {self._total}"
        lock = "SELECT pg_try_advisory_lock_shared(%(totals_class)s::integer, %(total)s::integer)"
        await session.ask(lock, self._own())
        session.counts_shards = True
        return ""

    async def _first_free(self, session: Session, locks: Locks, wanted: Iterable[int]) -> int | None:
        for index in wanted:
            if index not in locks.shards:
                lock = "SELECT pg_try_advisory_lock(%(shards_class)s::integer, %(index)s::integer)"
                ((is_locked,),) = await session.ask(lock, {**self._own(), "index": index})
                if is_locked:
                    return index
        held = sorted(locks.shards.keys() & set(wanted))
        self.obstacle = (
            f"{len(held)} of {self._total} shards are held"
            if len(held) != 1 or self._total == 1
            else f"shard {held[0]} of {self._total} is held"
        )
        return None

    async def _read(self, session: Session) -> dict[PollKey, StateRow]:
        """Read the shard's rows in pages, so that a process that is suspended leaves little unread."""
        rows: dict[PollKey, StateRow] = {}
        last: PollKey | None = None
        while True:
            values = {**self._own(), **schema.key_values(last), "most": PAGE}
            found = [schema.row_of(one) for one in await session.ask(schema.PAGE, values)]
            rows.update(found)
            if len(found) < PAGE:
                return rows
            last = found[-1][0]


# Only the session's own role may end it.
_END_FORMER = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_get_activity(%(pid)s) WHERE backend_start = %(began)s
"""
