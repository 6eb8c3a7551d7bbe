"""The values and conditions of the databases' protocol, Hrana over HTTP."""

import base64
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

SqlValue: TypeAlias = int | float | str | bytes | None


class ProtocolError(Exception):
    """A request violates the protocol."""


def decode(sent: object) -> SqlValue:
    """Convert a value of the protocol to a value of the database; raises ProtocolError if `sent` is not valid."""
    try:
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
                # The padding may be missing.
                unpadded = text.rstrip("=")
                return base64.b64decode(unpadded + "=" * (-len(unpadded) % 4), validate=True)
    except (ValueError, OverflowError) as error:
        raise ProtocolError(f"not a value of the protocol: {error}") from error
    raise ProtocolError("not a value of the protocol")


def encode(value: SqlValue) -> dict[str, Any]:
    """Convert a value of the database to one of the protocol."""
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


def holds(
    condition: object, results: Sequence[object | None], errors: Sequence[object | None], *, autocommit: bool
) -> bool:
    """Return whether the condition of a step of a batch is true.

    Args:
        condition: the condition as the client sent it.
        results: the results of the earlier steps; None for a step that failed or was skipped.
        errors: the errors of the earlier steps; None for a step without an error.
        autocommit: whether no transaction is open.

    Raises:
        ProtocolError: the condition is not valid. It may refer to earlier steps only.
        RecursionError: the condition is nested too deeply.
    """
    match condition:
        case {"type": "ok", "step": int(step)} if 0 <= step < len(results):
            return results[step] is not None
        case {"type": "error", "step": int(step)} if 0 <= step < len(errors):
            return errors[step] is not None
        case {"type": "not", "cond": inner}:
            return not holds(inner, results, errors, autocommit=autocommit)
        case {"type": "and" | "or" as kind, "conds": list(several)}:
            # All parts are evaluated, so that an invalid part is refused.
            each = [holds(inner, results, errors, autocommit=autocommit) for inner in several]
            return all(each) if kind == "and" else any(each)
        case {"type": "is_autocommit"}:
            return autocommit
    raise ProtocolError("The condition of a step is invalid, or refers to no step before it")
