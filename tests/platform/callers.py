"""A caller that answers with bodies that a test wrote, by way of the client's own reading of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from exporter.platform.errors import PlatformError
from exporter.platform.http.responses import payload
from exporter.platform.operation import Answer, Operation, Scalar

T = TypeVar("T")

DATE = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)
SECONDS = 0.25


@dataclass
class ScriptedCaller:
    """Gives one answer after another, and the last one from then on: a body, an error, or None for an absent one."""

    answers: list[str | bytes | PlatformError | None]
    date: datetime | None = DATE
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def call(
        self,
        operation: Operation[T],
        *,
        path: Mapping[str, Scalar] | None = None,
        query: Mapping[str, Scalar] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Answer[T]:
        """See `exporter.platform.operation.Caller`."""
        answer: Answer[Any] = await self.find(operation, path=path, query=query, body=body)
        return answer

    async def find(
        self,
        operation: Operation[T],
        *,
        path: Mapping[str, Scalar] | None = None,
        query: Mapping[str, Scalar] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Answer[T | None]:
        """See `exporter.platform.operation.Caller`."""
        self.calls.append((operation.name, {**(path or {}), **(query or {}), **(body or {})}))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, PlatformError):
            raise answer
        if answer is None:
            return Answer(None, self.date, b"", SECONDS)
        raw = answer.encode() if isinstance(answer, str) else answer
        return Answer(payload(operation, raw, 200), self.date, raw, SECONDS)


def caller(*answers: str | bytes | PlatformError | None) -> ScriptedCaller:
    """A caller of these answers."""
    return ScriptedCaller(list(answers))
