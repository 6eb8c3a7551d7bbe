"""The database endpoint: SQL over HTTP (interface document, Database pipeline request)."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError

from exporter.platform.errors import StatementError, WrongShape, one_line, without
from exporter.platform.operation import Answer, Caller, Operation, Parameter
from exporter.platform.wire import Integer, Number, Wire

Cell = str | int | float | bytes | None


class NullValue(Wire):
    """SQL NULL."""

    type: Literal["null"]

    def decoded(self) -> Cell:
        """The cell in Python's terms."""
        return None


class IntegerValue(Wire):
    """An integer, which the protocol writes as text."""

    type: Literal["integer"]
    value: str

    def decoded(self) -> Cell:
        """The cell in Python's terms."""
        return int(self.value)


class FloatValue(Wire):
    """A double; libSQL servers write null for one that is infinite, as JSON has no word for it."""

    type: Literal["float"]
    value: Annotated[Number, Field(allow_inf_nan=True)] | None

    def decoded(self) -> Cell:
        """The cell in Python's terms."""
        return self.value


class TextValue(Wire):
    """Text."""

    type: Literal["text"]
    value: str

    def decoded(self) -> Cell:
        """The cell in Python's terms."""
        return self.value


class BlobValue(Wire):
    """Bytes in base64, without padding."""

    type: Literal["blob"]
    base64: str

    def decoded(self) -> Cell:
        """The cell in Python's terms."""
        return base64.b64decode(self.base64 + "=" * (-len(self.base64) % 4), validate=True)


Value = Annotated[NullValue | IntegerValue | FloatValue | TextValue | BlobValue, Field(discriminator="type")]


class Column(Wire):
    """A result's column."""

    name: str | None = None
    decltype: str | None = None


class StatementResult(Wire):
    """What a statement gave."""

    cols: list[Column] = Field(default_factory=list)
    rows: list[list[Value]] = Field(default_factory=list)
    affected_row_count: Integer = None
    last_insert_rowid: str | None = None
    rows_read: Integer = None
    rows_written: Integer = None
    query_duration_ms: Number | None = None


class Description(Wire):
    """What a statement would do."""

    is_explain: bool | None = None
    is_readonly: bool | None = None


class StreamResponse(Wire):
    """The answer to one request of a pipeline."""

    type: str | None = None
    result: dict[str, Any] | None = None


class StreamError(Wire):
    """An SQL error."""

    message: str | None = None
    code: str | None = None

    def without(self, secret: str) -> Self:
        """See `Wire.without`."""
        said = {"message": self.message, "code": self.code}
        return self.model_copy(update={name: text and without(one_line(text), secret) for name, text in said.items()})


class StreamResult(Wire):
    """The outcome of one request of a pipeline."""

    type: str | None = None
    response: StreamResponse | None = None
    error: StreamError | None = None


class PipelineResponse(Wire):
    """The answer to a pipeline request: one result a request, in order."""

    baton: str | None = None
    base_url: str | None = None
    results: list[StreamResult]

    def without(self, secret: str) -> Self:
        """See `Wire.without`; of each statement's error."""
        if all(result.error is None for result in self.results):
            return self
        clean = [
            result.model_copy(update={"error": result.error and result.error.without(secret)})
            for result in self.results
        ]
        return self.model_copy(update={"results": clean})


PIPELINE = Operation(
    name="database_pipeline",
    method="POST",
    path="/v2/pipeline",
    help="Executes SQL statements in order; a read as far as its statements read.",
    answer=TypeAdapter(PipelineResponse),
    parameters=(Parameter("requests", "body", "json", "The requests, as a JSON array."),),
)


@dataclass(frozen=True, slots=True)
class Rows:
    """A statement's result in Python's terms."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


_RESULT = TypeAdapter(StatementResult)
_DESCRIPTION = TypeAdapter(Description)


async def execute(caller: Caller, statements: Sequence[str]) -> Answer[list[Rows | StatementError]]:
    """Run reading statements in one request; each gives its rows or its own error.

    Raises:
        PlatformError: the request as a whole gave no usable answer.
    """
    answer = await _pipeline(caller, [{"type": "execute", "stmt": {"sql": sql}} for sql in statements])
    outcomes = [result if isinstance(result, StatementError) else _rows(result) for result in answer.value]
    return Answer(outcomes, answer.date, answer.raw, answer.seconds)


async def is_readonly(caller: Caller, sql: str) -> bool | None:
    """Whether a statement only reads, by the database's own word; None where it does not say.

    Raises:
        StatementError: the statement is none.
        PlatformError: there is no usable answer.
    """
    answer = await _pipeline(caller, [{"type": "describe", "sql": sql}])
    result = answer.value[0]
    if isinstance(result, StatementError):
        raise result
    try:
        return _DESCRIPTION.validate_python(result).is_readonly
    except ValidationError:
        raise WrongShape("a description has another shape than the protocol's", status=200) from None


async def _pipeline(
    caller: Caller, requests: Sequence[Mapping[str, Any]]
) -> Answer[list[Mapping[str, Any] | StatementError]]:
    body = {"baton": None, "requests": [*requests, {"type": "close"}]}
    answer = await caller.call(PIPELINE, body=body)
    results = answer.value.results
    if len(results) < len(requests):
        raise WrongShape(f"the database answered {len(requests)} requests with {len(results)} results", status=200)
    outcomes: list[Mapping[str, Any] | StatementError] = []
    for result in results[: len(requests)]:
        if result.type == "ok" and result.response is not None and result.response.result is not None:
            outcomes.append(result.response.result)
        elif result.error is not None:
            outcomes.append(StatementError(result.error.message or "SQL error", error_key=result.error.code or ""))
        else:
            raise WrongShape("a result of the pipeline is neither ok nor an error", status=200)
    return Answer(outcomes, answer.date, answer.raw, answer.seconds)


def _rows(result: Mapping[str, Any]) -> Rows:
    try:
        parsed = _RESULT.validate_python(result)
        rows = tuple(tuple(value.decoded() for value in row) for row in parsed.rows)
    except (ValueError, binascii.Error):
        raise WrongShape("a result of the pipeline has another shape than documented", status=200) from None
    columns = tuple(column.name or "" for column in parsed.cols)
    if any(len(row) != len(columns) for row in rows):
        raise WrongShape("a row of the pipeline has another width than its columns", status=200)
    return Rows(columns, rows)
