"""Stores the ledger in a SQLite file that belongs to one process."""

import sqlite3
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from exporter.counters.state_file import (
    StateFile,
    StateLock,
    is_passing,
    put_aside,
    spoils_connection,
)
from exporter.counters.storage import Opened, StorageError, Stored, report
from exporter.log import logger
from exporter.targets.target import PollKey


class FileStorage:
    """Keeps rows in a state file, which is created if it does not exist.

    A damaged file is renamed and replaced by a new one. A file that was deleted or replaced while the process runs is
    written again from memory.

    Args:
        path: the state file.
        clock: unix seconds.
        set_aside: called with unix seconds when state was lost: a damaged file was renamed, or a file had lost its
            journal.
    """

    is_shared = False

    def __init__(self, path: Path, clock: Callable[[], float], set_aside: Callable[[float], None]) -> None:
        self.location = str(path.absolute())
        self._path = path
        self._clock = clock
        self._set_aside = set_aside
        self._log = logger()
        self._is_read = False
        self._damage: sqlite3.Error | None = None
        self._lock: StateLock | None = None
        self._file: StateFile | None = None

    def prepare(self) -> Opened | None:
        """Lock and open the file, and return the rows that this process has not read yet; None if there are none."""
        try:
            is_taken = self._hold_lock()
            if self._file is not None and (is_taken or self._file.is_lost()):
                # Without the lock, another exporter may have used the file: its rows are read again.
                what = "file or journal" if self._file.is_lost() else "lock"
                self._say(self._log.error, "state file was lost, it is written again", lost=what)
                self._file.close()
                self._file = None
            return self._open() if self._file is None else None
        except (sqlite3.Error, ValueError, OSError) as error:
            # Read-only, locked by a backup, or a full disk: a later attempt may succeed.
            raise StorageError(str(error)) from error

    def commit(self, rows: Mapping[PollKey, Stored | None]) -> Collection[PollKey]:
        """Write rows in one transaction; return no refused rows, because a file has one owner."""
        if self._file is None or self._lock is None:
            raise StorageError("the state file is not open")
        try:
            self._file.commit(rows)
        except sqlite3.Error as error:
            if spoils_connection(error):
                self._file.close()
                self._file, self._damage = None, None if is_passing(error) else error
            raise StorageError(str(error)) from error
        self._lock.note_journal(has_journal=True)
        return ()

    def holds(self) -> bool:
        """Return True: the lock excludes other exporters while the process runs."""
        return True

    def close(self) -> None:
        """Close the file, record whether its journal is empty, and release the lock."""
        if self._file is not None and self._file.close() and self._lock is not None:
            self._lock.note_journal(has_journal=False)
        if self._lock is not None:
            self._lock.release()

    def _hold_lock(self) -> bool:
        """Take the lock if it is not held; return whether it had to be taken."""
        if self._lock is not None and not self._lock.holds():
            self._lock.release()
            self._lock = None
        if self._lock is None:
            self._lock = StateLock(self._path)
            return True
        return False

    def _open(self) -> Opened:
        try:
            if self._damage is not None:
                raise self._damage
            return self._read()
        except (sqlite3.Error, ValueError) as error:
            if is_passing(error):
                raise
            self._put_aside(error)
            return self._read()

    def _put_aside(self, error: Exception) -> None:
        now = self._clock()
        aside = put_aside(self._path, now)
        self._damage = None
        self._set_aside(now)
        self._say(self._log.error, "state file put aside", aside=str(aside), error=str(error))

    def _read(self) -> Opened:
        file = StateFile(self._path)
        try:
            rows = dict(file.rows())
        except BaseException:
            file.close()
            raise
        if not self._is_read:
            self._check_journal(file)
        # A file that is found again after it was lost is older than the rows in memory.
        opened = Opened(rows, are_newer=not self._is_read)
        self._file, self._is_read = file, True
        return opened

    def _check_journal(self, file: StateFile) -> None:
        """Report a journal that was deleted after a kill: the file alone is older than the served counters."""
        is_missed = self._lock is not None and self._lock.has_journal and not file.is_new
        if is_missed and not file.had_journal:
            self._set_aside(self._clock())
            self._say(self._log.error, "state file has lost its journal, counters continue from an older state")

    def _say(self, write: Callable[..., object], event: str, **facts: str) -> None:
        report(write, event, path=self.location, **facts)
