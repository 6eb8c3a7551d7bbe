"""Creates the storage of the state in a database from its settings."""

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from exporter.counters.storage import NullObserver, StorageError
from exporter.settings.service import StateSettings
from exporter.targets.sharding import Share
from exporter.targets.target import PollKey
from exporter.validation.secrets import SecretFileError

if TYPE_CHECKING:
    from exporter.counters.database_storage import DatabaseStorage
    from exporter.counters.lease import StorageObserver


def database_storage(
    state: StateSettings, share: Share, observer: "StorageObserver", shard_of: Callable[[PollKey], int | None]
) -> "DatabaseStorage":
    """Create the storage of one shard, or of the shards that are held by leases, in a state database.

    `observer` is called when shards come and go. `shard_of` returns the shard of a row; None if it is not known.
    """
    # Imported here because it is an optional extra; the settings have checked that it is installed.
    from exporter.counters.database_storage import DatabaseStorage  # noqa: PLC0415 - an extra
    from exporter.counters.state_database import Group  # noqa: PLC0415 - an extra

    holder = f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(4)}"
    return DatabaseStorage(
        partial(_address, state),
        Group(state.installation, share.total, holder),
        observer,
        only=None if share.may_change else share.first,
        shard_of=shard_of,
        lease=state.lease,
    )


def lone_storage(state: StateSettings, share: Share) -> "DatabaseStorage":
    """Create the storage for a command that uses one shard of a state database for a short time."""
    return database_storage(state, share, NullObserver(), lambda _key: share.first)


def problem_of(state: StateSettings) -> str:
    """Return why the state database cannot be used; empty if it can, or if the state is not in a database."""
    if not state.is_shared:
        return ""
    from exporter.counters.state_database import StateDatabase  # noqa: PLC0415 - an extra

    with closing(StateDatabase(partial(_address, state), state.lease)) as database:
        try:
            database.check()
        except StorageError as error:
            return str(error)
    return ""


def _address(state: StateSettings) -> str:
    try:
        return state.address()
    except SecretFileError as error:
        raise StorageError(str(error)) from None
