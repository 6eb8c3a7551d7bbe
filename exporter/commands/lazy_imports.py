"""Imports the modules of a command only when it runs, so that help and completion are fast."""

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Import modules without garbage collections, and let Ctrl-C end the process at once.

    Imported objects are never garbage, and searching them for garbage would take a fifth of the start. Python's own
    handling of Ctrl-C can be lost during an import; the default action of the system cannot.
    """
    former = signal.signal(signal.SIGINT, signal.SIG_DFL)
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Exclude all present objects from later collections.
        gc.freeze()
        if collects:
            gc.enable()
        signal.signal(signal.SIGINT, former)
