"""Imports what carries a command out, when it is carried out: neither help nor completion waits for it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Let Ctrl-C end the process at once while modules are imported.

    Python's own handling of Ctrl-C can get lost in an import; the system's cannot.
    """
    former = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
