"""Runs a server until the process receives a signal, and then ends the process, even if threads hang."""

import asyncio
import os
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from exporter.commands.output.printing import complaining
from exporter.counters.storage import StateLockedError
from exporter.http_server.connections import raise_file_limit
from exporter.http_server.loop_server import ListenError
from exporter.validation.configuration_errors import ConfigurationError


@contextmanager
def listening(flag: str) -> Iterator[None]:
    """If the block raises a ListenError, add to the message which flag chooses another address."""
    try:
        yield
    except ListenError as error:
        raise ListenError(f"{error} ({flag} chooses another address)") from None


def serve(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a server until a signal, then end the process; exit with 1 and a message after an expected error."""
    raise_file_limit()
    with complaining(ConfigurationError, StateLockedError, ListenError, OSError):
        asyncio.run(coroutine)
    sys.stdout.flush()
    # Python would wait for threads that hang in a system call, for example on a network drive that does not answer.
    os._exit(0)
