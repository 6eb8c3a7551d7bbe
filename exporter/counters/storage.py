"""The interface between the ledger and its storage."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from exporter.counters.rows import StateRow
from exporter.targets.target import PollKey


class StorageError(Exception):
    """Nothing can be read or written now; a later attempt may succeed. The message contains no secret."""


class StateLockedError(StorageError):
    """Another process has locked the state file."""


class LeaseHeldError(StorageError):
    """Another exporter holds the lease of the shard, which it renews or which ends."""


class LeaseLostError(StorageError):
    """Another exporter has claimed the lease of the shard: nothing may be written."""


class StoredState(NamedTuple):
    """The rows of a storage that was opened.

    Attributes:
        rows: every row of this exporter.
        are_newer: whether the rows replace those in the ledger's memory, because the memory is empty or another
            exporter may have continued to count; otherwise the ledger writes its own rows.
        is_left: returns whether another exporter now counts a row of the ledger, which then drops it.
    """

    rows: dict[PollKey, StateRow]
    are_newer: bool
    is_left: Callable[[PollKey], bool] = lambda _key: False


class Storage(Protocol):
    """Keeps the ledger's rows; one call at a time is made. By default it keeps nothing."""

    @property
    def location(self) -> str:
        """Where the rows are kept; for logs, without a secret."""
        return ""

    @property
    def is_shared(self) -> bool:
        """Whether other exporters keep their rows in it, too."""
        return False

    async def prepare(self) -> StoredState | None:
        """Make the storage usable; return its rows if it had to be opened, and None if it was open.

        Raises:
            StateLockedError: another process has the state file.
            StorageError: it cannot be used now.
        """
        return None

    async def commit(self, rows: Mapping[PollKey, StateRow | None]) -> Collection[PollKey]:  # noqa: ARG002 - see above
        """Write rows durably, and delete those whose value is None; writing a row again replaces it.

        Returns:
            The keys of rows that were not written, because another exporter counts them now.

        Raises:
            StorageError: not all of the other rows were written.
        """
        return ()

    def holds(self) -> bool:
        """Return whether all rendered counters may be served, because no other exporter counts them."""
        return True

    async def close(self) -> None:
        """Release the storage for others."""
        return


class MemoryStorage(Storage):
    """Keeps nothing: counters start again with each process, and no other process can use its memory."""


class NullObserver:
    """Ignores all events of a ledger and its storage, which only the daemon needs: failed writes are logged."""

    def ignore(self, *_: object) -> None:
        """Ignore an event."""

    corrected = wrote = set_aside = ignore
    claimed = lost = renewed = held = refused = took = ignore


def report(write: Callable[..., object], event: str, **facts: str) -> None:
    """Write a log line if possible: a full disk may hold the log, too, and this must not stop the counters."""
    with suppress(OSError, ValueError):
        write(event, **facts)
