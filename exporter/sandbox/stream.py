"""A stream of the database: one connection that executes requests in order, within limits."""

import sqlite3
import time
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from exporter.sandbox import hrana
from exporter.sandbox.sql import FAULTS, SqlError, Statement, authorize, failure, split

_LARGEST_RESULT: Final = 10 * 1024 * 1024
_STEPS_BETWEEN_CHECKS: Final = 10_000
_QUERIES: Final = frozenset({"SELECT", "WITH", "VALUES"})
_Column: TypeAlias = dict[str, str | None]

_DECLARED = (
    "SELECT DISTINCT declared.type FROM sqlite_schema AS stored, pragma_table_info(stored.name) AS declared "
    "WHERE declared.type <> ''"
)


class Stream:
    """One connection, with its stored SQL texts."""

    def __init__(self, connection: sqlite3.Connection, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._monotonic = monotonic
        self._deadline = 0.0
        self._stored: dict[int, str] = {}
        self.is_closed = False
        connection.set_authorizer(authorize)
        connection.set_progress_handler(lambda: monotonic() > self._deadline, _STEPS_BETWEEN_CHECKS)

    def set_deadline(self, seconds: float) -> None:
        """Interrupt the execution after a number of seconds."""
        self._deadline = self._monotonic() + seconds

    def close(self) -> None:
        """End the stream; an open transaction is rolled back."""
        self._connection.close()
        self.is_closed = True

    def run(self, request: hrana.StreamRequest) -> dict[str, Any]:
        """Execute a request and return its response.

        Raises:
            SqlError: it failed in the database.
            hrana.ProtocolError: it violates the protocol.
        """
        if self.is_closed and request.type != "close":
            raise hrana.ProtocolError("The stream was closed")
        answer: dict[str, Any] = {"type": request.type}
        match request:
            case hrana.Execute(stmt=stmt):
                answer["result"] = self._execute(stmt)
            case hrana.Batch(batch=batch):
                answer["result"] = self._batch(batch)
            case hrana.OfText():
                answer |= self._of_text(request)
            case hrana.StoreSql(sql_id=sql_id, sql=sql):
                if sql_id in self._stored:
                    raise hrana.ProtocolError(f"SQL text {sql_id} already exists")
                self._stored[sql_id] = sql
            case hrana.CloseSql(sql_id=sql_id):
                self._stored.pop(sql_id, None)
            case hrana.Plain(type="close"):
                self.close()
            case hrana.Plain():
                answer["is_autocommit"] = not self._connection.in_transaction
        return answer

    def _of_text(self, request: hrana.OfText) -> dict[str, Any]:
        statements = self._statements(request)
        if request.type == "describe":
            return {"result": self._describe(statements[:1])}
        for statement in statements:
            self._run(statement, [])
        return {}

    def _execute(self, stmt: hrana.Stmt) -> dict[str, Any]:
        statement = self._single(stmt)
        positional = [argument.value for argument in stmt.args]
        named = {argument.name: argument.value.value for argument in stmt.named_args}
        return self._run(statement, statement.arguments(positional, named))

    def _batch(self, batch: hrana.BatchSteps) -> dict[str, Any]:
        results: list[dict[str, Any] | None] = []
        errors: list[dict[str, str] | None] = []
        for step in batch.steps:
            result = error = None
            autocommit = not self._connection.in_transaction
            if step.condition is None or hrana.holds(step.condition, results, errors, autocommit=autocommit):
                try:
                    result = self._execute(step.stmt)
                except SqlError as failure:
                    error = failure.answer()
            results.append(result)
            errors.append(error)
        return {"step_results": results, "step_errors": errors}

    def _describe(self, statements: list[Statement]) -> dict[str, Any]:
        """Describe a statement, or the lack of one, without executing it."""
        return {
            "params": [{"name": name} for statement in statements for name in statement.parameters],
            "cols": [column for statement in statements for column in self._columns(statement)],
            "is_explain": any(statement.is_explain for statement in statements),
            "is_readonly": all(self._is_readonly(statement.explained) for statement in statements),
        }

    def _columns(self, statement: Statement) -> list[_Column]:
        sql, arguments = statement.bound([None] * len(statement.parameters))
        # Prepare the statement itself first, so that the errors are those of an execution.
        if statement.is_explain or (self._is_readonly(statement.numbered) and statement.first_word == "PRAGMA"):
            return self._named(statement, self._prepared(sql, arguments))
        if statement.verb not in ("SELECT", "VALUES"):
            return []
        names = self._prepared(f"SELECT * FROM ({sql}\n) LIMIT 0", arguments)  # noqa: S608 - it only reads
        return self._named(statement, _without_numbers(names))

    def _prepared(self, sql: str, arguments: list[object] | dict[str, object]) -> list[str]:
        try:
            cursor = self._connection.execute(sql, arguments)
        except FAULTS as error:
            raise failure(error, sql) from error
        return [column[0] for column in cursor.description or ()]

    def _named(self, statement: Statement, names: list[str]) -> list[_Column]:
        """Return the columns with these names, and with their declared types where these are known."""
        known = self._decltypes(statement)
        decltypes = known if len(known) == len(names) else [None] * len(names)
        return [{"name": name, "decltype": decltype} for name, decltype in zip(names, decltypes, strict=True)]

    def _decltypes(self, statement: Statement) -> list[str | None]:
        """Return the declared types of a query's columns, which SQLite reports only for a view."""
        if statement.first_word not in _QUERIES:
            return []
        # Clients cannot create temporary views.
        self._connection.set_authorizer(None)
        try:
            self._connection.execute(f"CREATE TEMP VIEW described_query AS {statement.without_parameters}")
            columns = self._connection.execute("PRAGMA temp.table_info(described_query)").fetchall()
            self._connection.execute("DROP VIEW temp.described_query")
            declared = {kind for (kind,) in self._connection.execute(_DECLARED)}
        except FAULTS:
            return []
        finally:
            self._connection.set_authorizer(authorize)
        # If a column has no declared type, newer versions of SQLite give the name of its affinity.
        return [kind if kind in declared else None for _, _, kind, *_ in columns]

    def _run(self, statement: Statement, ordered: list[object]) -> dict[str, Any]:
        began = self._monotonic()
        sql, arguments = statement.bound(ordered)
        try:
            cursor = self._connection.execute(sql, arguments)
            rows = self._rows(cursor)
        except FAULTS as error:
            raise failure(error, statement.text) from error
        changed = 0
        inserts = statement.verb in ("INSERT", "REPLACE")
        if inserts or statement.verb in ("UPDATE", "DELETE"):
            # sqlite3's own count does not include statements that begin with WITH.
            (changed,) = self._connection.execute("SELECT changes()").fetchone()
        return {
            "cols": self._named(statement, [column[0] for column in cursor.description or ()]),
            "rows": rows,
            "affected_row_count": changed,
            "last_insert_rowid": str(cursor.lastrowid) if inserts else None,
            "replication_index": None,
            # SQLite counts returned and changed rows, but not read ones.
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
            opcode == "Vacuum" or (opcode == "Transaction" and writing) for _, opcode, _, writing, *_ in program
        )

    def _single(self, source: hrana.Stmt) -> Statement:
        statements = self._statements(source)
        if not statements:
            raise SqlError("SQL string does not contain any statement", "SQL_NO_STATEMENT")
        if len(statements) > 1:
            raise SqlError("SQL string contains more than one statement", "SQL_MANY_STATEMENTS")
        return statements[0]

    def _statements(self, source: hrana.Source) -> list[Statement]:
        if (source.sql is None) == (source.sql_id is None):
            raise hrana.ProtocolError("Either `sql` or `sql_id` is required, and not both")
        text = source.sql if source.sql_id is None else self._stored.get(source.sql_id)
        if text is None:
            raise hrana.ProtocolError(f"SQL text {source.sql_id} not found")
        return split(text)


def _without_numbers(names: list[str]) -> list[str]:
    """Remove the numbers by which SQLite distinguishes equal names of a subquery's columns."""
    plain: list[str] = []
    for name in names:
        before, colon, number = name.rpartition(":")
        plain.append(before if colon and number.isdecimal() and before in plain else name)
    return plain
