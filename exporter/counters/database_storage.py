"""The ledger's storage in a PostgreSQL database that several exporters share, each with a shard that it holds."""

from collections.abc import Callable, Mapping

from exporter.counters.lease import Lease, boot_time
from exporter.counters.state_database import Claim, StateDatabase, location_of
from exporter.counters.storage import LeaseLostError, Opened, Stored
from exporter.targets.target import PollKey

LEASE_SECONDS = 15.0
_LOST = "another exporter has claimed the lease"


class DatabaseStorage:
    """Keeps the rows of one shard in a state database, for as long as the shard's lease is held.

    Args:
        url: reads the database's address, which may have a new password each time.
        claim: the shard, and this process.
        lost: called once, on any thread, when another exporter has taken the shard.
        lease: the lease's length in seconds.
        clock: seconds that never jump, and that count a suspension.
    """

    is_shared = True

    def __init__(
        self,
        url: Callable[[], str],
        claim: Claim,
        *,
        lost: Callable[[], None],
        lease: float = LEASE_SECONDS,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        self._url = url
        self._lease = Lease(claim, lambda: StateDatabase(url, lease), lease, lost, clock)
        self._claim = claim
        self._database = StateDatabase(url, lease)
        self._is_prepared = False
        self._is_read = False
        self._is_claimed = False

    @property
    def location(self) -> str:
        """Host and database, without the password."""
        return location_of(self._url)

    def prepare(self) -> Opened | None:
        """See `Storage.prepare`.

        Raises:
            LeaseHeldError: another exporter holds the shard.
            LeaseLostError: another exporter has taken the shard.
        """
        if self._is_claimed and self._lease.epoch is None:
            raise LeaseLostError(_LOST)
        if self._is_read:
            return None
        if not self._is_prepared:
            self._database.prepare()
            self._is_prepared = True
        if not self._is_claimed:
            self._lease.take(self._database)
            self._is_claimed = True
        # Rows are read in a later transaction than the claim's: who held the lease before can write nothing after it.
        opened = Opened(self._database.rows(self._claim), are_newer=True)
        self._is_read = True
        return opened

    def commit(self, rows: Mapping[PollKey, Stored | None]) -> None:
        """See `Storage.commit`."""
        epoch = self._lease.epoch
        if epoch is None:
            raise LeaseLostError(_LOST)
        try:
            self._database.commit(rows, self._claim, epoch)
        except LeaseLostError:
            self._lease.lose()
            raise

    def holds(self) -> bool:
        """See `Storage.holds`."""
        return self._lease.holds()

    def close(self) -> None:
        """See `Storage.close`."""
        self._lease.release(self._database)
        self._database.close()
