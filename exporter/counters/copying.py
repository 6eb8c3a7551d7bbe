"""Copies the counters' state from one storage to another, exactly."""

from collections.abc import Callable
from contextlib import closing

from exporter.counters.on_thread import BlockingStorage
from exporter.counters.rows import StateRow
from exporter.counters.storage import StorageError
from exporter.targets.target import PollKey


class CopyError(Exception):
    """The state cannot be copied; the message says why, and contains no secret."""


def copy_state(source: Callable[[], BlockingStorage], target: Callable[[], BlockingStorage]) -> int:
    """Copy every row to an empty storage, then read the copy and compare it.

    Args:
        source: creates the storage that is copied and not changed.
        target: creates the storage that is written.

    Returns:
        The number of copied rows.

    Raises:
        CopyError: an exporter runs on one of the two, the source contains no rows or the target some, or one of them
            cannot be used.
    """
    with closing(source()) as origin:
        rows = _rows(origin)
        if not rows:
            raise CopyError(f"{origin.location}: holds no rows; expected the state of an exporter of this installation")
        with closing(target()) as copy:
            if found := len(_rows(copy)):
                raise CopyError(f"{copy.location}: holds {found} rows already; expected an empty state")
            try:
                copy.commit(rows)
            except StorageError as error:
                raise CopyError(f"{copy.location}: {error}") from None
        with closing(target()) as copy:
            if _rows(copy) != rows:
                raise CopyError(f"{copy.location}: what was written differs from {origin.location}; do not use it")
    return len(rows)


def _rows(storage: BlockingStorage) -> dict[PollKey, StateRow]:
    try:
        opened = storage.prepare()
    except StorageError as error:
        raise CopyError(f"{storage.location}: {error}") from None
    rows = {} if opened is None else opened.rows
    # PostgreSQL cannot store a zero character in a text. Labels show this one in its place, too.
    return {key: row._replace(name=row.name.replace("\0", "\N{REPLACEMENT CHARACTER}")) for key, row in rows.items()}
