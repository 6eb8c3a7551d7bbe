"""Runs what serves until it is told to stop."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from exporter.commands.complaint import complain
from exporter.configuration.faults import ConfigurationError
from exporter.ledger import StateLockedError
from exporter.platform.errors import PlatformError


class ListenError(Exception):
    """An address to listen on cannot be had; the message names it, and the flag that chooses another."""

    def __init__(self, address: str, error: OSError, flag: str) -> None:
        reason = error.strerror or str(error)
        super().__init__(f"cannot listen on {address}: {reason} ({flag} chooses another address)")


def serve(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run to the end; what cannot start ends the command."""
    try:
        asyncio.run(coroutine)
    except (ConfigurationError, StateLockedError, ListenError, PlatformError) as error:
        complain(str(error))
