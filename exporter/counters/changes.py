"""The rule for the moment at which a target's answers last changed."""

from dataclasses import dataclass
from typing import ClassVar

from exporter.metric import LastChange


@dataclass(slots=True)
class ChangeSeries:
    """When the answers of a target last changed.

    Attributes:
        mark: the mark of the last answer.
        value: this machine's unix seconds at the poll that first had this mark.
    """

    mark: float
    value: float
    # It has counted no day, and is the sum of nothing.
    following: ClassVar[int] = 0
    is_whole: ClassVar[bool] = False

    def count(self, source: LastChange, wall: float) -> int:
        """Take over an answer, polled at `wall` in unix seconds; a clock that was set back takes the moment with it."""
        self.value = min(self.value, wall) if source.value == self.mark else wall
        self.mark = source.value
        return 0
