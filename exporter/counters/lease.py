"""The lease of a shard: who may count and serve it, for how long, and its renewal on a thread of its own."""

import threading
import time
from collections.abc import Callable

from exporter.counters.state_database import Claim, StateDatabase
from exporter.counters.storage import LeaseLostError, StorageError, report
from exporter.log import logger

# A lease is renewed so many times in its length, and is not relied on for the last tenth of it: clocks run differently.
_RENEWALS = 6
_RELIABLE = 0.9


def boot_time() -> float:
    """Seconds that never jump, and that go on while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease:
    """A shard's lease in the state database.

    It is claimed once. One that was lost to another exporter is not claimed again: what this process holds in memory
    is then older than what the other one has counted.

    The renewal has its own connection and thread, so that neither a long commit nor a busy event loop loses the lease.

    Args:
        claim: what is claimed.
        connect: makes a connection of the renewal's own.
        seconds: the lease's length.
        lost: called once, on any thread, when another exporter has the lease.
        clock: seconds that never jump, and that count a suspension.
    """

    def __init__(
        self,
        claim: Claim,
        connect: Callable[[], StateDatabase],
        seconds: float,
        lost: Callable[[], None],
        clock: Callable[[], float] = boot_time,
    ) -> None:
        self.claim = claim
        self._lost = lost
        self._connect = connect
        self._seconds = seconds
        self._clock = clock
        self._log = logger()
        self._guard = threading.Lock()
        self._epoch: int | None = None
        self._until = 0.0
        self._ending = threading.Event()

    @property
    def epoch(self) -> int | None:
        """The epoch under which this process writes; None where it may not."""
        return self._epoch

    def holds(self) -> bool:
        """Whether it is certain that no other exporter has the shard at this moment."""
        with self._guard:
            return self._epoch is not None and self._clock() < self._until

    def take(self, database: StateDatabase) -> None:
        """Claim it.

        Raises:
            LeaseHeldError: another one holds it.
            StorageError: the database cannot be used.
        """
        asked = self._clock()
        epoch = database.claim(self.claim)
        with self._guard:
            self._epoch = epoch
            self._until = asked + self._seconds * _RELIABLE
        threading.Thread(target=self._run, name="lease", daemon=True).start()

    def lose(self) -> None:
        """Note that another exporter has it."""
        with self._guard:
            is_news = self._epoch is not None
            self._epoch = None
        if is_news:
            place = f"{self.claim.shard} of {self.claim.shards}"
            report(self._log.error, "lease lost to another exporter", shard=place)
            self._lost()

    def release(self, database: StateDatabase) -> None:
        """Stop renewing it, and let others claim it at once."""
        self._ending.set()
        with self._guard:
            epoch, self._epoch = self._epoch, None
        if epoch is not None:
            try:
                database.release(self.claim, epoch)
            except StorageError as error:
                report(self._log.warning, "lease not released, it ends by itself", error=str(error))

    def _run(self) -> None:
        database = self._connect()
        while not self._ending.wait(self._seconds / _RENEWALS):
            self._renew(database)
        database.close()

    def _renew(self, database: StateDatabase) -> None:
        epoch, asked = self._epoch, self._clock()
        if epoch is None:
            return
        try:
            database.renew(self.claim, epoch)
        except LeaseLostError:
            if self._epoch == epoch and not self._ending.is_set():
                self.lose()
        except StorageError:
            # The ledger reports a database that is away; until the lease ends, nothing changes.
            return
        else:
            with self._guard:
                if self._epoch == epoch:
                    self._until = asked + self._seconds * _RELIABLE
