"""A JSON answer of unknown shape: detects failures and masks secrets."""

import re
from typing import Any

from pydantic import ValidationError, model_validator

from exporter.platform.errors import MASK
from exporter.platform.wire import EnvelopeFault, Wire

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SECRET_WORDS = frozenset({"key", "keys", "pwd", "passwd", "passphrase"})
_SECRET_PART = re.compile(
    r"password|secret|token|credential|(api|access|private|auth|signing)[_-]?key|authorization", re.IGNORECASE
)


def is_secret_name(name: str) -> bool:
    """Return whether a field of this name may hold a secret, such as a key, a password or a token."""
    return _SECRET_PART.search(name) is not None or any(
        word.lower() in _SECRET_WORDS for word in _WORD.findall(name.replace("_", " "))
    )


class Document(Wire):
    """A JSON document of any shape; the texts of fields whose names suggest a secret are masked."""

    value: Any = None

    @model_validator(mode="before")
    @classmethod
    def _take_all(cls, data: object) -> dict[str, object]:
        return {"value": mask_secrets(data)}

    def failure(self) -> EnvelopeFault | None:
        """The failure of an envelope without data."""
        if not isinstance(self.value, dict) or self.value.get("data") is not None:
            return None
        found = self.value.get("error", self.value.get("errorResponse"))
        fault: dict[str, Any] | None = found if isinstance(found, dict) else None
        if fault is None and self.value.get("success") is False:
            fault = self.value
        try:
            read = None if fault is None else EnvelopeFault.model_validate(fault)
        except ValidationError:
            return EnvelopeFault(message="the answer reports a failure in an undocumented shape")
        return read if read is not None and read.is_failure() else None


def mask_secrets(data: object) -> object:
    """Replace, in place, every text below a field whose name suggests a secret; numbers are not secrets."""
    pending: list[tuple[Any, bool]] = [(data, False)]
    while pending:
        holder, hides = pending.pop()
        for place, item in _entries(holder):
            hidden = hides or (isinstance(place, str) and is_secret_name(place))
            if isinstance(item, str):
                if hidden and item:
                    holder[place] = MASK
            elif isinstance(item, dict | list):
                pending.append((item, hidden))
    return data


def _entries(holder: object) -> list[tuple[Any, Any]]:
    if isinstance(holder, dict):
        return list(holder.items())
    return list(enumerate(holder)) if isinstance(holder, list) else []
