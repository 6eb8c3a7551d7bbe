"""Reads a key file again when it changes, on an executor, because the file system may hang."""

import asyncio
import math
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from exporter.blocking import blocking
from exporter.foreign.regular_file import Stamp, stamp, unreadable
from exporter.log import logger
from exporter.platform.errors import CredentialError
from exporter.validation.secrets import SecretFileError, read_secret

# A changed key is found at most this many seconds later.
CHECK_SECONDS = 0.2
# A call waits at most this many seconds for the file, and then uses the key that was read last.
PATIENCE = 1.0


class _Found(NamedTuple):
    """The key and what changes with the file's content, or why there is none."""

    problem: str
    secret: str = ""
    stamp: Stamp | None = None


class KeyFile:
    """A key in a file. `refresh` reads it if the file has changed; a call returns the key that was read last.

    Args:
        path: the file.
        monotonic: a clock in seconds.
        executor: reads this file alone, because other files may be on another file system.
    """

    def __init__(self, path: Path, monotonic: Callable[[], float], executor: Executor) -> None:
        self._path = path
        self._monotonic = monotonic
        self._executor = executor
        self._found = _Found(f"{path} has not been read yet")
        self._began = -math.inf
        self._looking: asyncio.Task[None] | None = None
        self._is_stuck = False

    def __call__(self) -> str:
        """Return the key that was read last, and look at the file if that was some time ago; raises CredentialError."""
        self._look()  # also while no call is made, because the platform refused the key
        if self._found.problem:
            raise CredentialError(f"the key cannot be read: {self._found.problem}")
        return self._found.secret

    async def refresh(self) -> None:
        """Read the file if that was some time ago; waits for at most `PATIENCE` seconds."""
        looking = self._look()
        if looking is None or self._monotonic() - self._began > PATIENCE:
            return
        await asyncio.wait({looking}, timeout=PATIENCE)
        if not looking.done() and not self._is_stuck:
            self._is_stuck = True
            logger().warning("key file cannot be read now, its file system does not respond", file=str(self._path))
            if not self._found.secret:
                self._found = _Found(f"{self._path} cannot be read: its file system does not answer")

    def _look(self) -> "asyncio.Task[None] | None":
        if self._looking is None and self._monotonic() - self._began >= CHECK_SECONDS:
            self._began = self._monotonic()
            self._looking = asyncio.create_task(self._take(), name="key file")
        return self._looking

    async def _take(self) -> None:
        try:
            self._found = await blocking(self._executor, self._read)
        except RuntimeError as error:
            # The next look tries again.
            self._found = self._found if self._found.secret else _Found(f"{self._path} cannot be read: {error}")
        self._looking, self._is_stuck = None, False

    def _read(self) -> _Found:
        try:
            now = stamp(self._path)
            is_same = now == self._found.stamp
            return self._found if is_same else _Found("", read_secret(self._path).get_secret_value(), now)
        except SecretFileError as error:
            return _Found(str(error))
        except OSError as error:
            return _Found(f"{self._path} {unreadable(error)}")
