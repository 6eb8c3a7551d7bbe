"""Stores the ledger's rows in the state file: SQLite, which belongs to one process."""

import fcntl
import itertools
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from sys import intern
from typing import TextIO

import msgpack

from exporter.counters.rows import StateRow, columns, whole_text
from exporter.counters.storage import StateLockedError, StorageError, StoredState, report
from exporter.log import logger
from exporter.targets.target import PollKey

SCHEMA_VERSION = 2
# "edge" in ASCII: the application id in SQLite's header.
APPLICATION_ID = 0x65646765
BUSY_SECONDS = 2.0
LARGEST_JOURNAL = 16 * 1024 * 1024
# Files that SQLite keeps next to the database: the journal, and its index.
_JOURNAL = ("-wal", "-shm")

Column = str | float | bytes


class FileStorage:
    """Keeps rows in a state file, which is created if it does not exist.

    A damaged file is renamed and replaced by a new one. A file that was deleted or replaced while the process runs is
    written again from memory.

    Args:
        path: the state file.
        clock: unix seconds.
        set_aside: called with unix seconds when a damaged file was renamed. None to leave a damaged file as it is.
    """

    def __init__(self, path: Path, clock: Callable[[], float], set_aside: Callable[[float], None] | None) -> None:
        self.location = str(path.absolute())
        # By whatever links a process names the file: it has one lock, and SQLite's journal is beside the file itself.
        self._path = Path(os.path.realpath(path))
        self._clock = clock
        self._set_aside = set_aside
        self._log = logger()
        self._is_read = False
        self._damage: sqlite3.Error | None = None
        self._lock: StateLock | None = None
        self._file: StateFile | None = None

    def prepare(self) -> StoredState | None:
        """Lock and open the file, and return the rows that this process has not read yet; None if there are none."""
        try:
            if self._lock is None:
                self._lock = StateLock(self._path)
            if self._file is not None and self._file.is_lost():
                self._say(self._log.error, "state file was lost, it is written again")
                self._file.close()
                self._file = None
            return self._open() if self._file is None else None
        except (sqlite3.Error, ValueError, OSError) as error:
            # Read-only, locked by a backup, or a full disk: a later attempt may succeed.
            raise self._unusable(error) from error

    def commit(self, rows: Mapping[PollKey, StateRow | None]) -> None:
        """Write rows in one transaction."""
        if self._file is None:
            raise StorageError("the state file is not open")
        try:
            self._file.commit(rows)
        except sqlite3.Error as error:
            if spoils_connection(error):
                self._file.close()
                self._file, self._damage = None, None if is_passing(error) else error
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> StorageError:
        # Most often the file, or a volume, belongs to another user.
        reason = getattr(error, "strerror", None) or error
        return StorageError(f"{self.location}: {reason} (uid {os.geteuid()})")

    def close(self) -> None:
        """Close the file, and release the lock."""
        if self._file is not None:
            self._file.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _open(self) -> StoredState:
        try:
            if self._damage is not None:
                raise self._damage
            return self._read()
        except (sqlite3.Error, ValueError) as error:
            if is_passing(error) or self._set_aside is None:
                raise
            now = self._clock()
            aside = put_aside(self._path, now)
            self._damage = None
            self._set_aside(now)
            self._say(self._log.error, "state file put aside", aside=str(aside), error=str(error))
            return self._read()

    def _read(self) -> StoredState:
        file = StateFile(self._path)
        try:
            rows = dict(file.rows())
        except BaseException:
            file.close()
            raise
        is_known, self._file, self._is_read = self._is_read, file, True
        # A file that is found again after it was lost is older than the rows in memory.
        return StoredState(rows, are_newer=not is_known)

    def _say(self, write: Callable[..., object], event: str, **facts: str) -> None:
        report(write, event, path=self.location, **facts)


