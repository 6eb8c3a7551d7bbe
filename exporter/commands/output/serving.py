"""Runs a server until it receives a signal."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from exporter.commands.output.deadline import ends_in_time
from exporter.commands.output.printing import complain
from exporter.counters.storage import LeaseLostError, StateLockedError
from exporter.platform.errors import PlatformError
from exporter.responsive import runtime
from exporter.validation.faults import ConfigurationError


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
