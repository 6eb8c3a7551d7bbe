"""Executes the requests of a stream: one connection of a client to a database (`hrana.py` has the protocol)."""

from typing import Any

from exporter.sandbox import hrana
from exporter.sandbox.hrana import ProtocolError
from exporter.sandbox.sql import SqlError, SqlSession, split


class Stream:
    """Executes requests on one connection to a database, and keeps the SQL texts that the client stores."""

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._stored: dict[int, str] = {}
        self.is_closed = False

    def close(self) -> None:
        """End the stream; an open transaction is rolled back."""
        self._session.connection.close()
        self.is_closed = True

    def run(self, requests: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any JSON
        """Execute requests and return their results.

        Raises:
            ForbiddenError: a request would write on a read-only connection.
            ProtocolError: a request violates the protocol; the requests before it were executed.
            RecursionError: the condition of a step is nested too deeply.
        """
        if not isinstance(requests, list):
            raise ProtocolError("A pipeline must have a list of requests")
        results: list[dict[str, Any]] = []
        self._session.start_deadline()
        for request in requests:
            # A stream may be closed twice.
            if self.is_closed and request != {"type": "close"}:
                raise ProtocolError("The stream was closed")
            try:
                response = self._respond(request)
                results.append({"type": "ok", "response": {"type": request["type"], **response}})
            except SqlError as error:
                results.append({"type": "error", "error": error.answer()})
        return results

    def _respond(self, request: dict[str, Any]) -> dict[str, Any]:
        match request:
            case {"type": "execute", "stmt": dict(stmt)}:
                return {"result": self._execute(stmt)}
            case {"type": "batch", "batch": {"steps": list(steps)}}:
                return {"result": self._batch(steps)}
            case {"type": "describe"}:
                return {"result": self._session.describe(self._sql_of(request))}
            case {"type": "sequence"}:
                for statement in split(self._sql_of(request)):
                    self._session.run(statement)
            case {"type": "store_sql", "sql_id": int(sql_id), "sql": str(sql)}:
                self._stored[sql_id] = sql
            case {"type": "close_sql", "sql_id": int(sql_id)}:
                self._stored.pop(sql_id, None)
            case {"type": "get_autocommit"}:
                return {"is_autocommit": not self._session.connection.in_transaction}
            case {"type": "close"}:
                self.close()
            case _:
                raise ProtocolError("This is not a valid request of the protocol")
        return {}

    def _execute(self, stmt: dict[str, Any]) -> dict[str, Any]:
        """Execute a statement with named arguments or, if there are none, with positional ones; return the result."""
        try:
            positional = [hrana.decode(value) for value in stmt.get("args", ())]
            # A name may be sent without the prefix that it has in the SQL.
            named = {one["name"].lstrip(":@$"): hrana.decode(one["value"]) for one in stmt.get("named_args", ())}
        except (AttributeError, KeyError, TypeError) as error:
            raise ProtocolError("The arguments of a statement must be lists of values") from error
        return self._session.run(self._sql_of(stmt), named or positional)

    def _batch(self, steps: list[Any]) -> dict[str, Any]:
        results: list[dict[str, Any] | None] = []
        errors: list[dict[str, str] | None] = []
        for step in steps:
            if not isinstance(step, dict) or not isinstance(step.get("stmt"), dict):
                raise ProtocolError("A step of a batch must have a statement")
            result = error = None
            condition = step.get("condition")
            is_autocommit = not self._session.connection.in_transaction
            if condition is None or hrana.holds(condition, results, errors, autocommit=is_autocommit):
                try:
                    result = self._execute(step["stmt"])
                except SqlError as failure:
                    error = failure.answer()
            results.append(result)
            errors.append(error)
        return {"step_results": results, "step_errors": errors}

    def _sql_of(self, source: dict[str, Any]) -> str:
        match source.get("sql"), source.get("sql_id"):
            case str(sql), None:
                return sql
            case None, int(sql_id) if sql_id in self._stored:
                return self._stored[sql_id]
        raise ProtocolError("Either `sql` or the `sql_id` of a stored text is required, and not both")