class StateFile:
    """A connection to the state file; used by one thread at a time.

    Args:
        path: the file, which is created if it does not exist.

    Raises:
        sqlite3.Error: the file cannot be used; `is_passing` tells whether a retry may help.
        ValueError: this version cannot read the file.
        OSError: the file cannot be created, or was deleted again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            _create(path)
        elif not path.stat().st_size:
            raise ValueError("it is empty")
        self._database = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
        try:
            self._prepare()
            self._identity = path.stat()
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> None:
        version = int(self._pragma("user_version"))
        if version > SCHEMA_VERSION:
            raise ValueError(f"its schema is {version}, of a newer exporter; this one reads up to {SCHEMA_VERSION}")
        if self._pragma("quick_check(1)") != "ok":
            raise ValueError("its pages are damaged")
        if not version or int(self._pragma("application_id")) != APPLICATION_ID:
            # The exporter gives a file its name only when it is complete, so this file is not one of its own.
            raise ValueError("it is another program's database, or has lost its tables")
        with suppress(sqlite3.OperationalError):
            # The journal mode of a read-only file cannot be changed, but the file can be read.
            self._pragma("journal_mode=WAL")
        self._pragma("synchronous=FULL")
        self._pragma(f"journal_size_limit={LARGEST_JOURNAL}")
        _migrate(self._database, version)

    def _pragma(self, text: str) -> str:
        """Return the result of a pragma; empty if it has none."""
        row = self._database.execute(f"PRAGMA {text}").fetchone()
        return "" if row is None else str(row[0])

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def is_lost(self) -> bool:
        """Return whether the file was deleted, moved, replaced or emptied, so that writes would be lost."""
        try:
            found = self._path.stat()
        except OSError:
            return True
        return not os.path.samestat(found, self._identity) or not found.st_size

    def rows(self) -> Iterator[tuple[PollKey, StateRow]]:
        """Return every row.

        Raises:
            sqlite3.Error: the file is damaged.
            ValueError: a row has an invalid checksum or form.
        """
        rows = self._database.execute("SELECT collector, account, kind, id, name, success, data, checksum FROM row")
        for *values, checksum in rows:
            if zlib.crc32(msgpack.packb(values)) != checksum:
                raise ValueError("a row is damaged")
            collector, account, kind, target_id, name, success, data = values
            # Thousands of rows share these three texts.
            yield PollKey.of(intern(collector), intern(account), intern(kind), target_id), StateRow(name, success, data)

    def commit(self, rows: Mapping[PollKey, StateRow | None]) -> None:
        """Write rows, and delete those whose value is None, all or nothing.

        Raises:
            sqlite3.Error: nothing was written.
        """
        written: list[list[Column]] = []
        deleted: list[list[Column]] = []
        for key, row in rows.items():
            texts = map(whole_text, columns(key))
            if row is None:
                deleted.append([*texts])
            else:
                values: list[Column] = [*texts, whole_text(row.name), row.success, row.data]
                written.append([*values, zlib.crc32(msgpack.packb(values))])
        self._database.execute("BEGIN IMMEDIATE")
        try:
            for size in _ROWS_AT_ONCE:
                whole = len(written) - len(written) % size
                groups = (itertools.chain(*written[start : start + size]) for start in range(0, whole, size))
                self._database.executemany(_WRITE % ", ".join([_VALUES] * size), map(tuple, groups))
                written = written[whole:]
            self._database.executemany(_DELETE, deleted)
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
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
    # The data of rows have another form since, in which the ledger writes them when it has read them.
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


class StateLock:
    """Locks a state file for this process until it is released.

    Args:
        path: the state file; the lock file is in the same folder.

    Raises:
        StateLockedError: another process has locked it.
        OSError: the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handle: TextIO = _beside(path, ".lock").open("a+")
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._handle.seek(0)
            holder = self._handle.read(64).strip()
            self._handle.close()
            who = f" (process {holder})" if holder else ""
            raise StateLockedError(f"{path}: another exporter{who} is using this state file") from error
        except OSError:
            self._handle.close()
            raise
        # The lock works without this text, which informs people. On a full disk it is not written.
        with suppress(OSError):
            self._handle.truncate(0)
            self._handle.write(f"{os.getpid()}\n")
            self._handle.flush()

    def release(self) -> None:
        """Release the state file for other processes."""
        with suppress(OSError):
            self._handle.close()


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
# After these errors the connection is still usable.
_HARMLESS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL})
# Errors of a wrong statement or value of this program: the file is not damaged, but a retry does not help.
_OURS = (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError)


def _code(error: Exception) -> int:
    # The low byte is the error; the other bytes give details.
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def is_passing(error: Exception) -> bool:
    """Return whether a retry may help: the file is locked or read-only, or the disk is full."""
    return _code(error) in _PASSING


def spoils_connection(error: sqlite3.Error) -> bool:
    """Return whether the file must be opened again: one opened as read-only stays so, and damage must be handled."""
    return _code(error) not in _HARMLESS and not isinstance(error, _OURS)
