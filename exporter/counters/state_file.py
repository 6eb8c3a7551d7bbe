"""Stores the ledger's rows in the state file: SQLite, which belongs to one process."""

import fcntl
import itertools
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from sys import intern
from typing import TextIO

import msgpack

from exporter.blocking import blocking
from exporter.counters.rows import StateRow, columns, whole_text
from exporter.counters.storage import StateLockedError, Storage, StorageError, StoredState
from exporter.log import logger
from exporter.targets.target import PollKey

SCHEMA_VERSION = 2
# "edge" in ASCII: the application id in SQLite's header.
APPLICATION_ID = 0x65646765
BUSY_SECONDS = 2.0
LARGEST_JOURNAL = 16 * 1024 * 1024
# Files that SQLite keeps next to the database: the journal, and its index.
_JOURNAL = ("-wal", "-shm")

Rows = Mapping[PollKey, StateRow | None]
Column = str | float | bytes


class FileStorage(Storage):
    """Keeps the rows in a state file, whose calls block, on an executor of one thread."""

    def __init__(self, file: "StateFile", thread: Executor) -> None:
        self._file = file
        self._thread = thread

    @property
    def location(self) -> str:
        """The path of the file."""
        return self._file.location

    async def prepare(self) -> StoredState | None:
        """Make the file usable; return its rows if it had to be opened."""
        try:
            return await blocking(self._thread, self._file.prepare)
        except RuntimeError as error:  # no thread can be started now
            raise StorageError(f"{self.location} cannot be used: {error}") from error

    async def commit(self, rows: Rows) -> None:
        """Write rows durably."""
        await blocking(self._thread, self._file.commit, rows)

    async def close(self) -> None:
        """Release the file, after the calls that still run."""
        with suppress(RuntimeError):
            await blocking(self._thread, self._file.close)
        self._thread.shutdown(wait=False)


class StateFile:
    """A state file, which is created if it does not exist. Its calls block.

    A damaged file is renamed and replaced by a new one. A file that was deleted or replaced while the process runs is
    to be written again from memory.

    Args:
        path: the state file.
        clock: unix seconds.
        set_aside: called with unix seconds when a damaged file was renamed. None to leave a damaged file as it is.

    Raises:
        StateLockedError: by `prepare`, if another process has locked it.
        StorageError: by `prepare` and `commit`, if it cannot be used now.
    """

    def __init__(self, path: Path, clock: Callable[[], float], set_aside: Callable[[float], None] | None) -> None:
        self.location = str(path.absolute())
        # By whatever links a process names the file: it has one lock, and SQLite's journal is beside the file itself.
        self._path = Path(os.path.realpath(path))
        self._clock = clock
        self._set_aside = set_aside
        self._log = logger()
        self._lock: TextIO | None = None
        self._database: sqlite3.Connection | None = None
        self._is_read = False
        # The file whose rows are those of this process; None if it was lost.
        self._known: os.stat_result | None = None

    def prepare(self) -> StoredState | None:
        """Lock and open the file; return its rows unless they are those that this process has read or written."""
        try:
            if self._lock is None:
                self._lock = _locked(self._path)
            if self._database is not None and self._is_lost():
                self._log.error("state file was lost, it is written again", path=self.location)
                self._disconnect()
                self._known = None
            return self._open() if self._database is None else None
        except (sqlite3.Error, ValueError, OSError) as error:
            # Read-only, locked by a backup, or a full disk: a later attempt may succeed.
            raise self._unusable(error) from error

    def commit(self, rows: Rows) -> None:
        """Write rows, and delete those whose value is None, all or nothing."""
        if self._database is None:
            raise StorageError("the state file is not open")
        try:
            _write(self._database, rows)
        except sqlite3.Error as error:
            if _error_code(error) not in _HARMLESS:
                # One that was opened as read-only stays so. If the file is damaged, the next opening finds it.
                self._disconnect()
            raise self._unusable(error) from error

    def close(self) -> None:
        """Close the file, and release its lock."""
        self._disconnect()
        if self._lock is not None:
            with suppress(OSError):
                self._lock.close()
            self._lock = None

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _unusable(self, error: Exception) -> StorageError:
        # Most often the file, or a volume, belongs to another user.
        reason = getattr(error, "strerror", None) or error
        return StorageError(f"{self.location}: {reason} (uid {os.geteuid()})")

    def _is_lost(self) -> bool:
        """Return whether the file was deleted, moved, replaced or emptied, so that writes would be lost."""
        try:
            found = self._path.stat()
        except OSError:
            return True
        return self._known is None or not os.path.samestat(found, self._known) or not found.st_size

    def _open(self) -> StoredState | None:
        try:
            return self._read()
        except (sqlite3.Error, ValueError) as error:
            if is_passing(error) or self._set_aside is None:
                raise
            now = self._clock()
            aside = put_aside(self._path, now)
            self._known = None
            self._set_aside(now)
            self._log.error("state file put aside", path=self.location, aside=str(aside), error=str(error))
            return self._read()

    def _read(self) -> StoredState | None:
        database = _connected(self._path)
        try:
            rows, found = dict(_rows(database)), self._path.stat()
        except BaseException:
            database.close()
            raise
        is_same = self._known is not None and os.path.samestat(self._known, found)
        # A file that is found again after it was lost is older than the rows in memory.
        state = None if is_same else StoredState(rows, are_newer=not self._is_read)
        self._known, self._database, self._is_read = found, database, True
        return state


