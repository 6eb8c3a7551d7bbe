"""Creates the storage of the state from its settings: memory, a file, or a shard's part of a database."""

import os
import secrets
import socket
from collections.abc import Callable
from functools import partial

from exporter.backfill.baselines import Baselines, RecordedBaselines, open_file_baselines, open_shared_baselines
from exporter.clock import SYSTEM
from exporter.counters.file_storage import FileStorage
from exporter.counters.storage import MemoryStorage, Storage, StorageError
from exporter.settings.secrets import SecretFileError
from exporter.settings.service import StateSettings
from exporter.targets.sharding import Shard


def storage(
    state: StateSettings, shard: Shard, set_aside: Callable[[float], None], lost: Callable[[], None]
) -> Storage:
    """Create the storage of the ledger's rows.

    Args:
        state: the settings of the state.
        shard: the shard that the rows belong to.
        set_aside: called with unix seconds when a state file had to be put aside.
        lost: called on any thread when another exporter has taken the shard in a state database.
    """
    if state.is_shared:
        return database_storage(state, shard, lost)
    return MemoryStorage() if state.path is None else FileStorage(state.path, SYSTEM.wall, set_aside)


def database_storage(state: StateSettings, shard: Shard, lost: Callable[[], None] = lambda: None) -> Storage:
    """Create the storage of a shard in a state database.

    Args:
        state: the settings of the database.
        shard: the shard that the rows belong to.
        lost: called on any thread when another exporter has taken the shard.
    """
    # Imported here because it is an extra; the settings have checked that it is installed.
    from exporter.counters.database_storage import DatabaseStorage  # noqa: PLC0415 - an extra
    from exporter.counters.state_database import Claim  # noqa: PLC0415 - an extra

    holder = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
    claim = Claim(state.installation, shard.index, shard.total, holder)
    return DatabaseStorage(_address(state), claim, lost=lost, lease=state.lease)


def problem_of(state: StateSettings) -> str:
    """Say why the state database cannot be used; empty if it can, or if the state is in no database."""
    if not state.is_shared:
        return ""
    from exporter.counters.state_database import StateDatabase  # noqa: PLC0415 - an extra

    database = StateDatabase(_address(state), state.lease)
    try:
        database.check()
    except StorageError as error:
        return str(error)
    finally:
        database.close()
    return ""


def _address(state: StateSettings) -> Callable[[], str]:
    def read() -> str:
        try:
            return state.address()
        except SecretFileError as error:
            raise StorageError(str(error)) from None

    return read


def baselines(state: StateSettings, shard: Shard) -> Baselines:
    """Read the baselines of the live counters, for a backfill.

    Raises:
        BaselineError: the state file cannot be used.
    """
    if not state.is_shared:
        return open_file_baselines(state.path, SYSTEM)
    from exporter.counters.state_database import StateDatabase  # noqa: PLC0415 - an extra

    database = StateDatabase(_address(state), state.lease)
    recorded = RecordedBaselines(partial(database.row, state.installation), database.close)
    return open_shared_baselines(database_storage(state, shard), recorded, SYSTEM)
