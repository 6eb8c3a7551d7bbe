"""The database's protocol: pipeline requests as they are sent, and values as they are written."""

import base64
import binascii
import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from exporter.sandbox.request_parsing import int64

SqlValue: TypeAlias = int | float | str | bytes | None
SqlId: TypeAlias = Annotated[int, Field(ge=-(2**31), lt=2**31)]


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

    @property
    def plain(self) -> SqlValue:
        return None


class _Integer(_Message):
    type: Literal["integer"]
    value: Annotated[int, BeforeValidator(_integer)]

    @property
    def plain(self) -> SqlValue:
        return self.value


class _Float(_Message):
    type: Literal["float"]
    value: float

    @property
    def plain(self) -> SqlValue:
        return self.value


class _Text(_Message):
    type: Literal["text"]
    value: str

    @property
    def plain(self) -> SqlValue:
        return self.value


class _Blob(_Message):
    type: Literal["blob"]
    base64: Annotated[bytes, BeforeValidator(_blob)]

    @property
    def plain(self) -> SqlValue:
        return self.base64


Value: TypeAlias = Annotated[_Null | _Integer | _Float | _Text | _Blob, Field(discriminator="type")]


class NamedArgument(_Message):
    """An argument for a parameter with a name."""

    name: str
    value: Value


class Stmt(_Message):
    """A statement with its arguments."""

    sql: str | None = None
    sql_id: SqlId | None = None
    args: tuple[Value, ...] = Field(default=(), strict=False)
    named_args: tuple[NamedArgument, ...] = Field(default=(), strict=False)


class IsOk(_Message):
    """Holds when a step has succeeded."""

    type: Literal["ok"]
    step: int = Field(ge=0)


class IsError(_Message):
    """Holds when a step has failed."""

    type: Literal["error"]
    step: int = Field(ge=0)


class Not(_Message):
    """Holds when another condition does not."""

    type: Literal["not"]
    cond: "Condition"


class And(_Message):
    """Holds when all conditions do."""

    type: Literal["and"]
    conds: tuple["Condition", ...] = Field(strict=False)


class Or(_Message):
    """Holds when one of the conditions does."""

    type: Literal["or"]
    conds: tuple["Condition", ...] = Field(strict=False)


class IsAutocommit(_Message):
    """Holds when no transaction is open."""

    type: Literal["is_autocommit"]


Condition: TypeAlias = Annotated[IsOk | IsError | Not | And | Or | IsAutocommit, Field(discriminator="type")]


class Step(_Message):
    """A step of a batch."""

    condition: Condition | None = None
    stmt: Stmt


class BatchSteps(_Message):
    """The steps of a batch."""

    steps: tuple[Step, ...] = Field(strict=False)


class Execute(_Message):
    """Executes one statement."""

    type: Literal["execute"]
    stmt: Stmt


class Batch(_Message):
    """Executes steps, each if its condition holds."""

    type: Literal["batch"]
    batch: BatchSteps


class Sequence(_Message):
    """Executes all statements of a text."""

    type: Literal["sequence"]
    sql: str | None = None
    sql_id: SqlId | None = None


class Describe(_Message):
    """Tells about a statement without executing it."""

    type: Literal["describe"]
    sql: str | None = None
    sql_id: SqlId | None = None


class StoreSql(_Message):
    """Keeps a text for the requests that follow in the stream."""

    type: Literal["store_sql"]
    sql_id: SqlId
    sql: str


class CloseSql(_Message):
    """Forgets a text."""

    type: Literal["close_sql"]
    sql_id: SqlId


class Close(_Message):
    """Ends the stream."""

    type: Literal["close"]


class GetAutocommit(_Message):
    """Asks whether no transaction is open."""

    type: Literal["get_autocommit"]


StreamRequest: TypeAlias = Annotated[
    Execute | Batch | Sequence | Describe | StoreSql | CloseSql | Close | GetAutocommit,
    Field(discriminator="type"),
]


class Pipeline(_Message):
    """A pipeline request."""

    baton: str | None = None
    requests: tuple[StreamRequest, ...] = Field(strict=False)


class Cursor(_Message):
    """A request for a batch whose results are streamed as lines."""

    baton: str | None = None
    batch: BatchSteps


PIPELINE = TypeAdapter(Pipeline)
CURSOR = TypeAdapter(Cursor)


def conditions(batch: BatchSteps) -> Iterator[tuple[int, Condition]]:
    """Return every condition of a batch, the inner ones too, with the number of the step that it belongs to."""
    for place, step in enumerate(batch.steps):
        waiting = [] if step.condition is None else [step.condition]
        while waiting:
            condition = waiting.pop()
            yield place, condition
            match condition:
                case Not(cond=inner):
                    waiting.append(inner)
                case And(conds=inner) | Or(conds=inner):
                    waiting.extend(inner)


def needs_version_3(pipeline: Pipeline) -> bool:
    """Return whether a pipeline asks for what the protocol has from its third version on."""
    return any(
        isinstance(request, GetAutocommit)
        or (isinstance(request, Batch) and any(isinstance(one, IsAutocommit) for _, one in conditions(request.batch)))
        for request in pipeline.requests
    )


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
