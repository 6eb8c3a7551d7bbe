"""Tunes the process: the switch interval of threads, garbage collection, and the limit of open files."""

import gc
import resource
import sys
from contextlib import suppress

# The longest wait of the event loop for another thread, at each of its steps; Python's default is 5 ms. With 0.5 ms, a
# busy daemon spends a tenth of its processor time on changes of the thread.
TURN_SECONDS = 0.002
# New objects between two collections of the youngest generation. The results of polls wait about a second for the
# ledger and the renderer. With Python's default of 700, they would all be examined during that time, which takes 5 % of
# a poll's time.
YOUNG_OBJECTS = 20_000
# A collection of the oldest generation, which contains all targets, stops every thread. Few long-lived objects here are
# reference cycles, so it is collected a hundred times less often than by default.
OLDEST_ROUNDS = 35


def share() -> None:
    """Shorten the switch interval of threads, and make collections of garbage rare."""
    sys.setswitchinterval(TURN_SECONDS)
    _, middle, _ = gc.get_threshold()
    gc.set_threshold(YOUNG_OBJECTS, middle, OLDEST_ROUNDS)


def settle() -> None:
    """Collect garbage now, and exclude all remaining objects from later collections, which stop every thread.

    Excluded objects are still freed when nothing refers to them, except reference cycles, which stay until the next
    call. Call this when many long-lived objects were created or replaced.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def raise_file_limit() -> None:
    """Raise the soft limit of open files to the hard limit, where the system allows it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def file_limit() -> int:
    """Return how many files and sockets this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
