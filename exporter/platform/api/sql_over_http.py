"""The database endpoint: SQL over HTTP (interface document, Database pipeline request)."""

import base64
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from exporter.platform.errors import StatementError, WrongShape
from exporter.platform.operation import WHOLE_LIMIT, Answer, Caller, Operation, Parameter, Request
from exporter.platform.wire import Integer, Number, Wire, validated

# A value in a row of a result.
Cell = str | int | float | bytes | None
# An integer with more digits stays text, because Python refuses to convert more than 4,300.
LONGEST_INTEGER = 4_000


def read_row(raw: object) -> tuple[Cell, ...]:
    """Convert the JSON of a row to Python values, without pydantic models, which would take longer.

    Raises:
        ValueError: the row does not have the protocol's shape.
    """
    if not isinstance(raw, list):
        raise ValueError("a row is not an array")  # noqa: TRY004 - pydantic's errors are ValueErrors, too
    return tuple([_cell(value) for value in raw])


def _cell(raw: object) -> Cell:
    match raw:
        case {"type": "text", "value": str(text)}:
            return text
        # The protocol writes integers as text; numbers are accepted, too.
        case {"type": "integer", "value": str(digits)}:
            return int(digits) if len(digits) <= LONGEST_INTEGER else digits
        case {"type": "integer", "value": int(number)} if not isinstance(number, bool):
            return number
        case {"type": "float", "value": float(number) | int(number)} if not isinstance(number, bool):
            return float(number) if abs(number) <= sys.float_info.max else None
        # JSON cannot express an infinite float: libSQL servers write null instead, other servers may write a text.
        case {"type": "null"} | {"type": "float", "value": None | "NaN" | "Infinity" | "-Infinity"}:
            return None
        case {"type": "blob", "base64": str(text)}:
            # The protocol omits the padding.
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        case _:
            raise ValueError("a value of an unknown type")


class Column(Wire):
    """A column of a result."""

    name: str | None = None
    decltype: str | None = None


class StatementResult(Wire):
    """The result of a statement."""

    cols: list[Column] = Field(default_factory=list)
    rows: list[Any] = Field(default_factory=list)
    affected_row_count: Integer = None
    last_insert_rowid: str | None = None
    rows_read: Integer = None
    rows_written: Integer = None
    query_duration_ms: Number | None = None


class Description(Wire):
    """What the database says about a statement, without executing the statement."""

    is_explain: bool | None = None
    is_readonly: bool


class StreamResponse(Wire):
    """The answer to a successful request of a pipeline."""

    type: str | None = None
    result: dict[str, Any] | None = None


class StreamError(Wire):
    """An SQL error."""

    message: str | None = None
    code: str | None = None


class StreamResult(Wire):
    """The outcome of one request of a pipeline: a response or an error."""

    type: str | None = None
    response: StreamResponse | None = None
    error: StreamError | None = None


class PipelineResponse(Wire):
    """The answer to a pipeline: the results of the pipeline's requests, in the order of the requests."""

    baton: str | None = None
    base_url: str | None = None
    results: list[StreamResult]


PIPELINE = Operation(
    name="database_pipeline",
    method="POST",
    path="/v2/pipeline",
    help="Executes SQL statements in order; the request only reads if all its statements only read.",
    answer=TypeAdapter(PipelineResponse),
    parameters=(Parameter("requests", "body", "json", "The requests, as a JSON array."),),
    most_bytes=WHOLE_LIMIT,
)


@dataclass(frozen=True, slots=True)
class Rows:
    """A statement's result as Python values.

    Attributes:
        columns: the names of the columns; a column without a name has an empty text.
        rows: the rows; a row has one value for each column.
        is_cut: whether the result had more rows than the limit; the further rows are left out.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_cut: bool


_RESULT = TypeAdapter(StatementResult)
_DESCRIPTION = TypeAdapter(Description)


def execute_request(statements: Sequence[str], *, writes: bool = False) -> Request[PipelineResponse]:
    """Return the request that `execute` sends; `writes` says whether a statement may write."""
    requests = [{"type": "execute", "stmt": {"sql": sql}} for sql in statements]
    return _pipeline_of(requests, replace(PIPELINE, writes=writes))


async def execute(
    caller: Caller, statements: Sequence[str], most_rows: int | None = None, *, writes: bool = False
) -> Answer[list[Rows | StatementError]]:
    """Execute SQL statements in one request; return the rows or the error of each statement.

    `most_rows` is the highest number of rows to read of a result; None is no limit. If `writes` is True, a statement
    may write, and the request is not repeated after a failure.

    Raises:
        PlatformError: there is no usable answer.
    """
    answer = await caller.call(execute_request(statements, writes=writes))
    outcomes = [
        result if isinstance(result, StatementError) else _rows(result, most_rows)
        for result in _results(answer, len(statements))
    ]
    return Answer(outcomes, answer.date, seconds=answer.seconds)


async def is_readonly(caller: Caller, sql: str) -> bool:
    """Ask the database whether a statement only reads; the statement is not executed.

    Raises:
        StatementError: the answer is an SQL error, for example because the statement is not valid.
        PlatformError: there is no usable answer, or the answer does not describe the statement.
    """
    answer = await caller.call(_pipeline_of([{"type": "describe", "sql": sql}], PIPELINE))
    result = _results(answer, 1)[0]
    if isinstance(result, StatementError):
        raise result
    try:
        return _DESCRIPTION.validate_python(result).is_readonly
    except ValidationError:
        raise WrongShape("the answer that describes a query has another shape than expected", status=200) from None


def _pipeline_of(
    requests: Sequence[Mapping[str, Any]], operation: Operation[PipelineResponse]
) -> Request[PipelineResponse]:
    # Without a baton, the database opens a new stream; the last request closes the stream.
    return Request(operation, body={"baton": None, "requests": [*requests, {"type": "close"}]})


def _results(answer: Answer[PipelineResponse], count: int) -> list[Mapping[str, Any] | StatementError]:
    """Return the results or errors of the first `count` requests of a pipeline."""
    results = answer.value.results
    if len(results) < count:
        raise WrongShape(f"the database sent {len(results)} of {count} results", status=200)
    outcomes: list[Mapping[str, Any] | StatementError] = []
    # Further results, such as that of the request `close`, are not read.
    for result in results[:count]:
        if result.type == "ok" and result.response is not None and result.response.result is not None:
            outcomes.append(result.response.result)
        elif result.error is not None:
            fault = StatementError(result.error.message or "SQL error", error_key=result.error.code or "")
            fault.redact(answer.secrets)
            outcomes.append(fault)
        else:
            raise WrongShape("a result of the database has another shape than expected", status=200)
    return outcomes


def _rows(result: Mapping[str, Any], most_rows: int | None) -> Rows:
    try:
        # Unreadable numbers are not reported: no metric uses the numbers of `StatementResult`, such as `rows_read`.
        parsed = validated(_RESULT.validate_python, result, set())
        rows = tuple(map(read_row, parsed.rows[:most_rows]))
    except ValueError:
        raise WrongShape("a result of the database has another shape than expected", status=200) from None
    columns = tuple(column.name or "" for column in parsed.cols)
    if any(len(row) != len(columns) for row in rows):
        raise WrongShape("a row of the database has more or fewer values than there are columns", status=200)
    return Rows(columns, rows, is_cut=len(rows) < len(parsed.rows))
