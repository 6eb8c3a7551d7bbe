"""The locks of shards: advisory locks in the state database, held by the sessions of exporters that poll the shards."""

from dataclasses import dataclass
from hashlib import blake2b

from exporter.counters.postgres_session import Session
from exporter.counters.storage import StorageError

# The second number of a lock is the shard's number, plus this factor times the total number of shards.
_TOTAL_FACTOR = 1 << 16


class OtherTotalError(StorageError):
    """Exporters with another number of shards are running."""


@dataclass(eq=False)
class ShardLocks:
    """The locks of an installation's shards.

    Attributes:
        installation: the common name of the exporters that share the state.
        total: the number of shards.
        held: the shards that were locked at the last `read`. None before the first, and while no session can begin.
    """

    installation: str
    total: int
    held: set[int] | None = None

    @property
    def _class(self) -> int:
        """The first of the two numbers of a lock: a hash of the name of the installation."""
        # A positive number, because pg_locks shows negative ones in another form.
        return int.from_bytes(blake2b(self.installation.encode(), digest_size=4).digest()) >> 1

    async def take(self, session: Session, index: int) -> bool:
        """Lock a shard for a session if the shard is free. Set `session.is_holder`, and return its value.

        Raises:
            StorageError: the database cannot be used now.
        """
        values = {"class": self._class, "number": self.total * _TOTAL_FACTOR + index, "session": session.token}
        ((is_locked,),) = await session.ask(_LOCK, values)
        # `is_locked` is None if another session has executed the statement, as behind a pooler.
        session.is_holder = bool(is_locked)
        return session.is_holder

    async def read(self, session: Session) -> set[int]:
        """Read the numbers of the locked shards, keep the numbers in `held`, and return them.

        After an OtherTotalError, the session has ended.

        Raises:
            OtherTotalError: exporters with another total number of shards are running.
            StorageError: the database cannot be used now.
        """
        ((token, locks),) = await session.ask(_HELD, {"class": self._class})
        session.require_same_session(is_same=token == session.token)
        self.held = {lock % _TOTAL_FACTOR for lock in locks if lock // _TOTAL_FACTOR == self.total}
        others = {lock // _TOTAL_FACTOR for lock in locks} - {self.total}
        if others:
            # Exporters with another total count the same targets, so this exporter releases its shard. If two exporters
            # with different totals lock shards at the same moment, at least one of them releases its shard.
            session.end()
            raise OtherTotalError(f"exporters with shard.total {min(others)} are running, this one has {self.total}")
        return self.held


# pg_locks shows the two numbers of an advisory lock as classid and objid, with 2 as objsubid.
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
