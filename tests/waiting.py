"""Waits for results of other tasks, threads and processes.

No test depends on the machine's speed: each waits for an event or a condition, and the time limits here only end a test
that would hang.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

# A second of work on a quiet machine may take minutes on a busy one. A test that passes never waits this long.
PATIENCE: Final = 300.0
# Ten times the five seconds in which the exporter must end. Stalls in tests last longer than this.
END_SECONDS: Final = 50.0

T = TypeVar("T")


async def until(condition: Callable[[], object], awaited: str = "what was awaited") -> None:
    """Wait on the event loop for a condition that no event announces.

    Raises:
        AssertionError: it is not true after `PATIENCE`.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110 - no event announces it
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"waited {PATIENCE} s for {awaited}") from None


def wait_until(
    condition: Callable[[], object], awaited: str = "what was awaited", step: float = 0.1, patience: float = PATIENCE
) -> None:
    """Wait for a condition, such as the answer of another process; look at it each `step` seconds.

    Raises:
        AssertionError: it is not true after `patience` seconds.
    """
    ends = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < ends, f"waited {patience} s for {awaited}"
        time.sleep(step)


def settled(ask: Callable[[], T], expected: object) -> T:
    """Repeat a question until the answer is as expected; return the last answer, for an assertion."""
    ends = time.monotonic() + PATIENCE
    while (answer := ask()) != expected and time.monotonic() < ends:
        time.sleep(0.1)
    return answer
