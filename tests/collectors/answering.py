"""A caller that answers each operation with a body of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from exporter.platform.http.responses import payload
from exporter.platform.operation import Answer, Request
from tests.platform.callers import DATE, SECONDS

T = TypeVar("T")


@dataclass(frozen=True)
class AnsweringCaller:
    """Answers by operation, always the same."""

    bodies: Mapping[str, bytes]

    async def call(self, request: Request[T]) -> Answer[T]:
        """See `exporter.platform.operation.Caller`."""
        raw = self.bodies[request.operation.name]
        return Answer(payload(request.operation, raw, 200), DATE, raw, SECONDS)

    async def find(self, request: Request[T]) -> Answer[T | None]:
        """See `exporter.platform.operation.Caller`."""
        answer: Answer[Any] = await self.call(request)
        return answer
