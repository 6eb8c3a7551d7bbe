"""A caller with a fixed answer for each operation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from exporter.platform.http.responses import payload
from exporter.platform.operation import Answer, Request
from tests.platform.callers import DATE, SECONDS

T = TypeVar("T")


@dataclass(frozen=True)
class AnsweringCaller:
    """Gives each operation the same answer every time."""

    bodies: Mapping[str, bytes]

    async def call(self, request: Request[T]) -> Answer[T]:
        """Implements `exporter.platform.operation.Caller`."""
        raw = self.bodies[request.operation.name]
        return Answer(payload(request.operation, raw, 200), DATE, raw, SECONDS)
