"""Stores the ledger in a PostgreSQL database that several exporters share, each with the shards that it holds."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial

from exporter.counters.lease import Leases, StorageObserver, boot_time
from exporter.counters.rows import StateRow
from exporter.counters.state_database import Group, StateDatabase, location_of
from exporter.counters.storage import LeaseLostError, StoredState
from exporter.targets.target import PollKey

LEASE_SECONDS = 15.0


@dataclass(eq=False, repr=False)
class DatabaseStorage:
    """Keeps the rows of the shards whose leases are held in a state database.

    Attributes:
        url: reads the database's address, whose password may change.
        group: this process, and the exporters that it shares the database with.
        observer: called when shards come and go.
        only: the only shard to hold; None for a fair share of all shards.
        shard_of: returns the shard of a row; None if it is not known.
        lease: the lease's length in seconds.
        clock: seconds that never jump, and that include the time of a suspension.
        leases: the shards that are held.
        rendered: the shards whose counters may be in the exposition, with the epochs of their counts.
    """

    is_shared = True

    url: Callable[[], str]
    group: Group
    observer: StorageObserver
    _: KW_ONLY
    only: int | None
    shard_of: Callable[[PollKey], int | None]
    lease: float = LEASE_SECONDS
    clock: Callable[[], float] = boot_time
    leases: Leases = field(init=False)
    rendered: Mapping[int, int] = field(default_factory=dict)
    _is_prepared: bool = False
    # The shards whose rows the ledger has, with their epochs; only rows of these are written.
    _read: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        connect = partial(StateDatabase, self.url, self.lease, self.observer.took)
        self.leases = Leases(self.group, connect, self.lease, self.observer, only=self.only, clock=self.clock)
        self._database = connect()

    @property
    def location(self) -> str:
        """The host and the database, without the password."""
        return location_of(self.url)

    def is_behind(self) -> bool:
        """Return whether the held shards have changed since the last call of `prepare`."""
        return self.leases.held != self._read

    def prepare(self) -> StoredState | None:
        """Claim or renew leases, and return the rows of shards that are new to this process.

        Raises:
            LeaseHeldError: another exporter holds the only shard of this process.
            LeaseLostError: another exporter has claimed the only shard of this process.
        """
        if self.only is not None:
            if not self._is_prepared:
                self._database.prepare()
                self._is_prepared = True
            self.leases.take(self._database)
        epochs = self.leases.held
        if epochs == self._read:
            return None
        new = {shard for shard, epoch in epochs.items() if self._read.get(shard) != epoch}
        gone = {shard for shard, epoch in self._read.items() if epochs.get(shard) != epoch}
        # Rows are read in a transaction after the claim; from the claim on, the former holder of the lease can write
        # nothing.
        rows = self._database.rows(self.group, new) if new else {}
        self._read = epochs
        if self.only is not None:
            self.rendered = epochs
        else:
            wanted = {*new, None}
            rows = {key: row for key, row in rows.items() if self.shard_of(key) in wanted or _is_shared(key)}
        self.observer.held(epochs, rows)
        return StoredState(rows, are_newer=True, is_left=lambda key: self.shard_of(key) in gone)

    def commit(self, rows: Mapping[PollKey, StateRow | None]) -> Collection[PollKey]:
        """Write rows under the leases of their shards; return the keys of rows that another exporter counts now."""
        if not self._read:
            return self._refuse(rows)
        # A deletion, or a row that all shards share, may be protected by the lease of any shard.
        any_shard = min(self._read)
        shards = {key: any_shard if row is None or _is_shared(key) else self.shard_of(key) for key, row in rows.items()}
        writable = {
            key: (shard, rows[key]) for key, shard in shards.items() if shard is not None and shard in self._read
        }
        lost = self._database.commit(writable, self.group, self._read) if writable else frozenset[int]()
        for shard in lost:
            self.leases.lose(shard, self._read[shard])
        refused = self._refuse([key for key in rows if key not in writable or writable[key][0] in lost])
        if lost and self.only is not None:
            raise LeaseLostError("another exporter has claimed the lease")
        return refused

    def _refuse(self, keys: Iterable[PollKey]) -> Collection[PollKey]:
        refused = frozenset(key for key in keys if not _is_shared(key))
        if refused:
            self.observer.refused(len(refused))
        return refused

    def holds(self) -> bool:
        """Return whether this process now certainly holds the leases of all rendered shards."""
        return len(self.counted()) == len(self.rendered) > 0

    def counted(self) -> Mapping[int, int]:
        """Return the rendered shards, with their epochs, that no other exporter can have counted; on any thread."""
        if not self.leases.are_certain():
            return {}
        held = self.leases.held
        return {shard: epoch for shard, epoch in self.rendered.items() if held.get(shard) == epoch}

    def close(self) -> None:
        """Release the leases, then close the connection."""
        self.leases.release(self._database)
        self._database.close()


def _is_shared(key: PollKey) -> bool:
    """Return whether a row belongs to no target and is used by every shard, such as the time of a platform."""
    return key.target.kind == "account" and not key.target.id
