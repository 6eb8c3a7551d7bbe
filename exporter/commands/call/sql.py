"""Finds out whether SQL statements only read, and converts their results to JSON."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from exporter.collectors.database import is_single, leads_with_reading
from exporter.platform.api.database import Cell, Rows
from exporter.platform.errors import StatementError

# Requests of a pipeline that never change anything.
_HARMLESS = frozenset({"close", "describe", "close_sql", "get_autocommit"})


def reads(sql: str) -> bool:
    """Return whether a statement is known to change nothing."""
    return is_single(sql) and leads_with_reading(sql)


def pipeline_reads(requests: Sequence[Any]) -> bool:
    """Return whether no request of a pipeline can change anything; an unknown one may."""
    return all(isinstance(request, Mapping) and _request_reads(request) for request in requests)


def _request_reads(request: Mapping[str, Any]) -> bool:
    if request.get("type") in _HARMLESS:
        return True
    statement = request.get("stmt")
    sql = statement.get("sql") if isinstance(statement, Mapping) else None
    return request.get("type") == "execute" and isinstance(sql, str) and reads(sql)


def as_json(outcome: Rows | StatementError) -> dict[str, Any]:
    """Return the result of a statement as JSON."""
    if isinstance(outcome, StatementError):
        return {"error": {"message": str(outcome), "code": outcome.error_key}}
    return {"columns": list(outcome.columns), "rows": [[_plain(cell) for cell in row] for row in outcome.rows]}


def _plain(cell: Cell) -> Any:  # noqa: ANN401 - a value of JSON
    return {"base64": base64.b64encode(cell).decode()} if isinstance(cell, bytes) else cell
