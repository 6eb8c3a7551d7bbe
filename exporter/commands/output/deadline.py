"""Ends a process in time after SIGTERM or SIGINT, even if its threads hang."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from exporter.log import logger

SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
SECONDS = 4.75
LOG_SECONDS = 0.1


@contextmanager
def ends_in_time(seconds: float = SECONDS) -> Iterator[None]:
    """After a signal, let the process run for this many seconds, then end it with exit code 0.

    Python's own handlers run on the main thread, which may hang in a call to the system, and Python waits for its
    other threads when it exits. So a thread that does nothing else receives the signals, starts the count, and passes
    each on to the handler that is installed for it.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    watch = _Watch(seconds)
    watch.start()
    try:
        yield
    finally:
        watch.stop()
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


class _Watch(threading.Thread):
    """Waits for a signal to end, and ends the process a number of seconds later."""

    def __init__(self, seconds: float) -> None:
        super().__init__(name="deadline", daemon=True)
        self._seconds = seconds
        self._is_over = False
        self._is_counting = False

    def run(self) -> None:
        """Wait for signals."""
        while True:
            received = signal.sigwait(SIGNALS)
            if self._is_over:
                return
            if not self._is_counting:
                self._is_counting = True
                threading.Thread(target=self._count, name="countdown", daemon=True).start()
            # Pass the signal on to the installed handler.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {received})
            signal.raise_signal(received)
            signal.pthread_sigmask(signal.SIG_BLOCK, {received})

    def stop(self) -> None:
        """Stop waiting for signals; a count that has begun continues, because Python still has to end its threads."""
        self._is_over = True
        if self.ident is not None and self.is_alive():
            signal.pthread_kill(self.ident, signal.SIGTERM)
            self.join()

    def _count(self) -> None:
        threading.Event().wait(self._seconds)
        # Writing to the log may hang, too.
        saying = threading.Thread(target=_say_what_hangs, daemon=True)
        saying.start()
        saying.join(LOG_SECONDS)
        os._exit(0)


def _say_what_hangs() -> None:
    hanging = sorted(thread.name for thread in threading.enumerate() if not thread.daemon)
    logger().warning("ended without waiting for threads that hang", threads=hanging)
