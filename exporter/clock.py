"""The clocks, as one value that tests replace."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of polling, injected so that tests turn them.

    Attributes:
        wall: the Unix time in seconds.
        monotonic: seconds that never go back.
        utc: the time of day.
    """

    wall: Callable[[], float]
    monotonic: Callable[[], float]
    utc: Callable[[], datetime]


def real_clocks() -> Clocks:
    """The clocks of the machine."""
    return Clocks(wall=time.time, monotonic=time.monotonic, utc=lambda: datetime.now(UTC))
