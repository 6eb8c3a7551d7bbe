"""A stream of the database: one connection that executes requests in order, within limits."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from exporter.sandbox import hrana
from exporter.sandbox.sql import ArgumentsError, Statement, split
from exporter.sandbox.sqlite_access import FAULTS, SqlError, authorize, failure

_LARGEST_RESULT: Final = 10 * 1024 * 1024
_STEPS_BETWEEN_CHECKS: Final = 10_000
_WRITING_OPCODES: Final = frozenset({"Vacuum"})


class ProtocolError(Exception):
    """A request violates the protocol: the whole pipeline is refused, and its stream ends."""


class Stream:
    """One connection, with its stored SQL texts."""

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
        connection.set_authorizer(authorize)
        connection.set_progress_handler(self._is_overdue, _STEPS_BETWEEN_CHECKS)

    def set_deadline(self, seconds: float) -> None:
        """Interrupt the execution after a number of seconds."""
        self._deadline = self._monotonic() + seconds

    def close(self) -> None:
        """End the stream; an open transaction is rolled back."""
        self._connection.close()
        self.is_closed = True

    def writes(self, requests: Iterable[hrana.StreamRequest]) -> bool:
        """Return whether any of the requests would write; those that cannot be prepared do not."""
        stored = dict(self._stored)
        for request in requests:
            texts: list[str | None] = []
            match request:
                case hrana.Execute(stmt=stmt):
                    texts = [_known_text(stmt, stored)]
                case hrana.Batch(batch=batch):
                    texts = [_known_text(step.stmt, stored) for step in batch.steps]
                case hrana.Sequence():
                    texts = [_known_text(request, stored)]
                case hrana.StoreSql(sql_id=sql_id, sql=sql):
                    stored[sql_id] = sql
                case hrana.CloseSql(sql_id=sql_id):
                    stored.pop(sql_id, None)
            if any(text is not None and self._text_writes(text) for text in texts):
                return True
        return False

    def _text_writes(self, text: str) -> bool:
        try:
            return not all(one.is_explain or self._is_readonly(one.numbered) for one in _statements(text))
        except SqlError:
            return False

    def run(self, request: hrana.StreamRequest) -> dict[str, Any]:
        """Execute a request and return its response.

        Raises:
            SqlError: it failed in the database.
            ProtocolError: it violates the protocol.
        """
        if self.is_closed and not isinstance(request, hrana.Close):
            raise ProtocolError("The stream was closed")
        match request:
            case hrana.Execute(stmt=stmt):
                return {"type": "execute", "result": self._execute(stmt)}
            case hrana.Batch(batch=batch):
                return {"type": "batch", "result": self._batch(batch)}
            case hrana.Sequence():
                for statement in self._stored_or_sent(request):
                    self._run(statement, [])
                return {"type": "sequence"}
            case hrana.Describe():
                return {"type": "describe", "result": self._describe(self._stored_or_sent(request)[:1])}
            case hrana.GetAutocommit():
                return {"type": "get_autocommit", "is_autocommit": not self._connection.in_transaction}
            case hrana.StoreSql() | hrana.CloseSql() | hrana.Close():
                self._keep(request)
        return {"type": request.type}

    def _keep(self, request: hrana.StoreSql | hrana.CloseSql | hrana.Close) -> None:
        match request:
            case hrana.StoreSql(sql_id=sql_id, sql=sql):
                if sql_id in self._stored:
                    raise ProtocolError(f"SQL text {sql_id} already exists")
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
            raise SqlError(str(error), error.code) from error
        return self._run(statement, arguments)

    def _batch(self, batch: hrana.BatchSteps) -> dict[str, Any]:
        for place, condition in hrana.conditions(batch):
            if isinstance(condition, hrana.IsOk | hrana.IsError) and condition.step >= place:
                raise ProtocolError("Invalid reference to step in a batch condition")
        results: list[dict[str, Any] | None] = []
        errors: list[dict[str, str] | None] = []
        for step in batch.steps:
            result = error = None
            if step.condition is None or self._holds(step.condition, results, errors):
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
    ) -> bool:
        def holds(inner: hrana.Condition) -> bool:
            return self._holds(inner, results, errors)

        match condition:
            case hrana.IsOk(step=step):
                return results[step] is not None
            case hrana.IsError(step=step):
                return errors[step] is not None
            case hrana.Not(cond=inner):
                return not holds(inner)
            case hrana.And(conds=conds):
                return all(holds(inner) for inner in conds)
            case hrana.Or(conds=conds):
                return any(holds(inner) for inner in conds)
            case hrana.IsAutocommit():
                return not self._connection.in_transaction

    def _describe(self, statements: list[Statement]) -> dict[str, Any]:
        """Describe a text's first statement without executing it."""
        columns: list[tuple[str, str | None]] = []
        for statement in statements:
            columns = self._columns(statement)
        return {
            "params": [{"name": name} for statement in statements for name in statement.parameters],
            "cols": [{"name": name, "decltype": kind} for name, kind in columns],
            "is_explain": any(statement.is_explain for statement in statements),
            "is_readonly": all(self._is_readonly(statement.explained) for statement in statements),
        }

    def _columns(self, statement: Statement) -> list[tuple[str, str | None]]:
        nulls: list[object] = [None] * len(statement.parameters)
        sql, arguments = statement.bound(nulls)
        if statement.is_explain or (statement.first_word == "PRAGMA" and self._is_readonly(statement.numbered)):
            return [(name, None) for name in self._prepared(sql, arguments)]
        if statement.verb not in ("SELECT", "VALUES"):
            self._is_readonly(statement.numbered)  # prepares it, which finds its faults
            return []
        # Prepared alone first, so that its faults are reported as if it were executed.
        self._is_readonly(statement.numbered)
        names = _without_numbers(self._prepared(f"SELECT * FROM ({sql}\n) LIMIT 0", arguments))  # noqa: S608 - it reads
        return list(zip(names, self._known_decltypes(statement, len(names)), strict=True))

    def _prepared(self, sql: str, arguments: list[object] | dict[str, object]) -> list[str]:
        try:
            cursor = self._connection.execute(sql, arguments)
        except FAULTS as error:
            raise failure(error, sql) from error
        return [column[0] for column in cursor.description or ()]

    def _known_decltypes(self, statement: Statement, columns: int) -> list[str | None]:
        known = self._decltypes(statement)
        return known if len(known) == columns else [None] * columns

    def _run(self, statement: Statement, ordered: list[object]) -> dict[str, Any]:
        began = self._monotonic()
        sql, arguments = statement.bound(ordered)
        try:
            cursor = self._connection.execute(sql, arguments)
            rows = self._rows(cursor)
        except FAULTS as error:
            raise failure(error, statement.text) from error
        names = [column[0] for column in cursor.description or ()]
        inserted = cursor.lastrowid
        changed = 0
        if statement.changes_rows:
            # The cursor's own count omits statements that begin with WITH.
            (changed,) = self._connection.execute("SELECT changes()").fetchone()
        return {
            "cols": [
                {"name": name, "decltype": kind}
                for name, kind in zip(names, self._known_decltypes(statement, len(names)), strict=True)
            ],
            "rows": rows,
            "affected_row_count": changed,
            "last_insert_rowid": str(inserted) if statement.inserts else None,
            "replication_index": None,
            # SQLite counts the rows that it returned and changed, not those that it read.
            "rows_read": len(rows),
            "rows_written": changed,
            "query_duration_ms": round((self._monotonic() - began) * 1_000, 3),
        }

    def _rows(self, cursor: sqlite3.Cursor) -> list[list[dict[str, Any]]]:
        rows: list[list[dict[str, Any]]] = []
        size = 0
        for row in cursor:
            size += sum(32 + (len(value) if isinstance(value, (str, bytes)) else 0) for value in row)
            if size > _LARGEST_RESULT:
                raise SqlError("Response is too large", "RESPONSE_TOO_LARGE")
            rows.append([hrana.written(value) for value in row])
        return rows

    def _is_readonly(self, numbered: str) -> bool:
        """Return whether a statement with numbered parameters changes nothing."""
        parameters = [None] * sum(len(statement.parameters) for statement in split(numbered)[:1])
        try:
            program = self._connection.execute(f"EXPLAIN {numbered}", parameters).fetchall()
        except FAULTS as error:
            raise failure(error, numbered) from error
        return not any(
            opcode in _WRITING_OPCODES or (opcode == "Transaction" and writing) for _, opcode, _, writing, *_ in program
        )

    def _single(self, source: hrana.Stmt) -> Statement:
        statements = self._stored_or_sent(source)
        if not statements:
            raise SqlError("SQL string does not contain any statement", "SQL_NO_STATEMENT")
        if len(statements) > 1:
            raise SqlError("SQL string contains more than one statement", "SQL_MANY_STATEMENTS")
        return statements[0]

    def _stored_or_sent(self, source: hrana.Stmt | hrana.Describe | hrana.Sequence) -> list[Statement]:
        if (source.sql is None) == (source.sql_id is None):
            raise ProtocolError("Either `sql` or `sql_id` is required, and not both")
        text = _known_text(source, self._stored)
        if text is None:
            raise ProtocolError(f"SQL text {source.sql_id} not found")
        return _statements(text)

    def _is_overdue(self) -> bool:
        return self._monotonic() > self._deadline


def _known_text(source: hrana.Stmt | hrana.Describe | hrana.Sequence, stored: Mapping[int, str]) -> str | None:
    if source.sql is not None:
        return source.sql
    return None if source.sql_id is None else stored.get(source.sql_id)


def _statements(text: str) -> list[Statement]:
    try:
        return split(text)
    except ArgumentsError as error:
        raise SqlError(f"SQL input error: {error}", "SQL_INPUT_ERROR") from error


def _without_numbers(names: list[str]) -> list[str]:
    """Remove the numbers by which SQLite distinguishes equal names of a subquery's columns."""
    plain: list[str] = []
    for name in names:
        before, colon, number = name.rpartition(":")
        plain.append(before if colon and number.isdecimal() and before in plain else name)
    return plain
