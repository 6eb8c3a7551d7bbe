"""Claims, renews and hands over the leases of shards, on its own thread and connection."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from structlog.typing import FilteringBoundLogger

from exporter.counters.lease_table import Holding, LeaseTable, Renewal
from exporter.counters.rows import StateRow
from exporter.counters.state_database import Group, StateDatabase
from exporter.counters.storage import LeaseHeldError, LeaseLostError, StorageError, report
from exporter.log import logger
from exporter.targets.target import PollKey

# A lease is renewed this many times in its length, and not relied on for its last tenth, because clocks differ.
_RENEWALS = 6
_RELIABLE = 0.9
# If the leases of this exporter may have ended, those of all others may have, too, because the database was
# unreachable. For this part of a lease's length it renews its own leases and claims no others, so that shards do not
# move.
_RETURN = 0.5
# How long the end of the process waits for a renewal in progress.
_LAST_ROUND_SECONDS = 1.0
_LOST = "another exporter has claimed the lease"


def boot_time() -> float:
    """Return seconds that never jump, and that include the time in which the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class StorageObserver(Protocol):
    """Callbacks for changes of the held shards and for operations of the state database, on any thread."""

    def claimed(self, shard: int) -> None:
        """Report that a shard was claimed."""

    def lost(self, shard: int) -> None:
        """Report that another exporter has claimed a shard of this process."""

    def renewed(self) -> None:
        """Report that the database has answered; the held shards may have changed."""

    def held(self, epochs: Mapping[int, int], rows: Mapping[PollKey, StateRow]) -> None:
        """Report the shards that the ledger counts from now on; it counts no others.

        Args:
            epochs: the shards, with the epochs of their leases. If an epoch is new, another exporter may have held the
                shard in the meantime.
            rows: the stored rows of the shards with new epochs.
        """

    def refused(self, rows: int) -> None:
        """Report how many rows were not written, because another exporter has claimed their shards."""

    def took(self, operation: str, seconds: float) -> None:
        """Report how many seconds an operation of the database took."""


