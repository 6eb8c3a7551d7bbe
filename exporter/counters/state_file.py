"""The state file: packed rows in SQLite, one a target of a collector."""

import fcntl
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from sys import intern
from typing import TextIO

import msgpack

from exporter.counters.storage import StateLockedError, Stored, columns, whole_text
from exporter.targets.target import PollKey

SCHEMA_VERSION = 1
# "edge" in ASCII: whose database it is, as SQLite's header tells.
APPLICATION_ID = 0x65646765
BUSY_SECONDS = 2.0
LARGEST_JOURNAL = 16 * 1024 * 1024
# What SQLite keeps beside the file: the journal, and its index.
_JOURNAL = ("-wal", "-shm")

Column = str | float | bytes


class StateFile:
    """A connection to the state file; used by one thread at a time.

    Args:
        path: the file, which is made where there is none.

    Attributes:
        is_new: whether the file was made by this.
        had_journal: whether the journal held something when the file was opened.

    Raises:
        sqlite3.Error: the file cannot be used; see `is_passing`.
        ValueError: the file is not one that this version reads.
        OSError: the file cannot be made, or is gone again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_new = not path.exists()
        self.had_journal = _size(_journal(path)) > 0
        if self.is_new:
            if _size(_journal(path)):
                raise ValueError("it is gone, and its journal was left behind")
            _create(path)
        elif not _size(path):
            raise ValueError("it is empty")
        self._database = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
        try:
            self._prepare()
            self._identities = {path: _identity(path.stat())}
            self._note_journal()
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> None:
        version = int(self._pragma("user_version"))
        if version > SCHEMA_VERSION:
            raise ValueError(f"it has schema {version} of a newer version; this one knows {SCHEMA_VERSION}")
        if self._pragma("quick_check(1)") != "ok":
            raise ValueError("its pages are damaged")
        if not version or int(self._pragma("application_id")) != APPLICATION_ID:
            # A file is made whole before it stands at its path.
            raise ValueError("it is another program's database, or has lost its tables")
        with suppress(sqlite3.OperationalError):
            # A read-only file cannot change its journal, and can still be read.
            self._pragma("journal_mode=WAL")
            # What is no journal has a size, too, and no pages.
            _, pages, _ = self._database.execute("PRAGMA wal_checkpoint").fetchone()
            self.had_journal = pages > 0
        self._pragma("synchronous=FULL")
        self._pragma(f"journal_size_limit={LARGEST_JOURNAL}")
        _migrate(self._database, version)

    def _pragma(self, text: str) -> str:
        """What a pragma answers, empty where it answers nothing."""
        row = self._database.execute(f"PRAGMA {text}").fetchone()
        return "" if row is None else str(row[0])

    def close(self) -> bool:
        """Close the file; returns whether all of it is in the file itself, and no journal is left."""
        self._database.close()
        return not _journal(self._path).exists()

    def is_lost(self) -> bool:
        """Whether the file or the journal was deleted, moved, replaced or emptied: what is written would be lost."""
        try:
            is_replaced = any(_identity(piece.stat()) != known for piece, known in self._identities.items())
            return is_replaced or not _size(self._path)
        except OSError:
            return True

    def _note_journal(self) -> None:
        """Remember which journal is ours; SQLite makes it when it first needs one, and keeps it until the end."""
        for suffix in _JOURNAL:
            piece = self._path.with_name(self._path.name + suffix)
            if piece not in self._identities:
                with suppress(OSError):
                    self._identities[piece] = _identity(piece.stat())

    def rows(self) -> Iterator[tuple[PollKey, Stored]]:
        """Every row.

        Raises:
            sqlite3.Error: the file is damaged.
            ValueError: a row is not what was written.
        """
        rows = self._database.execute("SELECT collector, account, kind, id, name, success, data, checksum FROM row")
        for *values, checksum in rows:
            if _checksum(values) != checksum:
                raise ValueError("a row is damaged")
            collector, account, kind, target_id, name, success, data = values
            # Thousands of rows share these three.
            yield PollKey.of(intern(collector), intern(account), intern(kind), target_id), Stored(name, success, data)

    def commit(self, rows: Mapping[PollKey, Stored | None]) -> None:
        """Write rows, and delete those that are None, all or nothing.

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
                written.append([*values, _checksum(values)])
        self._database.execute("BEGIN IMMEDIATE")
        try:
            self._database.executemany(_WRITE, written)
            self._database.executemany(_DELETE, deleted)
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise
        if len(self._identities) <= len(_JOURNAL):
            self._note_journal()


_WRITE = """
    INSERT INTO row VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
    SET name = excluded.name, success = excluded.success, data = excluded.data, checksum = excluded.checksum
"""
_DELETE = "DELETE FROM row WHERE collector = ? AND account = ? AND kind = ? AND id = ?"

