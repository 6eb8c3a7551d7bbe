"""Where the live counters of a target begin: what the ledger has recorded, or records now where no daemon runs."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from exporter.backfill.charts import SeriesKey
from exporter.clock import Clocks
from exporter.collectors.collector import Polled
from exporter.counters.days import DaySeries
from exporter.counters.file_storage import FileStorage
from exporter.counters.ledger import Entry, Ledger
from exporter.counters.state_file import BUSY_SECONDS
from exporter.counters.storage import LeaseHeldError, StateLockedError, Storage, StorageError, Stored, columns, unpack
from exporter.metric import Family
from exporter.targets.target import PollKey, Target

Poll = Callable[[], Awaitable[Polled]]


class BaselineError(Exception):
    """Where a target's live counters begin cannot be determined; the message says why."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The live counters of a target.

    Attributes:
        name: the name under which they are served.
        series: family and values of its own labels → the counter over days.
    """

    name: str
    series: dict[SeriesKey, DaySeries]


class Baselines(Protocol):
    """Returns where live counters begin."""

    async def of(self, collector: str, target: Target, poll: Poll) -> Beginning | None:
        """The live counters of a target; None where there will be none that this history could meet.

        Args:
            collector: the collector that counts.
            target: what is polled.
            poll: polls it now.

        Raises:
            BaselineError: it cannot be determined.
            PlatformError: the poll failed.
        """
        ...

    def close(self) -> None:
        """Let go of the state file."""


class NoBaselines:
    """There is no state file: counters start anew with each process, wherever that is."""

    async def of(self, _collector: str, _target: Target, _poll: Poll) -> Beginning | None:
        """See `Baselines.of`."""
        return None

    def close(self) -> None:
        """See `Baselines.close`."""


class RecordedBaselines:
    """A daemon runs: its rows are read beside it, and nothing is written.

    Args:
        read: returns a target's row, and None where there is none; it raises StorageError where it cannot be read.
        close: ends the reading.
    """

    def __init__(self, read: Callable[[PollKey], Stored | None], close: Callable[[], None]) -> None:
        self._read = read
        self._close = close

    async def of(self, collector: str, target: Target, _poll: Poll) -> Beginning | None:
        """See `Baselines.of`."""
        try:
            row = self._read(target.polled_by(collector))
        except StorageError as error:
            raise BaselineError(f"the state cannot be read: {error}") from error
        if row is None:
            raise BaselineError("the running exporter has not counted it yet; run this again once it has")
        return _beginning(row)

    def close(self) -> None:
        """See `Baselines.close`."""
        self._close()


_ROW = "SELECT name, success, data FROM row WHERE collector = ? AND account = ? AND kind = ? AND id = ?"


class OwnBaselines:
    """No daemon runs: what was not seen yet is seen now, by the daemon's own rules, and it will continue from there.

    Args:
        storage: keeps the rows.
        clocks: the clocks.

    Raises:
        StateLockedError: a daemon runs on the state file.
        LeaseHeldError: a daemon runs on the state database.
    """

    def __init__(self, storage: Storage, clocks: Clocks) -> None:
        self._clocks = clocks
        self._ledger = Ledger(storage, _Deaf(), clocks=clocks)
        if not self._ledger.open(may_wait=True):
            raise LeaseHeldError("another exporter holds the shard")

    async def of(self, collector: str, target: Target, poll: Poll) -> Beginning | None:
        """See `Baselines.of`."""
        key = target.polled_by(collector)
        stored = self._ledger.remembered().get(key)
        if stored is None:
            stored = await self._first_sight(key, target, await poll())
        return _beginning(stored)

    async def _first_sight(self, key: PollKey, target: Target, polled: Polled) -> Stored:
        outcome = polled.outcomes[0]
        loop = asyncio.get_running_loop()
        committed = loop.create_future()

        def publish(_families: tuple[Family, ...]) -> None:
            loop.call_soon_threadsafe(committed.set_result, None)

        now = polled.date or self._clocks.utc()
        entry = Entry(key, target.name, self._clocks.wall(), outcome.counts, now)
        self._ledger.record(entry, publish)
        await committed
        stored = self._ledger.remembered().get(key)
        if stored is None:
            raise BaselineError("the state cannot be written, and without it the live counters would not continue")
        return stored

    def close(self) -> None:
        """See `Baselines.close`."""
        self._ledger.close()


def open_file_baselines(path: Path | None, clocks: Clocks) -> Baselines:
    """What there is for a state file: none, a daemon's, or one that is ours for the time being.

    Raises:
        BaselineError: the state file cannot be used.
    """
    if path is None:
        return NoBaselines()
    try:
        return OwnBaselines(FileStorage(path, clocks.wall, lambda _at: None), clocks)
    except StateLockedError:
        try:
            return _recorded_in_file(path)
        except sqlite3.Error as error:
            raise BaselineError(f"{path} cannot be read: {error}") from error


def _recorded_in_file(path: Path) -> RecordedBaselines:
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=BUSY_SECONDS)

    def read(key: PollKey) -> Stored | None:
        try:
            row = database.execute(_ROW, columns(key)).fetchone()
        except sqlite3.Error as error:
            raise StorageError(str(error)) from error
        return None if row is None else Stored(*row)

    return RecordedBaselines(read, database.close)


def open_shared_baselines(storage: Storage, recorded: RecordedBaselines, clocks: Clocks) -> Baselines:
    """What there is for a state database: a daemon's rows, or a shard that is ours for the time being.

    Args:
        storage: the shard's storage.
        recorded: reads the rows of a daemon that holds the shard.
        clocks: the clocks.
    """
    try:
        own = OwnBaselines(storage, clocks)
    except LeaseHeldError:
        storage.close()
        return recorded
    recorded.close()
    return own


def _beginning(stored: Stored) -> Beginning:
    try:
        families = unpack(stored.data)
    except ValueError as error:
        raise BaselineError(str(error)) from error
    series = {
        (family, labels): state
        for family, states in families.items()
        for labels, state in states.items()
        if isinstance(state, DaySeries)
    }
    return Beginning(stored.name, series)


class _Deaf:
    """Ignores the ledger's events (`exporter.counters.ledger.LedgerObserver`), which only the daemon needs."""

    def corrected(self, _family: str, _times: int) -> None:
        """A day fell; the counter stands."""

    def committed(self) -> None:
        """All is well."""

    def commit_failed(self) -> None:
        """The target's row is missing afterwards, which says enough."""

    def set_aside(self, _at: float) -> None:
        """The ledger's log tells."""
