"""Runs a server until it receives a signal, and ends the process in time after it, even if its threads hang."""

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from exporter.commands.output.printing import complain
from exporter.counters.storage import LeaseLostError, StateLockedError
from exporter.log import logger
from exporter.platform.errors import PlatformError
from exporter.responsive import runtime
from exporter.validation.faults import ConfigurationError

SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
SECONDS = 4.75
LOG_SECONDS = 0.1


class ListenError(Exception):
    """An address cannot be used to listen on; the message names it, and the flag that changes it."""


@contextmanager
def listening(address: str, flag: str) -> Iterator[None]:
    """Raise ListenError if the block cannot listen on an address, which a flag changes."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise ListenError(f"cannot listen on {address}: {reason} ({flag} chooses another address)") from error


def serve(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a server until it receives a signal; print a message and exit if it cannot start."""
    runtime.raise_file_limit()
    try:
        with ends_in_time():
            asyncio.run(coroutine)
    except (ConfigurationError, StateLockedError, LeaseLostError, ListenError, PlatformError) as error:
        complain(str(error))


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

    _is_over = False
    _is_counting = False

    def __init__(self, seconds: float) -> None:
        super().__init__(name="deadline", daemon=True)
        self._seconds = seconds

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
