"""The database's protocol, Hrana over HTTP: the form of requests, values, and conditions of a batch."""

import base64
import binascii
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

SqlValue: TypeAlias = int | float | str | bytes | None
SqlId: TypeAlias = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class ProtocolError(Exception):
    """A request violates the protocol: the whole pipeline is refused, and its stream ends."""


def read(sent: object) -> SqlValue:
    """Read a value as the protocol writes it; a 64-bit integer is a string, a blob is base64."""
    match sent:
        case {"type": "null"}:
            return None
        case {"type": "integer", "value": str(digits)} if -(2**63) <= int(digits) < 2**63:
            return int(digits)
        case {"type": "float", "value": int() | float() as number}:
            return float(number)
        case {"type": "text", "value": str(text)}:
            return text
        case {"type": "blob", "base64": str(text)}:
            digits = text.rstrip("=")
            try:
                return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
            except binascii.Error as error:
                raise ValueError("not base64") from error
    raise ValueError("not a value of the protocol")


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


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


_Value: TypeAlias = Annotated[Any, BeforeValidator(read)]


class _NamedArgument(_Message):
    name: str
    value: _Value


class Source(_Message):
    """SQL text, which is sent or stored in the stream."""

    sql: str | None = None
    sql_id: SqlId | None = None


class Stmt(Source):
    """A statement with its arguments."""

    args: list[_Value] = []
    named_args: list[_NamedArgument] = []


class _Step(_Message):
    condition: dict[str, Any] | None = None
    stmt: Stmt


class Batch(_Message):
    """Steps, of which those whose condition is false are skipped."""

    steps: list[_Step]


class Execute(_Message):
    """Executes one statement."""

    type: Literal["execute"]
    stmt: Stmt


class ExecuteBatch(_Message):
    """Executes a batch."""

    type: Literal["batch"]
    batch: Batch


class OfText(Source):
    """Executes all statements of a text, or describes its only one without executing it."""

    type: Literal["sequence", "describe"]


class OfStored(_Message):
    """Stores a text for the requests that follow in the stream, or removes it."""

    type: Literal["store_sql", "close_sql"]
    sql_id: SqlId
    sql: str = ""


class Plain(_Message):
    """Ends the stream, or asks whether no transaction is open."""

    type: Literal["close", "get_autocommit"]


StreamRequest: TypeAlias = Annotated[Execute | ExecuteBatch | OfText | OfStored | Plain, Field(discriminator="type")]


class Pipeline(_Message):
    """Requests that are executed in order."""

    baton: str | None = None
    requests: list[StreamRequest]


class Cursor(_Message):
    """A request for a batch whose results are streamed as lines."""

    baton: str | None = None
    batch: Batch


def holds(
    condition: object, results: Sequence[object | None], errors: Sequence[object | None], *, autocommit: bool
) -> bool:
    """Evaluate the condition of a batch's step by the results and the errors of those before, with None where none is.

    Raises:
        ProtocolError: the condition has another form, or names a step that is not before this one.
    """
    match condition:
        case {"type": "ok" | "error" as kind, "step": int(step)} if 0 <= step < len(results):
            return (results if kind == "ok" else errors)[step] is not None
        case {"type": "not", "cond": inner}:
            return not holds(inner, results, errors, autocommit=autocommit)
        case {"type": "and" | "or" as kind, "conds": list(several)}:
            # Evaluate all parts, so that an invalid one is always refused.
            each = [holds(inner, results, errors, autocommit=autocommit) for inner in several]
            return all(each) if kind == "and" else any(each)
        case {"type": "is_autocommit"}:
            return autocommit
    raise ProtocolError("The condition of a step is invalid, or refers to no step before it")