@dataclass(eq=False, repr=False)
class Leases:
    """The leases of this process in the state database.

    With `only` it claims that shard once, and not again if it is lost. Without `only` it claims a fair share of all
    shards, hands over the shards that exceed this share, and claims shards that others release.

    Attributes:
        group: the process, and the exporters that it shares shards with.
        connect: creates a connection for the renewal.
        seconds: the lease's length.
        observer: called when shards come and go.
        only: the only shard to claim; None for a fair share.
        clock: seconds that never jump, and that include the time of a suspension.
        held: the shards for which this process may write, as far as it knows, with the epochs of their leases. It is
            replaced as a whole, so that any thread may read it.
        holdings: all leases of the installation at the last renewal.
        has_answered: whether the database has answered a renewal.
        configuration: digests of this process's configuration, for the other exporters; any thread may set it.
        waits: why this process holds no shard, and since when in unix seconds; None if nothing prevents it.
    """

    group: Group
    connect: Callable[[], StateDatabase]
    seconds: float
    observer: StorageObserver
    only: int | None = None
    clock: Callable[[], float] = boot_time
    held: Mapping[int, int] = field(default_factory=dict)
    holdings: tuple[Holding, ...] = ()
    has_answered: bool = False
    configuration: str = "{}"
    waits: tuple[str, float] | None = None
    _different: frozenset[str] = frozenset()
    _log: FilteringBoundLogger = field(default_factory=logger)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _has_lost: bool = False
    _until: float = 0.0
    _is_failing: bool = False
    _shares_from: float = 0.0
    _ending: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def are_certain(self) -> bool:
        """Return whether it is certain now that no other exporter holds any of the held shards."""
        with self._guard:
            return bool(self.held) and self.clock() < self._until

    def take(self, database: StateDatabase) -> None:
        """Claim the only shard, and start to renew its lease.

        Raises:
            LeaseHeldError: another exporter holds it.
            LeaseLostError: this process held it, and another exporter has claimed it since.
            StorageError: the database cannot be used.
        """
        if self.held:
            return
        if self.only is None or self._has_lost:
            raise LeaseLostError(_LOST)
        asked = self.clock()
        try:
            self._add({self.only: LeaseTable(database, self.group, self.configuration).claim(self.only)}, asked)
        except LeaseHeldError as error:
            self._show_waiting(str(error))
            raise
        self._show_waiting("")
        self.start()

    def start(self) -> None:
        """Start to claim and renew a fair share."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
            self._thread.start()

    def lose(self, shard: int, epoch: int) -> None:
        """Record that another exporter has claimed a shard, which was held in this epoch."""
        if self._drop(shard, epoch):
            report(self._log.error, "lease lost to another exporter", shard=f"{shard} of {self.group.shards}")
            self.observer.lost(shard)

    def release(self, database: StateDatabase) -> None:
        """Stop renewing, and release all leases, so that others can claim the shards at once."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(timeout=_LAST_ROUND_SECONDS)
        held = self.held
        for shard, epoch in held.items():
            self._drop(shard, epoch)
        if not held and self.only is not None:
            return
        try:
            LeaseTable(database, self.group).release(held, leaves=True)
        except StorageError as error:
            report(self._log.warning, "leases not released, they end by themselves", error=str(error))

    def _show_waiting(self, reason: str) -> None:
        """Record why this process holds no shard; empty if nothing prevents it."""
        if reason and self.waits is None:
            report(self._log.warning, "waiting for another exporter", reason=reason)
        elif self.waits is not None and not reason:
            report(self._log.info, "no longer waiting for another exporter", reason=self.waits[0])
        self.waits = (reason, time.time() if self.waits is None else self.waits[1]) if reason else None

    def _show_different(self, different: frozenset[str]) -> None:
        """Log when the configurations of the exporters begin to differ, and when they no longer do."""
        if different and not self._different:
            others = ", ".join(sorted(different))
            report(self._log.warning, "exporters poll targets of different sources", others=others)
        elif self._different and not different:
            report(self._log.info, "exporters poll targets of the same sources again")
        self._different = different

    def _add(self, claimed: Mapping[int, int], asked: float) -> None:
        with self._guard:
            if not self.held:
                self._until = asked + self.seconds * _RELIABLE
            self.held = {**self.held, **claimed}
        for shard in claimed:
            self.observer.claimed(shard)

    def _drop(self, shard: int, epoch: int) -> bool:
        with self._guard:
            is_held = self.held.get(shard) == epoch
            if is_held:
                self.held = {other: own for other, own in self.held.items() if other != shard}
                self._has_lost = True
        return is_held

    def _run(self) -> None:
        database = self.connect()
        is_prepared = self.only is not None
        while True:
            try:
                if not is_prepared:
                    database.prepare()
                    is_prepared = True
                self._round(LeaseTable(database, self.group, self.configuration))
            except StorageError as error:
                # Until the leases end, the held shards stay the same.
                if not self._is_failing:
                    report(self._log.warning, "leases not renewed", error=str(error))
                self._is_failing = True
            else:
                self._is_failing = False
                self.has_answered = True
                if not self._ending.is_set():
                    self.observer.renewed()
            if self._ending.wait(self.seconds / _RENEWALS):
                database.close()
                return

    def _round(self, table: LeaseTable) -> None:
        """Renew the leases; then claim missing shards, or hand over those that exceed the share."""
        held, asked = self.held, self.clock()
        if 0 < self._until <= asked:
            self._shares_from = asked + self.seconds * _RETURN
        shares = self.only is None and asked >= self._shares_from
        renewal = table.renew(held, divides=False if self.only is not None else shares or None)
        if self._ending.is_set():
            return
        self.holdings = renewal.holdings
        self._show_different(renewal.different)
        if self.only is None:
            self._show_waiting(renewal.obstacle)
        for shard in renewal.lost:
            self.lose(shard, held[shard])
        with self._guard:
            self._until = asked + self.seconds * _RELIABLE
        if shares:
            self._balance(table, fair_share(renewal, self.group))

    def _balance(self, table: LeaseTable, share: int) -> None:
        held, asked = self.held, self.clock()
        if len(held) < share:
            claimed = table.claim_free(share - len(held), held)
            if claimed and not self._ending.is_set():
                self._add(claimed, asked)
                report(self._log.info, "shards claimed", shards=_numbers(claimed))
        elif len(held) > share:
            # Shards that were claimed last are handed over first. They are no longer served, and then released in the
            # database.
            surplus = dict(list(held.items())[share:])
            for shard, epoch in surplus.items():
                self._drop(shard, epoch)
            report(self._log.info, "shards handed over", shards=_numbers(surplus))
            table.release(surplus)


def fair_share(renewal: Renewal, group: Group) -> int:
    """Return how many shards this process should hold.

    If the shards cannot be divided evenly, the processes that hold the most get one more, so that few shards move.
    """
    members = dict.fromkeys(renewal.members | {group.holder}, 0)
    others = 0
    for holding in renewal.holdings:
        if holding.holder in members:
            members[holding.holder] += 1
        else:
            # The holder has a fixed index, or is not known to run: its shards are not divided.
            others += holding.shards == group.shards
    share, rest = divmod(max(0, group.shards - others), len(members))
    ranks = sorted(members, key=lambda holder: (-members[holder], holder))
    return share + (ranks.index(group.holder) < rest)


def _numbers(shards: Mapping[int, int]) -> str:
    return ", ".join(map(str, sorted(shards)))
