"""Finds where the live counters of a target begin: from the ledger, or by a first poll if no daemon runs."""

import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from exporter.backfill.charts import SeriesKey
from exporter.clock import Clocks
from exporter.collectors.collector import Polled, TargetCollector
from exporter.counters.ledger import Entry, Ledger
from exporter.counters.on_thread import BlockingStorage, OnThread
from exporter.counters.rows import Families, StateRow, columns, unpack
from exporter.counters.series import DaySeries
from exporter.counters.state_file import BUSY_SECONDS, FileStorage
from exporter.counters.storage import LeaseHeldError, NullObserver, StateLockedError, StorageError
from exporter.metric import Kind
from exporter.targets.target import PollKey, Target

Poll = Callable[[], Awaitable[Polled]]


class BaselineError(Exception):
    """The beginning of a target's live counters is unknown; the message says why."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The name of a target in the served series, and its live counters: family and label values → counter of days."""

    name: str
    series: dict[SeriesKey, DaySeries]


class Baselines:
    """Returns where live counters begin. This class is for no state: counters begin at 0 with each process.

    Attributes:
        notice: what a user of the history should know; may be empty.
    """

    notice = "There is no state file: the history ends with yesterday, and no counter continues it."

    async def of(self, _collector: TargetCollector[Any], _target: Target, _poll: Poll) -> Beginning | None:
        """Return the live counters of a target, which may be polled now; None if none will continue this history.

        Raises:
            BaselineError: their beginning is not known.
            PlatformError: the poll failed.
        """
        return None

    async def close(self) -> None:
        """Release the state."""


class RecordedBaselines(Baselines):
    """Reads the rows of a running daemon with `read`, which may raise StorageError; nothing is written."""

    notice = "A daemon runs: its state is read, and not written."

    def __init__(self, read: Callable[[PollKey], StateRow | None], close: Callable[[], None]) -> None:
        self.read = read
        self.release = close

    async def of(self, collector: TargetCollector[Any], target: Target, _poll: Poll) -> Beginning | None:
        """Return the counters that the running daemon has stored; raises `BaselineError` where it has none yet."""
        try:
            row = self.read(PollKey(target.key, collector.name))
        except StorageError as error:
            raise BaselineError(f"the state cannot be read: {error}") from error
        if row is None:
            raise BaselineError("the running exporter has not counted it yet; run this again later")
        return _beginning(row)

    async def close(self) -> None:
        """Close the connection to the state."""
        self.release()


_ROW = "SELECT name, success, data FROM row WHERE collector = ? AND account = ? AND kind = ? AND id = ?"


class OwnBaselines(Baselines):
    """Records new targets in the ledger itself while no daemon runs; a later daemon continues from there."""

    notice = ""

    def __init__(self, ledger: Ledger, clocks: Clocks) -> None:
        self._clocks = clocks
        self._ledger = ledger

    @classmethod
    async def open(cls, storage: BlockingStorage, clocks: Clocks) -> Self:
        """Open the ledger of a state.

        Raises:
            StateLockedError: a daemon runs on the state file.
            LeaseHeldError: a daemon runs on the state database.
            BaselineError: the state cannot be used now.
        """
        ledger = Ledger(OnThread(storage), NullObserver(), clocks=clocks)
        if not await ledger.open(may_wait=True):
            raise LeaseHeldError("another exporter holds the shard")
        if fault := ledger.fault:
            await ledger.close()
            raise BaselineError(f"{storage.location}: {fault}; if the file is damaged, the exporter starts a new one")
        return cls(ledger, clocks)

    async def of(self, collector: TargetCollector[Any], target: Target, poll: Poll) -> Beginning | None:
        """Return the stored counters of a target; count a poll where one of them has not begun yet."""
        key = PollKey(target.key, collector.name)
        stored = self._ledger.remembered().get(key)
        counters = {info.name for info in collector.families if info.kind is Kind.COUNTER}
        if stored is None or counters - _families(stored).keys():
            polled = await poll()
            now = polled.date or self._clocks.utc()
            entry = Entry(key, target.name, self._clocks.wall(), polled.outcomes[0].counts, now)
            await self._ledger.record(entry)
        stored = self._ledger.remembered().get(key)
        if stored is None:
            raise BaselineError("the state cannot be written, and without it the live counters would not continue")
        return _beginning(stored)

    async def close(self) -> None:
        """Close the ledger, which writes the first polls."""
        await self._ledger.close()


async def open_file_baselines(path: Path | None, clocks: Clocks) -> Baselines:
    """Open the baselines of a state file: none, a running daemon's rows, or the ledger itself; raises BaselineError."""
    if path is None:
        return Baselines()
    try:
        # A damaged file is left to the exporter, which puts it aside and reports that.
        return await OwnBaselines.open(FileStorage(path, clocks.wall, None), clocks)
    except StateLockedError:
        try:
            return recorded_in_file(path)
        except sqlite3.Error as error:
            raise BaselineError(f"{path} cannot be read: {error}") from error


def recorded_in_file(path: Path) -> RecordedBaselines:
    """Return the rows of a state file that a daemon may be using."""
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=BUSY_SECONDS)

    def read(key: PollKey) -> StateRow | None:
        try:
            row = database.execute(_ROW, columns(key)).fetchone()
        except sqlite3.Error as error:
            raise StorageError(str(error)) from error
        return None if row is None else StateRow(*row)

    return RecordedBaselines(read, database.close)


def _families(stored: StateRow) -> Families:
    try:
        return unpack(stored.data)
    except ValueError as error:
        raise BaselineError(str(error)) from error


def _beginning(stored: StateRow) -> Beginning:
    series = {
        (family, labels): state
        for family, states in _families(stored).items()
        for labels, state in states.items()
        if isinstance(state, DaySeries)
    }
    return Beginning(stored.name, series)