# The n-th entry leads from schema n to n + 1. SQLite keeps no checksum of what it stores, so each row has one.
MIGRATIONS = (
    f"""
    CREATE TABLE row (
        collector TEXT NOT NULL, account TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
        name TEXT NOT NULL, success REAL NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (collector, account, kind, id)
    );
    PRAGMA application_id = {APPLICATION_ID};
    """,
)


def _migrate(database: sqlite3.Connection, version: int) -> None:
    for step in range(version, SCHEMA_VERSION):
        database.executescript(f"BEGIN; {MIGRATIONS[step]} PRAGMA user_version = {step + 1}; COMMIT;")


def _create(path: Path) -> None:
    """Make a state file beside its path, and move it there when it is whole.

    A file at the path that is empty or without our tables is then always one that was damaged.
    """
    # A link to a file that does not exist yet names the place for it.
    place = Path(os.path.realpath(path))
    fresh = place.with_name(place.name + ".new")
    fresh.unlink(missing_ok=True)
    database = sqlite3.connect(fresh, isolation_level=None)
    try:
        _migrate(database, 0)
    finally:
        database.close()
    fresh.rename(place)
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _journal(path: Path) -> Path:
    return path.with_name(path.name + _JOURNAL[0])


def _size(path: Path) -> int:
    """Bytes of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _checksum(values: list[Column]) -> int:
    return zlib.crc32(msgpack.packb(values))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


# A line of the lock file.
_HAS_JOURNAL = "journal"


class StateLock:
    """Makes this process the only one that uses a state file, until it is released.

    Args:
        path: the state file; the lock stands beside it.

    Attributes:
        has_journal: whether the state file's journal holds what the file does not. The lock file keeps this, so that
            a journal which is removed after a kill is missed.

    Raises:
        StateLockedError: another process has it.
        OSError: the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path.with_name(path.name + ".lock")
        self._handle: TextIO = self._path.open("a+")
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = self._lines()[0]
            self._handle.close()
            who = f" (process {holder})" if holder else ""
            raise StateLockedError(f"{path}: another exporter{who} is using this state file") from error
        except OSError:
            self._handle.close()
            raise
        self.has_journal = _HAS_JOURNAL in self._lines()
        self._write()

    def note_journal(self, *, has_journal: bool) -> None:
        """Keep whether the journal holds what the state file does not."""
        if has_journal != self.has_journal:
            self.has_journal = has_journal
            self._write()

    def _lines(self) -> list[str]:
        self._handle.seek(0)
        return self._handle.read(64).split("\n")

    def _write(self) -> None:
        # The lock holds without it: it is for people, and for the process after a kill. A full disk takes nothing away.
        with suppress(OSError):
            self._handle.truncate(0)
            self._handle.write(f"{os.getpid()}\n" + (f"{_HAS_JOURNAL}\n" if self.has_journal else ""))
            self._handle.flush()

    def holds(self) -> bool:
        """Whether it still keeps others out: a lock file that was deleted does not."""
        try:
            return _identity(self._path.stat()) == _identity(os.fstat(self._handle.fileno()))
        except OSError:
            return False

    def release(self) -> None:
        """Let others use the state file."""
        with suppress(OSError):
            self._handle.close()


def put_aside(path: Path, now: float) -> Path:
    """Rename a state file that cannot be read, with its journal; returns the new name.

    Raises:
        OSError: the folder cannot be written.
    """
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{path.name}.corrupt-{stamp}")
    count = 1
    while os.path.lexists(aside):
        count += 1
        aside = path.with_name(f"{path.name}.corrupt-{stamp}-{count}")
    # The file itself goes last: SQLite would delete a journal that is left without one.
    for suffix in (*_JOURNAL, ""):
        piece = path.with_name(path.name + suffix)
        with suppress(FileNotFoundError):
            piece.rename(aside.with_name(aside.name + suffix))
    return aside


# The file itself may be well: it is locked or read-only, there is no space or no memory, or the disk does not answer.
_PASSING = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_AUTH,
    }
)
# After these a connection is as good as before.
_HARMLESS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL})
# What a wrong statement or value of ours would raise: no fault of the file's, but it does not pass either.
_OURS = (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError)


def _code(error: Exception) -> int:
    # The low byte is the error, the others say more of it.
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF


def is_passing(error: Exception) -> bool:
    """Whether waiting may help: the file is locked or read-only, or the disk is full."""
    return _code(error) in _PASSING


def spoils_connection(error: sqlite3.Error) -> bool:
    """Whether the file must be opened afresh: one that was opened read-only stays so, and damage must be seen to."""
    return _code(error) not in _HARMLESS and not isinstance(error, _OURS)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the error tells that the file itself is damaged."""
    return not is_passing(error) and not isinstance(error, _OURS)