def _connected(path: Path) -> sqlite3.Connection:
    """Open a state file, which is created if it does not exist.

    Raises:
        sqlite3.Error: the file cannot be used; `is_passing` tells whether a retry may help.
        ValueError: this version cannot read the file.
        OSError: the file cannot be created, or was deleted again.
    """
    if not path.exists():
        _create(path)
    elif not path.stat().st_size:
        raise ValueError("it is empty")
    database = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        _prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    version = int(_pragma(database, "user_version"))
    if version > SCHEMA_VERSION:
        raise ValueError(f"its schema is {version}, of a newer exporter; this one reads up to {SCHEMA_VERSION}")
    if _pragma(database, "quick_check(1)") != "ok":
        raise ValueError("its pages are damaged")
    if not version or int(_pragma(database, "application_id")) != APPLICATION_ID:
        # The exporter gives a file its name only when it is complete, so this file is not one of its own.
        raise ValueError("it is another program's database, or has lost its tables")
    with suppress(sqlite3.OperationalError):
        # The journal mode of a read-only file cannot be changed, but the file can be read.
        _pragma(database, "journal_mode=WAL")
    _pragma(database, "synchronous=FULL")
    _pragma(database, f"journal_size_limit={LARGEST_JOURNAL}")
    _migrate(database, version)


def _pragma(database: sqlite3.Connection, text: str) -> str:
    """Return the result of a pragma; empty if it has none."""
    row = database.execute(f"PRAGMA {text}").fetchone()
    return "" if row is None else str(row[0])


def _rows(database: sqlite3.Connection) -> Iterator[tuple[PollKey, StateRow]]:
    """Return every row; raises ValueError if one has an invalid checksum."""
    rows = database.execute("SELECT collector, account, kind, id, name, success, data, checksum FROM row")
    for *values, checksum in rows:
        if zlib.crc32(msgpack.packb(values)) != checksum:
            raise ValueError("a row is damaged")
        collector, account, kind, target_id, name, success, data = values
        # Thousands of rows share these three texts.
        yield PollKey.of(intern(collector), intern(account), intern(kind), target_id), StateRow(name, success, data)


def _write(database: sqlite3.Connection, rows: Rows) -> None:
    written: list[list[Column]] = []
    deleted: list[list[Column]] = []
    for key, row in rows.items():
        texts = map(whole_text, columns(key))
        if row is None:
            deleted.append([*texts])
        else:
            values: list[Column] = [*texts, whole_text(row.name), row.success, row.data]
            written.append([*values, zlib.crc32(msgpack.packb(values))])
    database.execute("BEGIN IMMEDIATE")
    try:
        for size in _ROWS_AT_ONCE:
            whole = len(written) - len(written) % size
            groups = (itertools.chain(*written[start : start + size]) for start in range(0, whole, size))
            database.executemany(_WRITE % ", ".join([_VALUES] * size), map(tuple, groups))
            written = written[whole:]
        database.executemany(_DELETE, deleted)
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


