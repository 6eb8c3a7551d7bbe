"""A caller that answers each operation with a body of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from exporter.platform.http.responses import payload
from exporter.platform.operation import Answer, Operation, Scalar
from tests.platform.callers import DATE, SECONDS

T = TypeVar("T")


@dataclass(frozen=True)
class AnsweringCaller:
    """Answers by operation, always the same."""

    bodies: Mapping[str, bytes]

    async def call(
        self,
        operation: Operation[T],
        *,
        path: Mapping[str, Scalar] | None = None,  # noqa: ARG002
        query: Mapping[str, Scalar] | None = None,  # noqa: ARG002
        body: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Answer[T]:
        """See `exporter.platform.operation.Caller`."""
        raw = self.bodies[operation.name]
        return Answer(payload(operation, raw, 200), DATE, raw, SECONDS)

    async def find(
        self,
        operation: Operation[T],
        *,
        path: Mapping[str, Scalar] | None = None,
        query: Mapping[str, Scalar] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Answer[T | None]:
        """See `exporter.platform.operation.Caller`."""
        answer: Answer[Any] = await self.call(operation, path=path, query=query, body=body)
        return answer
