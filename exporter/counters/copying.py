"""Copies the counters' state from one storage to another, exactly."""

import sqlite3
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from exporter.counters.state_file import StateFile, StateLock
from exporter.counters.storage import Opened, Storage, StorageError, Stored
from exporter.targets.target import PollKey


class CopyError(Exception):
    """The state cannot be copied; the message says why, and contains no secret."""


class WholeFile:
    """A state file that is read or written as a whole; a damaged one is not moved.

    Args:
        path: the state file.
        may_be_made: whether to create the file if it does not exist.
    """

    is_shared = False

    def __init__(self, path: Path, *, may_be_made: bool) -> None:
        self.location = str(path)
        self._path = path
        self._may_be_made = may_be_made
        self._lock: StateLock | None = None
        self._file: StateFile | None = None

    def prepare(self) -> Opened:
        """Lock and open the file, and return its rows."""
        if not self._may_be_made and not self._path.exists():
            raise StorageError("there is no such file")
        try:
            self._lock = StateLock(self._path)
            self._file = StateFile(self._path)
            return Opened(dict(self._file.rows()), are_newer=True)
        except (sqlite3.Error, ValueError, OSError) as error:
            raise StorageError(str(error)) from error

    def commit(self, rows: Mapping[PollKey, Stored | None]) -> Collection[PollKey]:
        """Write rows in one transaction; return no refused rows, because a file has one owner."""
        try:
            if self._file is not None:
                self._file.commit(rows)
        except sqlite3.Error as error:
            raise StorageError(str(error)) from error
        return ()

    def holds(self) -> bool:
        """Return whether the file is locked."""
        return self._lock is not None

    def close(self) -> None:
        """Close the file, then release its lock."""
        if self._file is not None:
            self._file.close()
        if self._lock is not None:
            self._lock.release()


def copy_state(source: Callable[[], Storage], target: Callable[[], Storage]) -> int:
    """Copy every row to an empty storage, then read the copy and compare it.

    Args:
        source: creates the storage that is copied and not changed.
        target: creates the storage that is written.

    Returns:
        The number of copied rows.

    Raises:
        CopyError: an exporter runs on one of the two, the target contains rows, or one of them cannot be used.
    """
    origin = source()
    try:
        rows = _rows(origin)
        _write(target(), rows)
        written = target()
        try:
            if _rows(written) != rows:
                raise CopyError(f"{written.location}: what was written differs from {origin.location}; do not use it")
        finally:
            written.close()
    finally:
        origin.close()
    return len(rows)


def _write(storage: Storage, rows: Mapping[PollKey, Stored]) -> None:
    try:
        if found := len(_rows(storage)):
            raise CopyError(f"{storage.location}: holds {found} rows already; expected an empty state")
        try:
            storage.commit(rows)
        except StorageError as error:
            raise CopyError(f"{storage.location}: {error}") from None
    finally:
        storage.close()


def _rows(storage: Storage) -> dict[PollKey, Stored]:
    try:
        opened = storage.prepare()
    except StorageError as error:
        raise CopyError(f"{storage.location}: {error}") from None
    return opened.rows if opened is not None else {}
