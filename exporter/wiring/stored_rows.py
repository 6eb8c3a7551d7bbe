"""Reads rows of the state, which a running exporter may be writing."""

import sqlite3
from collections.abc import Collection, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from exporter.counters.rows import StateRow, from_columns
from exporter.counters.storage import StorageError
from exporter.settings.service import StateSettings
from exporter.targets.target import PollKey
from exporter.validation.secrets import SecretError

_COLUMNS = "SELECT collector, account, kind, id, name, success, data FROM"
_FILE_SECONDS = 10.0
_CONNECT_SECONDS = 10


def stored_rows(state: StateSettings, collectors: Collection[str]) -> dict[PollKey, StateRow]:
    """Return the rows of some collectors; none without a state, or before an exporter has written one.

    Raises:
        StorageError: the state cannot be read.
    """
    if state.is_shared:
        found = _in_database(state, list(collectors))
    elif state.path is not None and state.path.exists():
        found = _in_file(state.path, tuple(collectors))
    else:
        return {}
    return from_columns(found)


def _in_file(path: Path, collectors: tuple[str, ...]) -> Iterable[tuple[Any, ...]]:
    query = f"{_COLUMNS} row WHERE collector IN ({', '.join('?' * len(collectors))})"
    try:
        address = f"file:{quote(str(path.absolute()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_FILE_SECONDS)) as database:
            return database.execute(query, collectors).fetchall()
    except sqlite3.Error as error:
        raise StorageError(f"{path} cannot be read: {error}") from error


def _in_database(state: StateSettings, collectors: list[str]) -> Iterable[tuple[Any, ...]]:
    import psycopg  # noqa: PLC0415 - an extra; the settings have checked that it is installed

    query = f"{_COLUMNS} edge_exporter_row WHERE installation = %s AND collector = ANY(%s)"
    try:
        with psycopg.connect(state.address(), connect_timeout=_CONNECT_SECONDS) as database:
            return database.execute(query, (state.installation, collectors), binary=True).fetchall()
    except psycopg.errors.UndefinedTable:
        return ()
    except (psycopg.OperationalError, SecretError) as error:
        raise StorageError(f"the state database cannot be read: {' '.join(str(error).split())}") from None
    except psycopg.Error as error:
        # The error may quote any part of an address that cannot be parsed.
        raise StorageError(f"the state database cannot be read: {type(error).__name__}") from None
