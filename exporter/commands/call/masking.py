"""Keeps secrets out of what a command prints."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

MASK = "***"
# Fields of the interface that hold secrets (interface document, EdgeScript).
_SECRET_FIELDS = frozenset({"DeploymentKey", "DefaultValue", "Secret"})
_CONTROL = re.compile(r"[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def masked(value: Any, secrets: Iterable[str] = ()) -> Any:  # noqa: ANN401 - whatever JSON can say
    """JSON in which no field that holds a secret shows it, and none of the given secrets stands anywhere."""
    known = tuple(secret for secret in secrets if secret)
    match value:
        case Mapping():
            return {
                key: MASK if key in _SECRET_FIELDS and inner is not None else masked(inner, known)
                for key, inner in value.items()
            }
        case list():
            return [masked(item, known) for item in value]
        case str():
            for secret in known:
                value = value.replace(secret, MASK)
            return value
        case _:
            return value


def as_text(value: Any, *, compact: bool) -> str:  # noqa: ANN401
    """JSON for people or for programs; no character of it steers a terminal."""
    layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
    text = json.dumps(value, ensure_ascii=False, **layout).encode("utf-8", "replace").decode()
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
