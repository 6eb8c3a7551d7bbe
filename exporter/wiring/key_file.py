"""Reads a key from a file repeatedly, on an executor, because the file system may hang."""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from exporter.blocking import blocking
from exporter.platform.errors import CredentialError
from exporter.validation.secrets import SecretError, read_secret

# The shortest time between the beginnings of two readings of the file, in seconds.
CHECK_SECONDS = 0.2
# The longest time that a call waits for a reading, in seconds.
PATIENCE = 1.0


class KeyFile:
    """A key in a file.

    Args:
        monotonic: returns the time in seconds.
        executor: reads only this file, so that other files can be read while the file system of this file hangs.
    """

    def __init__(self, path: Path, monotonic: Callable[[], float], executor: Executor) -> None:
        self._path = path
        self._monotonic = monotonic
        self._executor = executor
        self._key = ""
        # Why there is no usable key; empty if `_key` is usable.
        self._problem = f"{path} has not been read yet"
        self._began_at = -math.inf
        self._reading: asyncio.Task[None] | None = None

    def last_key(self) -> str:
        """Return the key that was read last.

        Raises:
            CredentialError: the file has not been read yet, or the last reading has found a fault.
        """
        if self._problem:
            raise CredentialError(f"the key or token cannot be read: {self._problem}")
        return self._key

    async def refresh(self) -> None:
        """Start to read the file as `start_refresh` does; wait until no reading runs, at most `PATIENCE` seconds."""
        self.start_refresh()
        # A reading that has taken longer than `PATIENCE` probably hangs; no further call waits for it.
        if self._reading is not None and self._monotonic() - self._began_at <= PATIENCE:
            await asyncio.wait({self._reading}, timeout=PATIENCE)

    def start_refresh(self) -> None:
        """Start to read the file if the last reading has ended, and began at least `CHECK_SECONDS` ago."""
        if self._reading is None and self._monotonic() - self._began_at >= CHECK_SECONDS:
            self._began_at = self._monotonic()
            self._reading = asyncio.create_task(self._read(), name="key file")

    async def _read(self) -> None:
        try:
            secret = await blocking(self._executor, read_secret, self._path)
            self._key, self._problem = secret.get_secret_value(), ""
        except SecretError as error:
            self._problem = str(error)
        except RuntimeError:
            pass  # No thread can be started now. The next reading tries again.
        self._reading = None
