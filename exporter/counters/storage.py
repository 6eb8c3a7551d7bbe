"""The interface of the storages in which the ledger keeps its rows."""

from collections.abc import Mapping
from typing import Protocol

from exporter.counters.rows import StateRow
from exporter.targets.target import PollKey

# Key → the row to write, or None if the row is to be deleted.
Changes = Mapping[PollKey, StateRow | None]


class StorageError(Exception):
    """The storage cannot be used now; a later attempt may succeed. The message contains no secret."""


class StateLockedError(StorageError):
    """Another process has locked the state file."""


class ShardTakenError(StorageError):
    """Another exporter may count the shard of this process, so this process must not write any more."""


class Storage(Protocol):
    """Keeps the ledger's rows, in a file (`state_file.py`) or in PostgreSQL (`postgres_storage.py`).

    The ledger awaits one method at a time. The methods of this class do nothing: `MemoryStorage` inherits them.

    Attributes:
        location: where the rows are kept, without a secret.
        pulse: about the longest time between two calls of `keep_open`, in seconds.
    """

    location: str = ""
    pulse: float = 3600.0

    async def keep_open(self) -> bool:
        """Return whether the storage is open, and keep it open. If it is closed, the ledger calls `open`.

        Raises:
            StorageError: the storage cannot be used now.
        """
        return True

    async def open(self) -> dict[PollKey, StateRow]:
        """Open the storage, for the first time or again, and return the stored rows.

        After an empty result, the ledger writes all of its rows again.

        Raises:
            StateLockedError: another process has the state file.
            ShardTakenError: another exporter may count the shard.
            StorageError: the storage cannot be used now.
        """
        return {}

    async def commit(self, changes: Changes, *, takes_over: bool = True) -> None:  # noqa: ARG002 - keeps nothing
        """Write rows durably, in place of rows with the same key. Delete the rows of keys with the value None.

        If `takes_over` is False, stored rows that belong to another exporter's shard are kept.

        Raises:
            StorageError: all or some of the rows may not have been written or deleted.
        """
        return

    def is_certain(self) -> bool:
        """Return whether it is certain that no other exporter counts the rows of this storage."""
        return True

    async def close(self) -> None:
        """Close the storage, and release it for other processes."""
        return


class MemoryStorage(Storage):
    """Keeps nothing: counters start at 0 when a process starts."""
