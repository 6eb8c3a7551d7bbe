"""Collects lines by target, writes them by family, and can continue after an interruption."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from exporter.backfill.samples import head
from exporter.metric import FamilyInfo

_BEGIN = """
PRAGMA locking_mode = EXCLUSIVE;
BEGIN EXCLUSIVE;
CREATE TABLE IF NOT EXISTS terms (terms TEXT);
CREATE TABLE IF NOT EXISTS target (mark TEXT, samples INTEGER);
CREATE TABLE IF NOT EXISTS part (family TEXT, lines TEXT);
CREATE INDEX IF NOT EXISTS part_family ON part (family);
COMMIT;
"""
# The first one means that the tables are not those above.
_DAMAGED = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class RefusedError(Exception):
    """The requested days, zones or output are refused; the message says why, and what to do."""


def parts_of(output: Path) -> Path:
    """Return the folder of the unfinished parts of a file."""
    return output.with_name(output.name + ".part")


class Spool:
    """The lines of each target by family, in a database in a folder next to the output.

    A target is written in one transaction, so that the work continues with the next one after an interruption. The
    terms are the arguments, which must be the same when the work is resumed.

    Raises:
        RefusedError: another process makes the output, an earlier run had other arguments, or the database is damaged.
        OSError: the folder cannot be used.
    """

    def __init__(self, output: Path, families: Iterable[FamilyInfo], terms: Mapping[str, object]) -> None:
        self.output = output
        self.folder = parts_of(output)
        self._families = tuple(families)
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._faults():
            self._database = sqlite3.connect(self.folder / "parts.db", timeout=0)
        try:
            with self._faults():
                self._database.executescript(_BEGIN)
                self._agree(dict(terms))
                targets = self._database.execute("SELECT mark, samples FROM target").fetchall()
        except BaseException:
            self.close()
            raise
        self.done = {mark for mark, _ in targets}
        self.samples = sum(samples for _, samples in targets)

    def _agree(self, terms: dict[str, object]) -> None:
        found = self._database.execute("SELECT terms FROM terms").fetchone()
        if found is None:
            with self._database:
                self._database.execute("INSERT INTO terms VALUES (?)", (json.dumps(terms),))
        elif (former := json.loads(found[0])) != terms:
            given = ", ".join(f"{name} {value}" for name, value in former.items() if value)
            raise RefusedError(
                f"{self.folder} holds what an earlier run with other arguments left ({given}): "
                "give the same again, or remove it"
            )

    def add(self, mark: str, parts: Mapping[str, str], samples: int) -> None:
        """Add a target: its lines by family, their number, and what identifies it on resuming; raises OSError."""
        with self._faults(), self._database:
            self._database.execute("INSERT INTO target VALUES (?, ?)", (mark, samples))
            self._database.executemany("INSERT INTO part VALUES (?, ?)", [part for part in parts.items() if part[1]])
        self.samples += samples

    def finish(self, *, keep: bool) -> None:
        """Make the output from all parts, and keep these if a later run may add more; raises OSError."""
        fresh = self.output.with_name(self.output.name + ".new")
        with fresh.open("wb") as whole, self._faults():
            for info in self._families:
                begin, of_family = head(info), "SELECT lines FROM part WHERE family = ? ORDER BY rowid"
                for (lines,) in self._database.execute(of_family, (info.name,)):
                    whole.write(f"{begin}{lines}".encode())
                    begin = ""
            whole.write(b"# EOF\n")
            whole.flush()
            os.fsync(whole.fileno())
        fresh.rename(self.output)
        self.close()
        if not keep:
            shutil.rmtree(self.folder)

    def close(self) -> None:
        """Close the database; the parts are kept."""
        self._database.close()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
            if code == sqlite3.SQLITE_BUSY:
                raise RefusedError(f"another process is making {self.output}") from None
            if code in _DAMAGED:
                raise RefusedError(f"{self.folder} is damaged ({error}): remove it") from None
            if isinstance(error, sqlite3.OperationalError):
                raise OSError(str(error)) from error
            raise
