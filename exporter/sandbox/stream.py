"""A stream of the database: one connection that executes requests in order, within limits."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from exporter.sandbox import hrana
from exporter.sandbox.sql import ArgumentsError, Statement, split

_LONGEST_VALUE: Final = 16 * 1024 * 1024
_LARGEST_RESULT: Final = 10 * 1024 * 1024
_DEEPEST_CONDITION: Final = 50
_STEPS_BETWEEN_CHECKS: Final = 10_000
_WRITING_OPCODES: Final = frozenset({"Vacuum", "JournalMode", "Checkpoint"})
_READING_PRAGMAS: Final = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list", "user_version"},
)
# A wrong text may be refused before it reaches SQLite: a NUL or a number that is too large for it.
_FAULTS: Final = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError)
_DENIED: Final = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH})


class SqlError(Exception):
    """A request that failed in the database; the requests after it still run."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self._code = code

    def answer(self) -> dict[str, str]:
        """Return the error as the protocol sends it."""
        return {"message": str(self), "code": self._code}


def connect(path: str, *, read_only: bool) -> sqlite3.Connection:
    """Open a connection that can reach its own database only."""
    connection = sqlite3.connect(
        f"file:{path}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=0.5,
    )
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    return connection


def _authorize(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    if action in _DENIED:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() not in _READING_PRAGMAS:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


class Stream:
    """One connection with what was stored in it."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        decltypes: Callable[[Statement], list[str | None]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._decltypes = decltypes
        self._monotonic = monotonic
        self._deadline = 0.0
        self._stored: dict[int, str] = {}
        self.is_closed = False
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(self._is_overdue, _STEPS_BETWEEN_CHECKS)

    def set_deadline(self, seconds: float) -> None:
        """Interrupt what is executed when so many seconds are over."""
        self._deadline = self._monotonic() + seconds

    def close(self) -> None:
        """End the stream; an open transaction is rolled back."""
        self._connection.close()
        self.is_closed = True

    def writes(self, requests: Iterable[hrana.StreamRequest]) -> bool:
        """Tell whether any of the requests would write; one that cannot be prepared does not."""
        stored = dict(self._stored)
        for request in requests:
            texts: list[str | None] = []
            match request:
                case hrana.Execute(stmt=stmt):
                    texts = [_text(stmt, stored)]
                case hrana.Batch(batch=batch):
                    texts = [_text(step.stmt, stored) for step in batch.steps]
                case hrana.Sequence():
                    texts = [_text(request, stored)]
                case hrana.StoreSql(sql_id=sql_id, sql=sql):
                    stored[sql_id] = sql
                case hrana.CloseSql(sql_id=sql_id):
                    stored.pop(sql_id, None)
            if any(text is not None and self._text_writes(text) for text in texts):
                return True
        return False

    def _text_writes(self, text: str) -> bool:
        try:
            return not all(self._is_readonly(statement) for statement in _statements(text))
        except SqlError:
            return False

    def run(self, request: hrana.StreamRequest) -> dict[str, Any]:
        """Execute a request and return its response."""
        if self.is_closed:
            raise SqlError("The stream is closed", "STREAM_CLOSED")
        match request:
            case hrana.Execute(stmt=stmt):
                return {"type": "execute", "result": self._execute(stmt)}
            case hrana.Batch(batch=batch):
                return {"type": "batch", "result": self._batch(batch)}
            case hrana.Sequence():
                for statement in self._stored_or_sent(request):
                    self._run(statement, [], want_rows=False)
                return {"type": "sequence"}
            case hrana.Describe():
                return {"type": "describe", "result": self._describe(self._single(request))}
            case hrana.GetAutocommit():
                return {"type": "get_autocommit", "is_autocommit": not self._connection.in_transaction}
            case hrana.StoreSql() | hrana.CloseSql() | hrana.Close():
                self._keep(request)
        return {"type": request.type}

    def _keep(self, request: hrana.StoreSql | hrana.CloseSql | hrana.Close) -> None:
        match request:
            case hrana.StoreSql(sql_id=sql_id, sql=sql):
                self._stored[sql_id] = sql
            case hrana.CloseSql(sql_id=sql_id):
                self._stored.pop(sql_id, None)
            case hrana.Close():
                self.close()

    def _execute(self, stmt: hrana.Stmt) -> dict[str, Any]:
        statement = self._single(stmt)
        try:
            arguments = statement.arguments(
                [value.plain for value in stmt.args],
                {argument.name: argument.value.plain for argument in stmt.named_args},
            )
        except ArgumentsError as error:
            raise SqlError(str(error), "ARGS_INVALID") from error
        return self._run(statement, arguments, want_rows=stmt.want_rows is not False)

    def _batch(self, batch: hrana.BatchSteps) -> dict[str, Any]:
        results: list[dict[str, Any] | None] = []
        errors: list[dict[str, str] | None] = []
        for step in batch.steps:
            result = error = None
            if step.condition is None or self._holds(step.condition, results, errors, 0):
                try:
                    result = self._execute(step.stmt)
                except SqlError as failure:
                    error = failure.answer()
            results.append(result)
            errors.append(error)
        return {"step_results": results, "step_errors": errors}

    def _holds(
        self,
        condition: hrana.Condition,
        results: list[dict[str, Any] | None],
        errors: list[dict[str, str] | None],
        depth: int,
    ) -> bool:
        if depth > _DEEPEST_CONDITION:
            raise SqlError("the condition is nested too deeply", "BATCH_COND_BAD")

        def holds(inner: hrana.Condition) -> bool:
            return self._holds(inner, results, errors, depth + 1)

        match condition:
            case hrana.IsOk(step=step):
                return step < len(results) and results[step] is not None
            case hrana.IsError(step=step):
                return step < len(errors) and errors[step] is not None
            case hrana.Not(cond=inner):
                return not holds(inner)
            case hrana.And(conds=conds):
                return all(holds(inner) for inner in conds)
            case hrana.Or(conds=conds):
                return any(holds(inner) for inner in conds)
            case hrana.IsAutocommit():
                return not self._connection.in_transaction

    def _describe(self, statement: Statement) -> dict[str, Any]:
        names, decltypes = self._columns(statement)
        return {
            "params": [{"name": name} for name in statement.parameters],
            "cols": [{"name": name, "decltype": kind} for name, kind in zip(names, decltypes, strict=True)],
            "is_explain": statement.is_explain,
            "is_readonly": self._is_readonly(statement),
        }

    def _columns(self, statement: Statement) -> tuple[list[str], list[str | None]]:
        """Return the names and declared types of a statement's columns, without executing it."""
        if not self._is_readonly(statement) or statement.first_word not in ("SELECT", "WITH", "VALUES"):
            return [], []
        described = self._prepared(f"SELECT * FROM ({statement.without_parameters}\n) LIMIT 0")  # noqa: S608 - read only
        return described, self._known_decltypes(statement, len(described))

    def _prepared(self, sql: str) -> list[str]:
        try:
            cursor = self._connection.execute(sql)
        except _FAULTS as error:
            raise _failure(error) from error
        return [column[0] for column in cursor.description or ()]

    def _known_decltypes(self, statement: Statement, columns: int) -> list[str | None]:
        known = self._decltypes(statement)
        return known if len(known) == columns else [None] * columns

    def _run(self, statement: Statement, arguments: list[object], *, want_rows: bool) -> dict[str, Any]:
        began = self._monotonic()
        try:
            cursor = self._connection.execute(statement.numbered, arguments)
            rows, count = self._rows(cursor, want_rows=want_rows)
        except _FAULTS as error:
            raise _failure(error) from error
        names = [column[0] for column in cursor.description or ()]
        changed = max(0, cursor.rowcount)
        inserted = cursor.lastrowid
        return {
            "cols": [
                {"name": name, "decltype": kind}
                for name, kind in zip(names, self._known_decltypes(statement, len(names)), strict=True)
            ],
            "rows": rows,
            "affected_row_count": changed,
            "last_insert_rowid": None if inserted is None or not changed else str(inserted),
            "replication_index": None,
            # SQLite tells what it returned and changed, not what it looked at on the way.
            "rows_read": count,
            "rows_written": changed,
            "query_duration_ms": round((self._monotonic() - began) * 1_000, 3),
        }

    def _rows(self, cursor: sqlite3.Cursor, *, want_rows: bool) -> tuple[list[list[dict[str, Any]]], int]:
        rows: list[list[dict[str, Any]]] = []
        count = size = 0
        for row in cursor:
            count += 1
            if not want_rows:
                continue
            size += sum(32 + (len(value) if isinstance(value, (str, bytes)) else 0) for value in row)
            if size > _LARGEST_RESULT:
                raise SqlError("Response is too large", "RESPONSE_TOO_LARGE")
            rows.append([hrana.written(value) for value in row])
        return rows, count

    def _is_readonly(self, statement: Statement) -> bool:
        if statement.is_explain:
            return True
        sql, parameters = f"EXPLAIN {statement.numbered}", [None] * len(statement.parameters)
        try:
            program = self._connection.execute(sql, parameters).fetchall()
        except _FAULTS as error:
            raise _failure(error) from error
        return not any(
            opcode in _WRITING_OPCODES or (opcode == "Transaction" and writing) for _, opcode, _, writing, *_ in program
        )

    def _single(self, source: hrana.Stmt | hrana.Describe) -> Statement:
        statements = self._stored_or_sent(source)
        if not statements:
            raise SqlError("SQL string does not contain any statement", "SQL_NO_STATEMENT")
        if len(statements) > 1:
            raise SqlError("SQL string contains more than one statement", "SQL_MANY_STATEMENTS")
        return statements[0]

    def _stored_or_sent(self, source: hrana.Stmt | hrana.Describe | hrana.Sequence) -> list[Statement]:
        text = _text(source, self._stored)
        if text is None:
            raise SqlError(f"SQL text {source.sql_id} was not stored", "SQL_STORE_NOT_FOUND")
        return _statements(text)

    def _is_overdue(self) -> bool:
        return self._monotonic() > self._deadline


def _text(source: hrana.Stmt | hrana.Describe | hrana.Sequence, stored: Mapping[int, str]) -> str | None:
    if source.sql is not None:
        return source.sql
    return None if source.sql_id is None else stored.get(source.sql_id)


def _statements(text: str) -> list[Statement]:
    try:
        return split(text)
    except ArgumentsError as error:
        raise SqlError(str(error), "SQL_PARSE_ERROR") from error


def _failure(error: Exception) -> SqlError:
    code = getattr(error, "sqlite_errorname", None) or "SQL_INPUT_ERROR"
    return SqlError(f"SQLite error: {error}", code)
