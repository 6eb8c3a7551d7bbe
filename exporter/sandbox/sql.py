"""Executes SQL on a SQLite database, with the results and errors of a libSQL server."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from exporter.sandbox.hrana import SqlValue, encode

PIPELINE_SECONDS: Final = 2.0
_STEPS_BETWEEN_CHECKS: Final = 10_000  # steps of SQLite between two checks of the deadline
_QUERY: Final = re.compile(r"\s*(SELECT|VALUES|WITH|EXPLAIN)\b", re.IGNORECASE)
_INSERT: Final = re.compile(r"\s*(?:INSERT|REPLACE)\b", re.IGNORECASE)
_PARAMETERS: Final = re.compile(r"current statement uses (\d+)")
# With ValueError, because Python refuses some texts and arguments before SQLite does.
_FAULTS: Final = (sqlite3.Error, sqlite3.Warning, ValueError)
_Arguments: TypeAlias = Sequence[SqlValue] | dict[str, SqlValue]


class SqlError(Exception):
    """A statement failed."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self._code = code

    def answer(self) -> dict[str, str]:
        """Return the error as the protocol sends it."""
        return {"message": str(self), "code": self._code}


class ForbiddenError(Exception):
    """A statement would write on a read-only connection."""


def connect(path: str, *, read_only: bool) -> sqlite3.Connection:
    """Open a connection to an existing database file. SQL statements cannot open other database files."""
    connection = sqlite3.connect(
        f"file:{path}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        isolation_level=None,
        timeout=0.0,  # waiting for a lock would block the event loop, on which the owner of the lock runs, too
    )
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")  # a client can store any bytes as text
    connection.execute("PRAGMA foreign_keys=ON")
    # ATTACH opens another file. SQLite also asks for SQLITE_ATTACH at VACUUM, which can write another file.
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK
    )
    return connection


class SqlSession:
    """Executes statements on a connection. `start_deadline` must be called before each pipeline of statements."""

    def __init__(self, connection: sqlite3.Connection, monotonic: Callable[[], float]) -> None:
        self.connection = connection
        self._monotonic = monotonic
        self._deadline = 0.0
        connection.set_progress_handler(lambda: monotonic() > self._deadline, _STEPS_BETWEEN_CHECKS)

    def start_deadline(self) -> None:
        """Interrupt the statements that are still running `PIPELINE_SECONDS` from now."""
        self._deadline = self._monotonic() + PIPELINE_SECONDS

    def run(self, sql: str, arguments: _Arguments = ()) -> dict[str, Any]:
        """Execute one statement, and return its result as the protocol sends it.

        Raises:
            SqlError: the statement failed.
            ForbiddenError: the statement would write on a read-only connection.
        """
        began_at, changes_before = self._monotonic(), self.connection.total_changes
        try:
            cursor = self.connection.execute(sql, arguments)
            rows = [[encode(value) for value in row] for row in cursor]
        except _FAULTS as error:
            raise _as_libsql_error(error) from error
        changed = self.connection.total_changes - changes_before
        return {
            "cols": _columns(cursor),
            "rows": rows,
            "affected_row_count": changed,
            # After a statement that is no INSERT or REPLACE, `lastrowid` can be the id of an earlier row.
            "last_insert_rowid": str(cursor.lastrowid) if _INSERT.match(sql) else None,
            "replication_index": None,
            # SQLite does not count the rows that it reads, so the returned rows are counted.
            "rows_read": len(rows),
            "rows_written": changed,
            "query_duration_ms": round((self._monotonic() - began_at) * 1_000, 3),
        }

    def describe(self, sql: str) -> dict[str, Any]:
        """Return the description of a statement as the protocol sends it. Describing a statement writes nothing.

        Raises:
            SqlError: SQLite refuses or interrupts the statement.
        """
        query = _QUERY.match(sql)
        is_explain = query is not None and query[1].upper() == "EXPLAIN"
        # With EXPLAIN, SQLite compiles a statement without running it.
        explained = sql if is_explain else f"EXPLAIN {sql}"
        try:
            arguments = self._nulls(explained)
            columns = None if query is None else self._columns_if_readonly(sql, arguments)
        except _FAULTS as error:
            raise _as_libsql_error(error) from error
        return {
            "params": [{"name": None}] * len(arguments),
            "cols": columns or [],
            "is_explain": is_explain,
            "is_readonly": columns is not None,
        }

    def _columns_if_readonly(self, query: str, arguments: _Arguments) -> list[dict[str, str | None]] | None:
        """Return the columns of a query's result; None for a query that would write, such as `WITH … INSERT`."""
        self.connection.execute("PRAGMA query_only=ON")
        try:
            return _columns(self.connection.execute(query, arguments))
        except sqlite3.Error as error:
            if isinstance(_as_libsql_error(error), ForbiddenError):
                return None
            raise
        finally:
            self.connection.execute("PRAGMA query_only=OFF")

    def _nulls(self, sql: str) -> _Arguments:
        """Execute a statement with nulls for its parameters; return the nulls, by name if all parameters have names."""
        # When Python looks up the name of a parameter, the defaultdict adds the name.
        named: defaultdict[str, SqlValue] = defaultdict(lambda: None)
        try:
            self.connection.execute(sql, named)
        except sqlite3.ProgrammingError:  # a parameter has no name, or the statement has a fault
            return [None] * self._count_parameters(sql)
        return named

    def _count_parameters(self, sql: str) -> int:
        """Execute a statement without values; return the number of parameters, which Python's error contains."""
        try:
            self.connection.execute(sql)
        except sqlite3.ProgrammingError as error:
            needed = _PARAMETERS.search(str(error))
            if needed is None:
                raise
            return int(needed[1])
        return 0


def split(text: str) -> Iterator[str]:
    """Yield the statements; the last can be empty. Semicolons in strings, comments and triggers end no statement."""
    begin = 0
    for semicolon in re.finditer(";", text):
        statement = text[begin : semicolon.end()]
        # `complete_statement` would refuse a NUL; `run` reports the NUL as a fault of the statement.
        if "\0" in statement or sqlite3.complete_statement(statement):
            yield statement
            begin = semicolon.end()
    yield text[begin:]


def _columns(cursor: sqlite3.Cursor) -> list[dict[str, str | None]]:
    return [{"name": name, "decltype": None} for name, *_ in cursor.description or ()]


def _as_libsql_error(error: Exception) -> SqlError | ForbiddenError:
    name: str = getattr(error, "sqlite_errorname", "SQLITE_ERROR")  # Python's own errors have no such name
    if name.startswith("SQLITE_READONLY"):
        return ForbiddenError(str(error))
    # The first two words, such as SQLITE_CONSTRAINT of SQLITE_CONSTRAINT_UNIQUE.
    kind = "_".join(name.split("_")[:2])
    if kind in ("SQLITE_ERROR", "SQLITE_SCHEMA"):
        return SqlError(f"SQL input error: {error}", "SQL_INPUT_ERROR")
    return SqlError(f"SQLite error: {error}", kind)
