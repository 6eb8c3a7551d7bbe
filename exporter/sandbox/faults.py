"""Scripted faults: which of them a request meets, and how often each may still strike."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from exporter.sandbox.fault_kinds import FAULT, KINDS, FaultKind

_WORDS: Final = {"missing": "is missing", "extra_forbidden": "is no field of this kind of fault"}
_NO_KIND: Final = frozenset({"union_tag_not_found", "union_tag_invalid"})


class FaultSpecError(Exception):
    """A fault that makes no sense, with the reasons."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(slots=True)
class Scripted:
    """A fault that waits for its requests."""

    fault_id: int
    kind: FaultKind
    left: int | None
    hits: int = 0

    def summary(self) -> dict[str, Any]:
        """Return the fault as the control endpoint shows it."""
        told = self.kind.model_dump(mode="json")
        return {"id": self.fault_id, **told, "left": self.left, "hits": self.hits}


class Faults:
    """The faults that are scripted; the oldest that meets a request and has a strike left decides."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable, and no secret
        self._scripted: dict[int, Scripted] = {}
        self._next = 1

    def add(self, told: Mapping[str, Any]) -> Scripted:
        """Script a fault.

        Raises:
            FaultSpecError: What was told makes no sense.
        """
        try:
            kind = FAULT.validate_python(dict(told))
        except ValidationError as error:
            raise FaultSpecError([_reason(fault) for fault in error.errors(include_url=False)]) from error
        added = Scripted(self._next, kind, kind.times)
        self._scripted[added.fault_id] = added
        self._next += 1
        return added

    def all(self) -> list[Scripted]:
        """Return every fault, also those that have struck as often as they may."""
        return list(self._scripted.values())

    def remove(self, fault_id: int) -> bool:
        """Remove a fault; tell whether it was there."""
        return self._scripted.pop(fault_id, None) is not None

    def clear(self) -> None:
        """Remove all faults."""
        self._scripted.clear()

    def strike(self, method: str, path: str) -> FaultKind | None:
        """Return the fault that a request meets, and count it."""
        for scripted in self._scripted.values():
            if scripted.left == 0 or not scripted.kind.meets(method, path):
                continue
            if scripted.kind.probability < 1 and self._random.random() >= scripted.kind.probability:
                continue
            scripted.hits += 1
            if scripted.left is not None:
                scripted.left -= 1
            return scripted.kind
        return None

    def random_bytes(self, size: int) -> bytes:
        """Return bytes that mean nothing."""
        return self._random.randbytes(size)


def _reason(fault: Mapping[str, Any]) -> str:
    if fault["type"] in _NO_KIND:
        return f"kind: must be one of {', '.join(KINDS)}"
    # The first step is the kind, which is known.
    where = ".".join(str(part) for part in fault["loc"][1:])
    message = _WORDS.get(fault["type"], str(fault["msg"]).removeprefix("Value error, "))
    return f"{where}: {message}" if where else message
