"""Tunes the process: short turns for every thread, short rounds of the garbage collector, enough open files."""

import gc
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress

# The event loop waits so long for another thread at each of its steps; by default it is 5 ms.
TURN_SECONDS = 0.0005
# The collector's oldest generation holds all targets, and a round through it stops every thread for as long as that
# takes. What lives for long is seldom a ring here, so that a round is due a hundred times less often than by default.
OLDEST_ROUNDS = 1000

# The event loop gives the interpreter away at each of its system calls, and may wait a turn to have it back. A thread
# with much to do works so long at a stretch, and then sleeps long enough for the loop to run.
LONGEST_STRETCH = 0.0005
GAP = 0.00005


class YieldToOthers:
    """Lets the event loop run while a thread has much to do: call it between small pieces of the work.

    Args:
        monotonic: a clock in seconds.
        sleep: lets the thread sleep for a number of seconds.
    """

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._yielded = 0.0

    def __call__(self) -> None:
        """Sleep shortly, if the thread has worked for a stretch."""
        now = self._monotonic()
        if now - self._yielded >= LONGEST_STRETCH:
            self._sleep(GAP)
            self._yielded = self._monotonic()


def share() -> None:
    """Let every thread have its turn soon, and let few rounds of the garbage collector be long ones."""
    sys.setswitchinterval(TURN_SECONDS)
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, OLDEST_ROUNDS)


def settle() -> None:
    """Collect what is garbage now, and leave all else out of the collector's rounds, which stop every thread.

    What is left out is freed as ever when nothing refers to it; rings of such things are not, until this is called
    again. So call it when much has been built that stays, and when much of that was replaced.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def raise_file_limit() -> None:
    """Raise the soft limit of open files to the hard limit, where the system lets us."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def file_limit() -> int:
    """Return how many files and sockets this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
