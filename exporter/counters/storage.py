"""The interface between the ledger and its storage."""

from collections.abc import Mapping
from typing import Protocol

from exporter.counters.rows import StateRow
from exporter.targets.target import PollKey

# Rows to write, and None for those to delete.
Changes = Mapping[PollKey, StateRow | None]


class StorageError(Exception):
    """The storage cannot be used now; a later attempt may succeed. The message contains no secret."""


class StateLockedError(StorageError):
    """Another process has locked the state file."""


class ShardTakenError(StorageError):
    """Another exporter may count the shard of this process, so this process must not write any more."""


class Storage(Protocol):
    """Keeps the ledger's rows, in a file (`state_file.py`) or in PostgreSQL (`postgres_storage.py`).

    The ledger awaits one method at a time. The methods here are those of a storage that keeps nothing.

    Attributes:
        location: where the rows are kept, without a secret.
        pulse: about the longest time between two calls of `keep_open`, in seconds.
    """

    location: str = ""
    pulse: float = 3600.0

    async def keep_open(self) -> bool:
        """Keep the storage open, and return whether it is; if not, or not any more, the ledger opens it.

        Raises:
            StorageError: it cannot be used now.
        """
        return True

    async def open(self) -> dict[PollKey, StateRow]:
        """Open the storage, also after it was lost, and return its rows; none if the ledger is to write all rows again.

        Raises:
            StateLockedError: another process has the state file.
            ShardTakenError: another exporter may count the shard.
            StorageError: it cannot be used now.
        """
        return {}

    async def commit(self, changes: Changes) -> None:  # noqa: ARG002 - keeps nothing
        """Write rows durably, in place of those with the same key, and delete those whose value is None.

        Raises:
            StorageError: the rows may not have been written, or only some of them.
        """
        return

    def is_certain(self) -> bool:
        """Return whether it is certain that no other exporter counts these rows."""
        return True

    async def close(self) -> None:
        """Release the storage for others."""
        return


class MemoryStorage(Storage):
    """Keeps nothing: counters start again with each process."""
