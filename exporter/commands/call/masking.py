"""Masks secrets in the output of a command."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from exporter.platform.errors import MASK
from exporter.terminal import escape

# Fields of the interface that hold secrets (interface document, EdgeScript).
_SECRET_FIELDS = frozenset({"DeploymentKey", "DefaultValue", "Secret"})


def masked(value: Any, secrets: Iterable[str] = ()) -> Any:  # noqa: ANN401 - any JSON
    """Return JSON with the fields of secrets masked, and each of the given secrets wherever it occurs."""
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
    """Return JSON as text, in which no character controls a terminal."""
    layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
    return escape(json.dumps(value, ensure_ascii=False, **layout), keep="\n")
