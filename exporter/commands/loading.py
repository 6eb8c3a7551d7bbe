"""Imports what carries a command out, when it is carried out: neither help nor completion waits for it."""

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Import modules without garbage collections, and let Ctrl-C end the process at once.

    What an import creates stays: searching it for garbage would take a fifth of a start. Python's own handling
    of Ctrl-C can get lost in an import; the system's cannot.
    """
    former = signal.signal(signal.SIGINT, signal.SIG_DFL)
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # The next collections leave out what is there now.
        gc.freeze()
        if collects:
            gc.enable()
        signal.signal(signal.SIGINT, former)
