"""Runs a server until it receives a signal, and ends the process in time after it, even if its threads hang."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from exporter.commands.output.printing import complaining
from exporter.counters.storage import StateLockedError
from exporter.http_server.connections import ListenError, raise_file_limit
from exporter.log import logger
from exporter.validation.configuration_errors import ConfigurationError

SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
SECONDS = 4.75
LOG_SECONDS = 0.1


@contextmanager
def listening(flag: str) -> Iterator[None]:
    """Add to a ListenError of the block the flag that changes the address."""
    try:
        yield
    except ListenError as error:
        raise ListenError(f"{error} ({flag} chooses another address)") from None


def serve(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a server until it receives a signal; print a message and exit if it cannot start."""
    raise_file_limit()
    errors = (ConfigurationError, StateLockedError, ListenError, OSError)
    with complaining(*errors), ends_in_time():
        asyncio.run(coroutine)


@contextmanager
def ends_in_time(seconds: float = SECONDS) -> Iterator[None]:
    """After a signal, let the process run for this many seconds, then end it with exit code 0.

    Python's own handlers run on the main thread, which may hang in a call to the system, and Python waits for its
    other threads when it exits. So a thread that does nothing else receives the signals, starts the count, and passes
    each on to the handler that is installed for it.
    """
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    is_over = False

    def watch() -> None:
        is_counting = False
        while True:
            received = signal.sigwait(SIGNALS)
            if is_over:
                return
            if not is_counting:
                is_counting = True
                # Both now: while the interpreter ends, no thread can be started. Writing to the log may hang, too.
                for work, wait in ((_say_what_hangs, seconds), (_end, seconds + LOG_SECONDS)):
                    threading.Thread(target=_after, args=(wait, work), name="countdown", daemon=True).start()
            # Pass the signal on to the installed handler.
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {received})
            signal.raise_signal(received)
            signal.pthread_sigmask(signal.SIG_BLOCK, {received})

    watcher = threading.Thread(target=watch, name="deadline", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        # A count that has begun continues, because Python still has to end its threads.
        is_over = True
        if watcher.ident is not None and watcher.is_alive():
            signal.pthread_kill(watcher.ident, signal.SIGTERM)
            watcher.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _after(seconds: float, work: Callable[[], None]) -> None:
    threading.Event().wait(seconds)
    work()


def _end() -> None:
    os._exit(0)


def _say_what_hangs() -> None:
    hanging = sorted(thread.name for thread in threading.enumerate() if not thread.daemon)
    logger().warning("ended without waiting for threads that hang", threads=hanging)
