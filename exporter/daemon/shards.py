"""Follows the shards that this process holds: their rows in the ledger, and the leases of exporters that share them."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress

from exporter.clock import Clocks
from exporter.counters.ledger import Ledger
from exporter.counters.on_thread import OnThread
from exporter.counters.rows import StateRow, lists
from exporter.counters.state_file import FileStorage
from exporter.counters.storage import MemoryStorage, Storage
from exporter.explain.cause import moment
from exporter.polling.script_budgets import BUDGET_ROWS
from exporter.settings.model import Settings
from exporter.targets.registry import Registry
from exporter.targets.sharding import Share
from exporter.targets.target import PollKey
from exporter.telemetry import Telemetry
from exporter.wiring.from_settings import addresses, digests
from exporter.wiring.state_storage import database_storage


class Shards:
    """Opens the state of this process's shards, and reports which shards it holds.

    Observes the storage in a state database (see `exporter.counters.lease.StorageObserver`), on any thread.

    Args:
        settings: the shards, and where their state is.
        telemetry: where leases are counted.
        held: called, on any thread, with the epochs of the shards that are to be polled from now on and with the rows
            of those that are new.
        lost: called, on any thread, when another exporter has claimed the only shard of this process.

    Attributes:
        share: the shards at the start.
        database: the storage in a state database; None if the state is elsewhere.
        storage: the storage of the ledger.
        ledger: counts polls, and stores the counters.
        registry: the targets of these shards.
        is_lost: whether another exporter has claimed the only shard of this process.
    """

    def __init__(
        self,
        settings: Settings,
        telemetry: Telemetry,
        clocks: Clocks,
        *,
        held: Callable[[Mapping[int, int], Mapping[PollKey, StateRow]], object],
        lost: Callable[[], object],
    ) -> None:
        self.is_lost = False
        self._telemetry = telemetry
        self._held = held
        self._lost = lost
        shard, state = settings.shard, settings.state
        self.share = (
            Share(frozenset(), shard.total, may_change=True) if shard.is_leased else shard.shard(socket.gethostname())
        )
        self.registry = Registry(self.share)
        self.database = database_storage(state, self.share, self, self._shard_of) if state.is_shared else None
        if self.database is not None:
            self.storage: Storage = OnThread(self.database)
        elif state.path is not None:
            self.storage = OnThread(FileStorage(state.path, clocks.wall, telemetry.set_aside))
        else:
            self.storage = MemoryStorage()
        self._loop = asyncio.get_running_loop()
        self.ledger = Ledger(
            self.storage, telemetry, clocks=clocks, retention=state.retention, addresses=addresses(settings)
        )
        self.configure(settings)

    def configure(self, settings: Settings) -> None:
        """Let the other exporters compare their configuration with these settings."""
        if self.database is not None:
            self.database.leases.configuration = digests(settings)

    def waits(self) -> str:
        """Return why this process holds no shard, and since when; empty if nothing prevents it."""
        waits = None if self.database is None else self.database.leases.waits
        return "" if waits is None else f"{waits[0]} (since {moment(waits[1])})"

    def _shard_of(self, key: PollKey) -> int | None:
        return self.registry.shard_of(key.target) if self.share.may_change else self.share.first

    def take_in(self, rows: Mapping[PollKey, StateRow]) -> None:
        """Take in the names and lists of targets from rows of an earlier run, or of another exporter."""
        names = {key.target: row.name for key, row in rows.items() if row.name and key.collector != BUDGET_ROWS}
        self.registry.remember(names)
        for place, packed in lists(rows).items():
            # A list of this run is newer.
            if self.registry.is_listed_whole(*place) is None:
                self.registry.directory.restore(place, packed)

    def begin(self) -> None:
        """Show the shards, and leave the rows of targets that another shard counts now, from its own first poll."""
        rows = list(self.ledger.remembered())
        self.ledger.leave([key for key in rows if self.registry.is_strange(key.target)])
        total, held = self.share.total, self.share.held
        self._telemetry.declare_shards(range(total) if self.share.may_change else held, self._is_held)
        self._telemetry.show_shards(total, dict.fromkeys(held))
        self._telemetry.shard_waiting.set_function(lambda: bool(self.waits()))

    def _is_held(self, shard: int) -> bool:
        return shard in self.database.counted() if self.database is not None else self.storage.holds()

    def claimed(self, shard: int) -> None:
        """Count a claim of a shard."""
        self._telemetry.shard_takeovers.labels(str(shard)).inc()

    def lost(self, shard: int) -> None:
        """Count the loss of a shard, and drop it; report it where this process can have no other."""
        self._telemetry.shard_losses.labels(str(shard)).inc()
        if self.share.may_change:
            self._wake()
        else:
            self.is_lost = True
            self._lost()

    def renewed(self) -> None:
        """Make the ledger read the rows of new shards, or write unsaved ones."""
        if self.database is not None and (self.database.is_behind() or self.ledger.fault):
            self._wake()

    def _wake(self) -> None:
        # The event loop may have ended.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.ledger.wake)

    def held(self, epochs: Mapping[int, int], rows: Mapping[PollKey, StateRow]) -> None:
        """Report the shards that are held, and their rows."""
        if self.share.may_change:
            # The event loop may have ended.
            with suppress(RuntimeError):
                self._held(epochs, rows)

    def refused(self, rows: int) -> None:
        """Count rows that the database refused."""
        self._telemetry.refused_rows.inc(rows)

    def took(self, operation: str, seconds: float) -> None:
        """Observe how long an operation of the database took."""
        self._telemetry.state_database.labels(operation).observe(seconds)
