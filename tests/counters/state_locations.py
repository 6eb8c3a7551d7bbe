"""The places of a ledger's rows in tests, a state file or a state database, and the failures of each."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import psycopg

from exporter.counters.database_storage import DatabaseStorage
from exporter.counters.state_file import FileStorage
from exporter.counters.storage import Storage, StoredState

LEASE = 15.0


class StateLocation(Protocol):
    """A place where a ledger's rows are stored."""

    def storage(self, clock: Callable[[], float], set_aside: Callable[[float], None]) -> FileStorage | Storage:
        """Return a storage for the current life."""
        ...

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Prevent writes until the block ends."""
        ...

    def copy_to_next_life(self) -> None:
        """Begin a new life with a copy of the present rows, while the former state is locked."""
        ...

    def lose(self, piece: str) -> None:
        """Break something that the ledger must repair by itself."""
        ...


class FileLocation:
    """A state file; each life has its own folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._life = 0

    @property
    def path(self) -> Path:
        """The state file."""
        return self._folder / f"{self._life}" / "state.db"

    def storage(self, clock: Callable[[], float], set_aside: Callable[[float], None]) -> FileStorage:
        """Implement `StateLocation.storage`."""
        return FileStorage(self.path, clock, set_aside)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Implement `StateLocation.locked`: another process has a transaction open."""
        database = sqlite3.connect(self.path, isolation_level=None)
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")
        database.close()

    def copy_to_next_life(self) -> None:
        """Implement `StateLocation.copy_to_next_life`."""
        before = self.path
        self._life += 1
        _copy(before, self.path)

    def lose(self, piece: str) -> None:
        """Implement `StateLocation.lose`: delete the file, or the files next to it."""
        self.path.with_name(self.path.name + piece).unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir()
    for suffix in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copy(source.with_name(source.name + suffix), target.with_name(target.name + suffix))


class DatabaseLocation:
    """A state database; each life is a separate installation.

    Args:
        url: the database.
        lease: a lease's length in seconds.
    """

    def __init__(self, url: str, lease: float = LEASE) -> None:
        self.url = url
        self._lease = lease
        self._life = 0

    @property
    def installation(self) -> str:
        """The group of the current life."""
        return f"life-{self._life}"

    def storage(
        self, _clock: Callable[[], float] | None = None, _set_aside: Callable[[float], None] | None = None
    ) -> Storage:
        """Implement `StateLocation.storage`: it takes its shard when it is opened."""
        return Claiming(lambda: self.url, self.installation, 1, (0,), lease=self._lease)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Implement `StateLocation.locked`: the table is away."""
        self.execute("ALTER TABLE edge_exporter_row RENAME TO away")
        yield
        self.execute("ALTER TABLE away RENAME TO edge_exporter_row")

    def copy_to_next_life(self) -> None:
        """Implement `StateLocation.copy_to_next_life`."""
        self.execute(
            f"INSERT INTO away SELECT 'life-{self._life + 1}', collector, account, kind, id, shard, shards, name, "  # noqa: S608 - a number
            f"success, data FROM away WHERE installation = 'life-{self._life}'"
        )
        self._life += 1

    def lose(self, _piece: str) -> None:
        """Implement `StateLocation.lose`: every connection is cut."""
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement next to the exporter; return the resulting rows."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []


class Claiming(DatabaseStorage):
    """A storage that takes its shard when it is first used, and waits for it if another one has it."""

    async def prepare(self) -> StoredState | None:
        """Make the storage usable."""
        while self.index is None and await self.claim() is None:  # noqa: ASYNC110 - another process frees it
            await asyncio.sleep(0.1)
        return await super().prepare()
