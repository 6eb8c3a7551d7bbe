"""How long tests wait for what other tasks, threads and processes bring about.

No test passes or fails by how fast the machine is: each waits for an event or for a condition, and the times here end
only what would hang.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, TypeVar

# What takes a second on a quiet machine is given minutes on a busy one; a test that passes never waits so long.
PATIENCE: Final = 300.0
# Ten times the five seconds within which the exporter promises to end. What tests let stall does so for longer.
END_SECONDS: Final = 50.0

T = TypeVar("T")


async def until(condition: Callable[[], object], awaited: str = "what was awaited") -> None:
    """Wait on the event loop until a condition holds that no event announces.

    Raises:
        AssertionError: it does not hold after `PATIENCE`.
    """
    try:
        async with asyncio.timeout(PATIENCE):
            while not condition():  # noqa: ASYNC110 - no event announces it
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"waited {PATIENCE} s for {awaited}") from None


def wait_until(condition: Callable[[], object], awaited: str = "what was awaited") -> None:
    """Wait until a condition holds, such as what another process answers.

    Raises:
        AssertionError: it does not hold after `PATIENCE`.
    """
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, f"waited {PATIENCE} s for {awaited}"
        time.sleep(0.1)


def settled(ask: Callable[[], T], expected: object) -> T:
    """Ask again until the answer is as expected; the last answer, for an assertion to show."""
    ends = time.monotonic() + PATIENCE
    while (answer := ask()) != expected and time.monotonic() < ends:
        time.sleep(0.1)
    return answer
