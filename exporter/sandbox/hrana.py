"""The database's protocol: the form of pipeline requests and of values."""

import base64
import binascii
import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from exporter.sandbox.request_parsing import int64

SqlValue: TypeAlias = int | float | str | bytes | None
SqlId: TypeAlias = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class ProtocolError(Exception):
    """A request violates the protocol: the whole pipeline is refused, and its stream ends."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


def _integer(value: object) -> int:
    number = int64(value.removeprefix("+")) if isinstance(value, str) else None
    if number is None:
        raise ValueError("an integer is sent as a string of up to 64 bits")
    return number


def _blob(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError("base64 must be a string")  # noqa: TRY004 - pydantic reports value errors
    try:
        return base64.b64decode(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


class _Null(_Message):
    type: Literal["null"]
    value: ClassVar[None] = None


class _Integer(_Message):
    type: Literal["integer"]
    value: Annotated[int, BeforeValidator(_integer)]


class _Float(_Message):
    type: Literal["float"]
    value: float


class _Text(_Message):
    type: Literal["text"]
    value: str


class _Blob(_Message):
    type: Literal["blob"]
    value: Annotated[bytes, BeforeValidator(_blob), Field(alias="base64")]


Value: TypeAlias = Annotated[_Null | _Integer | _Float | _Text | _Blob, Field(discriminator="type")]


class _NamedArgument(_Message):
    name: str
    value: Value


class Source(_Message):
    """SQL text, which is sent or stored in the stream."""

    sql: str | None = None
    sql_id: SqlId | None = None


class Stmt(Source):
    """A statement with its arguments."""

    args: tuple[Value, ...] = Field(default=(), strict=False)
    named_args: tuple[_NamedArgument, ...] = Field(default=(), strict=False)


class _StepCondition(_Message):
    type: Literal["ok", "error"]
    step: int = Field(ge=0)


class _Not(_Message):
    type: Literal["not"]
    cond: "Condition"


class _Several(_Message):
    type: Literal["and", "or"]
    conds: tuple["Condition", ...] = Field(strict=False)


class _IsAutocommit(_Message):
    type: Literal["is_autocommit"]


Condition: TypeAlias = Annotated[_StepCondition | _Not | _Several | _IsAutocommit, Field(discriminator="type")]


class _Step(_Message):
    condition: Condition | None = None
    stmt: Stmt


class BatchSteps(_Message):
    """The steps of a batch."""

    steps: tuple[_Step, ...] = Field(strict=False)


class Execute(_Message):
    """Executes one statement."""

    type: Literal["execute"]
    stmt: Stmt


class Batch(_Message):
    """Executes steps; a step whose condition is false is skipped."""

    type: Literal["batch"]
    batch: BatchSteps


class OfText(Source):
    """Executes all statements of a text, or describes its first one without executing it."""

    type: Literal["sequence", "describe"]


class StoreSql(_Message):
    """Stores a text for the requests that follow in the stream."""

    type: Literal["store_sql"]
    sql_id: SqlId
    sql: str


class CloseSql(_Message):
    """Removes a stored text."""

    type: Literal["close_sql"]
    sql_id: SqlId


class Plain(_Message):
    """Ends the stream, or requests whether no transaction is open."""

    type: Literal["close", "get_autocommit"]


StreamRequest: TypeAlias = Annotated[
    Execute | Batch | OfText | StoreSql | CloseSql | Plain, Field(discriminator="type")
]


class Pipeline(_Message):
    """A pipeline request."""

    baton: str | None = None
    requests: tuple[StreamRequest, ...] = Field(strict=False)


class Cursor(_Message):
    """A request for a batch whose results are streamed as lines."""

    baton: str | None = None
    batch: BatchSteps


def holds(
    condition: Condition, results: Sequence[object | None], errors: Sequence[object | None], *, autocommit: bool
) -> bool:
    """Evaluate the condition of a batch's step by the results and the errors of those before, with None where none is.

    Raises:
        ProtocolError: the condition names a step that is not before this one.
    """
    match condition:
        case _StepCondition(type=kind, step=step):
            if step >= len(results):
                raise ProtocolError("Invalid reference to step in a batch condition")
            return (results if kind == "ok" else errors)[step] is not None
        case _Not(cond=cond):
            return not holds(cond, results, errors, autocommit=autocommit)
        case _Several(type=kind, conds=conds):
            # Evaluate all parts, so that an invalid one is always refused.
            each = [holds(cond, results, errors, autocommit=autocommit) for cond in conds]
            return all(each) if kind == "and" else any(each)
        case _IsAutocommit():
            return autocommit


def written(value: SqlValue) -> dict[str, Any]:
    """Write a value of the database as the protocol does."""
    match value:
        case None:
            return {"type": "null"}
        case int():
            return {"type": "integer", "value": str(value)}
        case float():
            # JSON has no infinity.
            return {"type": "float", "value": value if math.isfinite(value) else None}
        case str():
            return {"type": "text", "value": value}
        case bytes():
            return {"type": "blob", "base64": base64.b64encode(value).decode().rstrip("=")}
