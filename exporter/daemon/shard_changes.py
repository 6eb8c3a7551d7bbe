"""Counts what becomes of the shards' leases, and hands changes over to the ledger and to the event loop."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from exporter.counters.storage import Stored
from exporter.targets.target import PollKey
from exporter.telemetry import Telemetry


class HeldShards(NamedTuple):
    """The shards that the ledger counts from now on, and no others.

    Attributes:
        epochs: the shards, with the epochs of their leases. Where the epoch is new, another exporter may have had the
            shard meanwhile.
        rows: what was read of the shards whose epochs are new.
    """

    epochs: Mapping[int, int]
    rows: Mapping[PollKey, Stored]


class ShardChanges:
    """Observes the storage in a state database (see `exporter.counters.database_storage.StorageObserver`).

    Args:
        telemetry: where it is counted.
        lost: called when another exporter has claimed a shard.
        renewed: called when the database has answered a renewal.
        held: called when the ledger counts other shards than before.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        *,
        lost: Callable[[], object],
        renewed: Callable[[], object],
        held: Callable[[HeldShards], object],
    ) -> None:
        self._telemetry = telemetry
        self._lost = lost
        self._renewed = renewed
        self._held = held

    def claimed(self, shard: int) -> None:
        """Count a claim of a shard."""
        self._telemetry.shard_takeovers.labels(str(shard)).inc()

    def lost(self, shard: int) -> None:
        """Count the loss of a shard, and report it."""
        self._telemetry.shard_losses.labels(str(shard)).inc()
        self._lost()

    def renewed(self) -> None:
        """Report that the leases were renewed."""
        self._renewed()

    def held(self, epochs: Mapping[int, int], rows: Mapping[PollKey, Stored]) -> None:
        """Report the shards that are held, and their rows."""
        self._held(HeldShards(epochs, rows))

    def refused(self, rows: int) -> None:
        """Count rows that the database refused."""
        self._telemetry.refused_rows.inc(rows)

    def took(self, operation: str, seconds: float) -> None:
        """Observe how long an operation of the database took."""
        self._telemetry.state_database.labels(operation).observe(seconds)
