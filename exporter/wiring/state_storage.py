"""Creates, reads and checks the storage that the settings define for the state."""

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING

from exporter.clock import Clocks
from exporter.counters.rows import StateRow
from exporter.counters.state_file import FileStorage, rows_of
from exporter.counters.storage import MemoryStorage, Storage, StorageError
from exporter.settings.model import Settings
from exporter.settings.service import StateSettings
from exporter.targets.target import PollKey
from exporter.validation.configuration_errors import ConfigurationError, ConfigurationFault
from exporter.validation.secrets import SecretError

if TYPE_CHECKING:
    from exporter.counters.postgres_storage import PostgresStorage


# A function with the arguments and the result of `unshared_storage`.
OpenStorage = Callable[[StateSettings, Clocks, Callable[[float], None], Executor], Storage]


def unshared_storage(
    state: StateSettings, clocks: Clocks, set_aside: Callable[[float], None], executor: Executor
) -> Storage:
    """Create the storage of a state that is not in a database: a file, or a storage that keeps nothing.

    `executor` has one thread, for the calls to the file. After an unusable file was renamed, `set_aside` is called on
    that thread, with the time in unix seconds.

    Raises:
        ConfigurationError: the file's name is relative to a directory that was removed.
    """
    if state.path is None:
        return MemoryStorage()
    try:
        return FileStorage(state.path, clocks.wall, set_aside, executor)
    except FileNotFoundError:
        message = f"'{state.path}' is relative to the working directory, which was removed; expected an absolute path"
        raise ConfigurationError([ConfigurationFault(message, "state.path")]) from None


def postgres_storage(settings: Settings) -> "PostgresStorage":
    """Create the storage in a state database; its `claim` takes the configured shard or, for `auto`, any free one."""
    index, total = settings.shard.index, settings.shard.total
    wanted = range(total) if index == "auto" else (index,)
    return _database_storage(settings.state, total, wanted)


def _database_storage(state: StateSettings, total: int = 1, wanted: Collection[int] = ()) -> "PostgresStorage":
    """Create the storage in a state database; without `wanted` shards, the storage can only be read."""
    # Imported here, because the import needs an optional extra. The settings have checked that the extra is installed.
    from exporter.counters.postgres_storage import PostgresStorage  # noqa: PLC0415 - an extra

    return PostgresStorage(partial(_address, state), state.installation, total, wanted, lease=state.lease)


async def stored_rows(state: StateSettings, collectors: Collection[str]) -> dict[PollKey, StateRow]:
    """Return the stored rows of some collectors.

    Raises:
        StorageError: the state cannot be read.
    """
    if not state.is_shared:
        if state.path is None:
            return {}
        try:
            return rows_of(state.path, collectors) if state.path.exists() else {}
        except OSError as error:
            raise StorageError(f"{state.path} cannot be read: {error.strerror}") from None
    try:
        return await _database_storage(state).read(collectors)
    except StorageError as error:
        raise StorageError(f"the state database cannot be read: {error}") from None


def database_problem(settings: Settings) -> str:
    """Return why the state database cannot be used; empty if it can be used, or if none is configured."""
    if not settings.state.is_shared:
        return ""
    try:
        asyncio.run(postgres_storage(settings).check())
    except StorageError as error:
        return str(error)
    return ""


def _address(state: StateSettings) -> str:
    try:
        return state.address()
    except SecretError as error:
        # The error that `PostgresStorage` expects.
        raise StorageError(str(error)) from None
