"""Reads a key file again while it is used, on an executor, because the file system may hang."""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from exporter.blocking import blocking
from exporter.platform.errors import CredentialError
from exporter.validation.secrets import SecretError, read_secret

# A changed key is found at most this many seconds later.
CHECK_SECONDS = 0.2
# A call waits at most this many seconds for the file, and then uses the key that was read last.
PATIENCE = 1.0


class KeyFile:
    """A key in a file. `refresh` reads it again; a call returns the key that was read last.

    Args:
        path: the file.
        monotonic: a clock in seconds.
        executor: reads this file alone, because other files may be on another file system.
    """

    def __init__(self, path: Path, monotonic: Callable[[], float], executor: Executor) -> None:
        self._path = path
        self._monotonic = monotonic
        self._executor = executor
        self._key, self._problem = "", f"{path} has not been read yet"
        self._began = -math.inf
        self._reading: asyncio.Task[None] | None = None

    def __call__(self) -> str:
        """Return the key that was read last, and look at the file if that was some time ago; raises CredentialError."""
        self._read()  # also while no call is made, because the platform refused the key
        if self._problem:
            raise CredentialError(f"the key cannot be read: {self._problem}")
        return self._key

    async def refresh(self) -> None:
        """Read the file if that was some time ago; while its file system hangs, wait for at most `PATIENCE` seconds."""
        self._read()
        if self._reading is not None and self._monotonic() - self._began <= PATIENCE:
            await asyncio.wait({self._reading}, timeout=PATIENCE)

    def _read(self) -> None:
        if self._reading is None and self._monotonic() - self._began >= CHECK_SECONDS:
            self._began = self._monotonic()
            self._reading = asyncio.create_task(self._take(), name="key file")

    async def _take(self) -> None:
        try:
            secret = await blocking(self._executor, read_secret, self._path)
            self._key, self._problem = secret.get_secret_value(), ""
        except SecretError as error:
            self._problem = str(error)
        except RuntimeError:
            pass  # no thread can be started now; the next look tries again
        self._reading = None