# Each step releases the interpreter's lock, so one writes many rows, with at most 999 parameters. Only three sizes:
# prepared statements stay in memory.
_ROWS_AT_ONCE = (100, 10, 1)
_VALUES = "(?, ?, ?, ?, ?, ?, ?, ?)"
_WRITE = """
    INSERT INTO row VALUES %s ON CONFLICT DO UPDATE
    SET name = excluded.name, success = excluded.success, data = excluded.data, checksum = excluded.checksum
"""
_DELETE = "DELETE FROM row WHERE collector = ? AND account = ? AND kind = ? AND id = ?"

# Entry n changes schema n to n + 1. SQLite keeps no checksums of its content, so each row has one.
MIGRATIONS = (
    f"""
    CREATE TABLE row (
        collector TEXT NOT NULL, account TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
        name TEXT NOT NULL, success REAL NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (collector, account, kind, id)
    );
    PRAGMA application_id = {APPLICATION_ID};
    """,
    # The data of rows are written in another form since.
    "",
)


def _migrate(database: sqlite3.Connection, version: int) -> None:
    for step in range(version, SCHEMA_VERSION):
        database.executescript(f"BEGIN; {MIGRATIONS[step]} PRAGMA user_version = {step + 1}; COMMIT;")


def _create(path: Path) -> None:
    """Create a state file under another name, and rename it when it is complete: an empty one is always damaged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = _beside(path, ".new")
    # SQLite would take a journal that a deleted file has left for that of the new one.
    for old in (fresh, *(_beside(path, suffix) for suffix in _JOURNAL)):
        old.unlink(missing_ok=True)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as database:
        _migrate(database, 0)
    fresh.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _beside(path: Path, suffix: str) -> Path:
    """Return a file next to the state file."""
    return path.with_name(path.name + suffix)


def _locked(path: Path) -> TextIO:
    """Lock a state file for this process, until the returned file, which is next to it, is closed.

    Raises:
        StateLockedError: another process has locked it.
        OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = _beside(path, ".lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        holder = lock.read(64).strip()
        lock.close()
        who = f" (process {holder})" if holder else ""
        raise StateLockedError(f"{path}: another exporter{who} is using this state file") from error
    except OSError:
        lock.close()
        raise
    # The lock works without this text, which informs people. On a full disk it is not written.
    with suppress(OSError):
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
    return lock


def put_aside(path: Path, now: float) -> Path:
    """Rename a state file that cannot be read, and its journal; return the new name.

    Raises:
        OSError: the folder cannot be written.
    """
    name = f"{path.name}.corrupt-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    aside = next(place for place in map(path.with_name, names) if not os.path.lexists(place))
    # The file itself is renamed last: SQLite would delete a journal without a file.
    for suffix in (*_JOURNAL, ""):
        with suppress(FileNotFoundError):
            _beside(path, suffix).rename(_beside(aside, suffix))
    return aside


# Errors that do not concern the file's content: it is locked or read-only, disk or memory is full, or the disk fails.
_PASSING = frozenset(
    getattr(sqlite3, f"SQLITE_{name}")
    for name in ["PERM", "BUSY", "LOCKED", "NOMEM", "READONLY", "IOERR", "FULL", "CANTOPEN", "PROTOCOL", "AUTH"]
)
# After these errors the connection is still usable. To close it would make room on a full disk, for one more commit.
_HARMLESS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL})


def _error_code(error: BaseException) -> int:
    """Return SQLite's error without its details, which the other bytes give."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def is_passing(error: BaseException) -> bool:
    """Return whether a retry may help: the file is locked or read-only, or the disk is full."""
    return _error_code(error) in _PASSING
