"""The clocks of the program in one value, so that tests can replace them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks that a part of the program uses; by default the machine's own.

    Attributes:
        wall: unix seconds; they jump when the machine's clock is set.
        monotonic: seconds that never jump.
        sleep: waits for a number of seconds.
    """

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def utc(self) -> datetime:
        """Return the wall clock as a date."""
        return datetime.fromtimestamp(self.wall(), UTC)


SYSTEM = Clocks()
