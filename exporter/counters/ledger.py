"""The durable counters: counted on a thread of their own, kept in the state file, published after the commit."""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from exporter.clock import SYSTEM, Clocks
from exporter.counters.series import advance_family, served_in_any_shape
from exporter.counters.state_file import (
    BUSY_SECONDS,
    Families,
    StateFile,
    StateLock,
    StateLockedError,
    Stored,
    is_damage,
    is_passing,
    pack,
    put_aside,
    spoils_connection,
    unpack,
)
from exporter.log import logger
from exporter.metric import Count, Family, Sample
from exporter.platform.http.platform_time import PlatformTime
from exporter.runtime import YieldToOthers
from exporter.targets.target import PollKey

__all__ = ["Entry", "Ledger", "LedgerObserver", "StateLockedError"]

LINGER_SECONDS = 0.2
RETRY_SECONDS = 5.0
HIGHEST_BATCH = 5000
# Rows of this name are of an account, and hold the platform's time that was believed last in place of a success.
PLATFORM_TIME = "platform_time"


class LedgerObserver(Protocol):
    """Hears how the ledger fares; called on the ledger's thread."""

    def corrected(self, family: str, times: int) -> None:
        """Days or months of a family fell; their counters stand."""

    def committed(self) -> None:
        """A commit went well."""

    def commit_failed(self) -> None:
        """A commit failed; what it held is tried again."""

    def set_aside(self, at: float) -> None:
        """State was lost: at `at` (unix seconds) a file was put aside, or had no journal."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A successful poll, on its way through the ledger.

    Attributes:
        key: the target, as its collector sees it.
        name: the target's name.
        success: when the poll ended, as unix seconds of our own clock.
        counts: what the poll tells of each counter family; None: what the poll before told, on the same day.
        now: the platform's clock.
    """

    key: PollKey
    name: str
    success: float
    counts: tuple[Count, ...] | None
    now: datetime


Publish = Callable[[tuple[Family, ...]], None]


