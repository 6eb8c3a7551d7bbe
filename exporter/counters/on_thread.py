"""Runs a storage whose calls block, such as a file's, on a thread of its own."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Protocol, TypeVar

from exporter.blocking import blocking
from exporter.counters.rows import StateRow
from exporter.counters.storage import Storage, StorageError, StoredState
from exporter.targets.target import PollKey

R = TypeVar("R")


class BlockingStorage(Protocol):
    """A storage whose calls block; see `exporter.counters.storage.Storage`."""

    @property
    def location(self) -> str:
        """Where the rows are kept."""

    def prepare(self) -> StoredState | None:
        """Make the storage usable."""

    def commit(self, rows: Mapping[PollKey, StateRow | None]) -> None:
        """Write rows."""

    def close(self) -> None:
        """Release the storage."""


class OnThread(Storage):
    """Makes the calls of a blocking storage on an executor of one thread, so that the event loop waits for none."""

    def __init__(self, storage: BlockingStorage, thread: Executor) -> None:
        self._storage = storage
        self._thread = thread

    @property
    def location(self) -> str:
        """Where the rows are kept."""
        return self._storage.location

    async def prepare(self) -> StoredState | None:
        """Make the storage usable; return its rows if it had to be opened."""
        return await self._run(self._storage.prepare)

    async def commit(self, rows: Mapping[PollKey, StateRow | None]) -> None:
        """Write rows durably."""
        await self._run(self._storage.commit, rows)

    async def close(self) -> None:
        """Release the storage, after the calls that still run."""
        await self._run(self._storage.close)
        self._thread.shutdown(wait=False)

    async def _run(self, call: Callable[..., R], *arguments: object) -> R:
        try:
            return await blocking(self._thread, call, *arguments)
        except RuntimeError as error:
            raise StorageError(f"{self.location} cannot be used: {error}") from error
