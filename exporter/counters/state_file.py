"""Stores the ledger's rows in the state file: an SQLite database that one exporter writes."""

import fcntl
import os
import sqlite3
import zlib
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

import msgspec

from exporter.blocking import blocking
from exporter.counters.rows import StateRow, from_columns, key_columns, to_columns
from exporter.counters.storage import Changes, StateLockedError, Storage, StorageError
from exporter.log import logger
from exporter.targets.target import PollKey

SCHEMA_VERSION = 4
# How many seconds the exporter waits if another process has locked the database; `rows_of` waits longer.
BUSY_SECONDS = 2.0
_READING_SECONDS = 10.0
# The suffixes of the files that SQLite keeps next to the database: the journal, and the index of the journal.
_JOURNAL = ("-wal", "-shm")
# Errors after which the connection stays open. A full disk is one of them: closing the connection would remove the
# journal, which frees a little room, so that commits would succeed and fail in turns.
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL})
# Errors that mean that the content of the file is damaged; SQLITE_ERROR means that a table is missing.
_DAMAGES = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class FileStorage(Storage):
    """Keeps the rows in a state file, which is created if it does not exist.

    A file that is damaged, or has another schema, is renamed and replaced by a new one. A file that was deleted or
    replaced while the process runs is written again from memory.

    Args:
        clock: returns unix seconds.
        set_aside: called on the thread with unix seconds, when a file was renamed.
        thread: an executor of one thread, for the calls that block.

    Raises:
        FileNotFoundError: the path is relative to a working directory that was removed.
    """

    def __init__(
        self, path: Path, clock: Callable[[], float], set_aside: Callable[[float], None], thread: Executor
    ) -> None:
        self.location = str(path.absolute())
        # Symbolic links are resolved, so that every link to the file leads to the same lock and to SQLite's journal.
        self._path = Path(os.path.realpath(path))
        self._clock = clock
        self._on_set_aside = set_aside
        self._thread = thread
        self._log = logger()
        self._lock: TextIO | None = None
        self._database: sqlite3.Connection | None = None
        # The device and the inode of the file that is open.
        self._file_id = (0, 0)
        self._is_read = False

    async def keep_open(self) -> bool:
        """Return whether the file is open, and is still the one that was opened."""
        return await blocking(self._thread, self._has_file_open)

    async def open(self) -> dict[PollKey, StateRow]:
        """Lock and open the file. The first time, return its rows; later none, because the ledger has newer rows."""
        return await blocking(self._thread, self._lock_and_open)

    async def commit(self, changes: Changes, *, takes_over: bool = True) -> None:  # noqa: ARG002 - one exporter
        """Write and delete rows durably, all or nothing."""
        await blocking(self._thread, self._commit, changes)

    async def close(self) -> None:
        """Wait for calls that still run; then close the file, and release the lock."""
        await blocking(self._thread, self._close)
        self._thread.shutdown(wait=False)

    # The methods from here on run on the thread.

    def _has_file_open(self) -> bool:
        # Rows that are written to a file that is no longer at the path, or was emptied, are lost.
        try:
            found = self._path.stat()
        except OSError:
            return False
        is_same = found.st_size > 0 and (found.st_dev, found.st_ino) == self._file_id
        return is_same and self._database is not None

    def _lock_and_open(self) -> dict[PollKey, StateRow]:
        try:
            # If a file has the name of the folder, opening the lock fails, with a clearer error.
            with suppress(FileExistsError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._lock is None:
                self._lock = _take_lock(self._path)
            # If a file is open here, `_has_file_open` has found that it is no longer at its path, or was emptied.
            if self._database is not None:
                self._log.error("state file was lost, it is written again", path=self.location)
                self._disconnect()
            rows = self._open_or_replace()
        except (sqlite3.Error, ValueError, OSError) as error:
            self._disconnect()
            raise self._unusable(error) from error
        if self._is_read:
            # The ledger has newer rows in memory.
            return {}
        self._is_read = True
        return rows

    def _commit(self, changes: Changes) -> None:
        if self._database is None:
            raise StorageError("the state file is not open")
        written = [(*values, _checksum(values)) for values in to_columns(changes)]
        deleted = [key_columns(key) for key, row in changes.items() if row is None]
        try:
            with self._database:
                self._database.executemany(_DELETE, deleted)
                self._database.executemany(_WRITE, written)
        except sqlite3.Error as error:
            # The next attempt opens the file again: the file may be writable by then, and a damaged file is replaced.
            if _code(error) not in _PASSING:
                self._disconnect()
            raise self._unusable(error) from error

    def _close(self) -> None:
        self._disconnect()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _unusable(self, error: Exception) -> StorageError:
        # `strerror` does not repeat the path. The uid is shown: the usual cause is a file or volume of another user.
        reason = getattr(error, "strerror", None) or error
        return StorageError(f"{self.location}: {reason} (uid {os.geteuid()})")

    def _open_or_replace(self) -> dict[PollKey, StateRow]:
        try:
            return self._open_and_check()
        except (sqlite3.DatabaseError, ValueError) as error:
            if isinstance(error, sqlite3.Error) and _code(error) not in _DAMAGES:
                raise
            self._disconnect()
            now = self._clock()
            aside = rename_aside(self._path, now)
            self._on_set_aside(now)
            self._log.error("state file set aside", path=self.location, aside=str(aside), error=str(error))
            return self._open_and_check()

    def _open_and_check(self) -> dict[PollKey, StateRow]:
        """Return the rows; raises ValueError or sqlite3.Error if the file is empty, damaged or of another schema."""
        is_new = not self._path.exists()
        if not is_new and not self._path.stat().st_size:
            # SQLite would take an empty file for a new database, and the loss of the rows would not be reported.
            raise ValueError("it is empty")
        self._database = database = sqlite3.connect(self._path, timeout=BUSY_SECONDS)
        if is_new:
            try:
                database.executescript(_CREATE)
            except sqlite3.Error:
                # The next attempt would take an incomplete new file for a damaged one.
                self._path.unlink()
                raise
        ((version,),) = database.execute("PRAGMA user_version")
        if version != SCHEMA_VERSION:
            raise ValueError(f"its schema is {version}; expected {SCHEMA_VERSION}")
        if database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise ValueError("its pages are damaged")
        rows = database.execute(_ROWS).fetchall()
        if any(checksum != _checksum(values) for *values, checksum in rows):
            raise ValueError("a row is damaged")
        # With this setting, a commit is on disk before the call returns.
        database.execute("PRAGMA synchronous = FULL")
        found = self._path.stat()
        self._file_id = (found.st_dev, found.st_ino)
        return from_columns(values for *values, _ in rows)


# SQLite does not notice a damaged value, so each row has a checksum.
_CREATE = f"""
    PRAGMA journal_mode = WAL;
    BEGIN;
    CREATE TABLE row (
        collector TEXT NOT NULL, account TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
        name TEXT NOT NULL, success REAL NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (collector, account, kind, id)
    );
    PRAGMA user_version = {SCHEMA_VERSION};
    COMMIT;
"""
_ROWS = "SELECT collector, account, kind, id, name, success, data, checksum FROM row"
_WRITE = """
    INSERT INTO row VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET name = excluded.name, success = excluded.success, data = excluded.data, checksum = excluded.checksum
"""
_DELETE = "DELETE FROM row WHERE collector = ? AND account = ? AND kind = ? AND id = ?"


def rows_of(path: Path, collectors: Collection[str]) -> dict[PollKey, StateRow]:
    """Return the rows of some collectors in a state file, also while an exporter uses it. Checksums are not compared.

    Raises:
        StorageError: the file cannot be read.
    """
    statement = f"{_ROWS} WHERE collector IN ({', '.join('?' * len(collectors))})"
    try:
        address = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_READING_SECONDS)) as database:
            return from_columns(values for *values, _ in database.execute(statement, tuple(collectors)))
    except sqlite3.Error as error:
        raise StorageError(f"{path} cannot be read: {error}") from error


def _checksum(values: object) -> int:
    return zlib.crc32(msgspec.msgpack.encode(values))


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _take_lock(path: Path) -> TextIO:
    """Lock a state file by a lock on a file next to it. The lock lasts until the returned file is closed."""
    lock = _beside(path, ".lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise StateLockedError(f"{path}: another exporter is using this state file") from error
    return lock


def rename_aside(path: Path, now: float) -> Path:
    """Rename an unusable state file, and its journal. Return the new path, which shows the time `now` (unix seconds).

    Raises:
        OSError: a file cannot be renamed.
    """
    aside = _beside(path, f".corrupt-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}")
    # The file itself is renamed last: SQLite would delete a journal without a file.
    for suffix in (*_JOURNAL, ""):
        with suppress(FileNotFoundError):
            _beside(path, suffix).rename(_beside(aside, suffix))
    return aside


def _code(error: sqlite3.Error) -> int:
    """Return the primary code of an error, without the extended part; an error without a code is an SQLITE_ERROR."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