class Ledger:
    """Counts, writes in group commits, and publishes what was committed.

    What has been served is on disk: a counter's new value is published after the commit that holds it. Where a commit
    fails the last committed values stand, and what is missing follows with the first commit that goes well.

    Args:
        path: the state file; None keeps everything in memory, and counters start anew with the process.
        observer: hears how it fares.
        clocks: the clocks.
        linger: how long a group commit waits for company, in seconds.
        retry: how long to wait after a failed write, in seconds.

    Attributes:
        fault: why the last write failed; empty where it did not.
    """

    def __init__(
        self,
        path: Path | None,
        observer: LedgerObserver,
        *,
        clocks: Clocks = SYSTEM,
        linger: float = LINGER_SECONDS,
        retry: float = RETRY_SECONDS,
    ) -> None:
        self._path = path
        self._observer = observer
        self._clocks = clocks
        self._linger = linger
        self._retry = retry
        self._log = logger()
        self._yield_to_others = YieldToOthers()
        self._guard = threading.Condition()
        self._waiting: list[tuple[Entry, Publish]] = []
        self._to_delete: set[PollKey] = set()
        # What is on disk, and what is counted but not yet there. A row is held packed: thousands of zones are many.
        self._rows: dict[PollKey, Stored] = {}
        self._unsaved: dict[PollKey, Stored | None] = {}
        self._platform_times: dict[str, PlatformTime] = {}
        self._stopping = False
        self._failing = False
        self.fault = ""
        self._next_try = 0.0
        self._loaded = False
        self._damage: sqlite3.Error | None = None
        self._lock: StateLock | None = None
        self._file: StateFile | None = None
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Read what was remembered, and start counting.

        Raises:
            StateLockedError: another process has the state file.
        """
        if self._path is not None:
            try:
                self._lock = StateLock(self._path)
            except OSError as error:
                self._failed("state file not usable, counters stand still until it is", error)
            else:
                self._open_file(self._path)
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._thread.start()

    def is_alive(self) -> bool:
        """Whether polls that are handed over will be published."""
        return self._thread is not None and self._thread.is_alive()

    def is_behind(self) -> bool:
        """Whether what was counted is not on disk; asked on the ledger's thread, when a poll is published."""
        return bool(self._unsaved)

    def close(self) -> None:
        """Commit what is left, and stop."""
        with self._guard:
            self._stopping = True
            self._guard.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=BUSY_SECONDS + 1)
        # A thread that still waits for the disk keeps the lock until the process ends.
        if self._lock is not None and not self.is_alive():
            self._lock.release()

    def remembered(self) -> Mapping[PollKey, Stored]:
        """Name and last success of each target; before the first poll, as an earlier run left them.

        It changes with each commit, so that only a copy can be iterated over while polls are recorded.
        """
        return self._rows

    def platform_time(self, account: str) -> PlatformTime:
        """What is believed of the time on an account's platform; the state file keeps it."""
        return self._platform_times.setdefault(account, PlatformTime(self._clocks))

    def record(self, entry: Entry, publish: Publish) -> None:
        """Take in a poll.

        Args:
            entry: the poll.
            publish: called on the ledger's thread, after the commit, with the target's counter families.
        """
        with self._guard:
            self._waiting.append((entry, publish))
            # The first wakes the thread, and the one that fills the batch; it is not woken for each in between.
            if len(self._waiting) in {1, HIGHEST_BATCH}:
                self._guard.notify_all()

    def forget(self, keys: Iterable[PollKey]) -> None:
        """Delete rows: their targets belong to another shard now, or their retention is over.

        A target that is polled at the same time has come back, and its row stays.
        """
        with self._guard:
            self._to_delete.update(keys)
            self._guard.notify_all()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            with self._guard:
                # What could not be saved is tried again even where nothing more comes.
                patience = max(0.0, self._next_try - self._clocks.monotonic()) if self._unsaved else None
                self._guard.wait_for(lambda: self._waiting or self._to_delete or self._stopping, timeout=patience)
                # Company for the commit: one write for all the polls that end about now.
                self._guard.wait_for(
                    lambda: self._stopping or len(self._waiting) >= HIGHEST_BATCH, timeout=self._linger
                )
                waiting, self._waiting = self._waiting, []
                to_delete, self._to_delete = self._to_delete, set()
                stopping = self._stopping
            self._turn(waiting, to_delete, last=stopping)
        if self._file is not None and self._file.close() and self._lock is not None:
            self._lock.note_journal(has_journal=False)

    def _turn(self, waiting: list[tuple[Entry, Publish]], to_delete: set[PollKey], *, last: bool) -> None:
        # Polls are published in their time; a write that fails is not tried again for each of them.
        is_time = last or not self._failing or self._clocks.monotonic() >= self._next_try
        usable = is_time and self._is_usable()
        counted = [self._count(entry) for entry, _ in waiting]
        self._unsaved.update(dict.fromkeys(to_delete.difference(entry.key for entry, _ in waiting)))
        saved = usable and self._save()
        for (entry, publish), families in zip(waiting, counted, strict=True):
            # At the end of the process the event loop may be closed already, which raises this.
            with suppress(RuntimeError):
                counts = entry.counts or ()
                publish(_counters(families if saved or not counts else self._committed(entry.key), counts))
            self._yield_to_others()

    def _is_usable(self) -> bool:
        """Whether there is something to write to; opens the state file, or makes it anew, where that is needed."""
        if self._path is None:
            return True
        try:
            is_taken = self._hold_lock(self._path)
        except (OSError, StateLockedError) as error:
            self._failed("state file not usable, counters stand still until it is", error)
            return False
        if self._file is not None and (is_taken or self._file.is_lost()):
            # Without the lock another exporter may have come and gone: what it wrote is read again.
            what = "file or journal" if self._file.is_lost() else "lock"
            self._say(self._log.error, "state file was lost, it is written anew", lost=what)
            self._file.close()
            self._file = None
        if self._file is None:
            self._open_file(self._path)
        return self._file is not None

    def _hold_lock(self, path: Path) -> bool:
        """Hold the lock; returns whether it had to be taken for that."""
        if self._lock is not None and not self._lock.holds():
            self._lock.release()
            self._lock = None
        if self._lock is None:
            self._lock = StateLock(path)
            return True
        return False

    def _open_file(self, path: Path) -> None:
        try:
            try:
                if self._damage is not None:
                    raise self._damage
                self._file = self._read_file(path)
            except (sqlite3.Error, ValueError) as error:
                if is_passing(error):
                    raise
                self._put_aside(path, error)
                self._file = self._read_file(path)
        except (sqlite3.Error, ValueError, OSError) as error:
            # Read-only, locked by a backup, or no space: serve on, and try again later.
            self._failed("state file not usable, counters stand still until it is", error)

    def _put_aside(self, path: Path, error: Exception) -> None:
        now = self._clocks.wall()
        aside = put_aside(path, now)
        self._damage = None
        self._observer.set_aside(now)
        self._say(self._log.error, "state file put aside", aside=str(aside), error=str(error))

    def _read_file(self, path: Path) -> StateFile:
        file = StateFile(path)
        try:
            if self._loaded:
                # A file that was lost under a running process is made anew from what that process knows. Where another
                # exporter had it meanwhile, there may be targets in it that are new to this one.
                found = self._rows_of(file)
                self._unsaved = {**self._rows, **self._unsaved}
                self._rows = {**found, **self._rows}
            else:
                self._rows = self._rows_of(file)
                self._check_journal(file)
                # What was counted before the file could be read began from nothing; the days tell it again.
                self._unsaved = {key: row for key, row in self._unsaved.items() if key not in self._rows}
                self._loaded = True
        except BaseException:
            file.close()
            raise
        return file

    def _check_journal(self, file: StateFile) -> None:
        """Report a journal that was removed after a kill: the file alone is older than what was served."""
        is_missed = self._lock is not None and self._lock.has_journal and not file.is_new
        if is_missed and file.journal_pages <= 0:
            self._observer.set_aside(self._clocks.wall())
            self._say(self._log.error, "state file has lost its journal, counters go on from before it")

    def _rows_of(self, file: StateFile) -> dict[PollKey, Stored]:
        """The rows of all targets; what was believed of the platforms' time goes where it belongs."""
        rows = dict(file.rows())
        for key in [key for key in rows if key.collector == PLATFORM_TIME]:
            self.platform_time(key.target.account).restore(rows.pop(key).success)
        return rows

    def _believed_times(self) -> dict[PollKey, Stored | None]:
        times = {account: time.believed for account, time in dict(self._platform_times).items()}
        return {
            PollKey.of(PLATFORM_TIME, account, "account", ""): Stored("", believed, b"")
            for account, believed in times.items()
            if believed is not None
        }

    def _failed(self, event: str, error: Exception) -> None:
        if not self._failing:
            self._say(self._log.error, event, error=str(error))
        self._failing = True
        self.fault = str(error)
        self._next_try = self._clocks.monotonic() + self._retry
        self._observer.commit_failed()

    def _say(self, write: Callable[..., object], event: str, **facts: str) -> None:
        # The disk that is full may hold the log too, and whoever read it may be gone: no counter stops for that.
        with suppress(OSError, ValueError):
            write(event, path=str(self._path), **facts)

    def _committed(self, key: PollKey) -> Families:
        stored = self._rows.get(key)
        return {} if stored is None else self._unpacked(key, stored)

    def _unpacked(self, key: PollKey, stored: Stored) -> Families:
        try:
            return unpack(stored.data)
        except ValueError as error:
            self._say(self._log.error, "counters of a target start anew", target=key.target.label, error=str(error))
            return {}

    def _count(self, entry: Entry) -> Families:
        stored = self._unsaved[entry.key] if entry.key in self._unsaved else self._rows.get(entry.key)
        if entry.counts is None:
            data = pack({}) if stored is None else stored.data
            self._unsaved[entry.key] = Stored(entry.name, entry.success, data)
            return {}
        families = {} if stored is None else self._unpacked(entry.key, stored)
        for count in entry.counts:
            states = families.setdefault(count.info.name, {})
            corrections = advance_family(states, count.sources, entry.now, entry.success)
            if corrections:
                self._observer.corrected(count.info.name, corrections)
        self._unsaved[entry.key] = Stored(entry.name, entry.success, pack(families))
        self._yield_to_others()
        return families

    def _save(self) -> bool:
        try:
            if self._file is not None:
                self._file.commit({**self._unsaved, **self._believed_times()})
                if self._lock is not None:
                    self._lock.note_journal(has_journal=True)
        except sqlite3.Error as error:
            self._failed("state not saved, counters stand still until it is", error)
            if self._file is not None and spoils_connection(error):
                self._file.close()
                self._file, self._damage = None, error if is_damage(error) else None
            return False
        for key, stored in self._unsaved.items():
            if stored is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = stored
        self._unsaved = {}
        if self._failing:
            self._say(self._log.info, "state saved again")
        self._failing = False
        self.fault = ""
        self._observer.committed()
        return True


def _counters(families: Families, counts: tuple[Count, ...]) -> tuple[Family, ...]:
    """The counters that a poll asked for, as far as the ledger holds them."""
    counters = []
    for count in counts:
        states = families.get(count.info.name, {})
        order = dict.fromkeys((*(labels for labels, _ in count.sources), *served_in_any_shape(states)))
        samples = tuple(
            Sample(count.labels + labels, states[labels].value, states[labels].created)
            for labels in order
            if labels in states
        )
        if samples:
            counters.append(Family(count.info, samples))
    return tuple(counters)
