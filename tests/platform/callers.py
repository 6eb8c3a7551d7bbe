"""A caller whose answers a test writes as bodies, which the client's own code reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from exporter.platform.errors import PlatformError
from exporter.platform.http.responses import payload
from exporter.platform.operation import Answer, Request

T = TypeVar("T")

DATE = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
SECONDS = 0.25


@dataclass
class ScriptedCaller:
    """Gives one answer after another, and then repeats the last: a body, an error, or None for an absent one.

    By the name of an operation, its answers stay the same.
    """

    answers: list[str | bytes | PlatformError | None] | Mapping[str, bytes]
    date: datetime | None = DATE
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def call(self, request: Request[T]) -> Answer[Any]:
        """Implements `exporter.platform.operation.Caller`."""
        self.calls.append(
            (request.operation.name, {**(request.path or {}), **(request.query or {}), **(request.body or {})})
        )
        if isinstance(self.answers, Mapping):
            answer: str | bytes | PlatformError | None = self.answers[request.operation.name]
        else:
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, PlatformError):
            raise answer
        if answer is None:
            return Answer(None, self.date, b"", SECONDS)
        raw = answer.encode() if isinstance(answer, str) else answer
        return Answer(payload(request.operation, raw, 200, set()), self.date, raw, SECONDS)


def caller(*answers: str | bytes | PlatformError | None) -> ScriptedCaller:
    return ScriptedCaller(list(answers))
