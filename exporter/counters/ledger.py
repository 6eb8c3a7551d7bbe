"""The durable counters: counted on a thread of their own, kept in a storage, published after the commit."""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from exporter.clock import SYSTEM, Clocks
from exporter.counters.series import advance_family, served_labels
from exporter.counters.storage import (
    Families,
    LeaseHeldError,
    Opened,
    StateLockedError,
    Storage,
    StorageError,
    Stored,
    pack,
    report,
    unpack,
)
from exporter.log import logger
from exporter.metric import Count, Family, Sample
from exporter.platform.http.pause import Pause
from exporter.platform.http.platform_time import PlatformTime
from exporter.runtime import YieldToOthers
from exporter.targets.target import PollKey

LINGER_SECONDS = 0.2
RETRY_SECONDS = 5.0
# How long the end of the process waits for the last commit.
CLOSE_SECONDS = 3.0
HIGHEST_BATCH = 5000
# Rows of these names are of an account. In place of a success they hold the platform's time that was believed last, and
# the time until which the platform asked for a pause.
PLATFORM_TIME = "platform_time"
PAUSE = "pause"
_NOT_USABLE = "state not usable, counters stand still until it is"


class LedgerObserver(Protocol):
    """Is called for commits and failures of the ledger, on the ledger's thread."""

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
        counts: the sources of each counter family in the answer; None: the same as at the last poll, on the same day.
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
        storage: keeps the rows.
        observer: is called for commits and failures.
        clocks: the clocks.
        linger: how long a group commit waits for company, in seconds.
        retry: how long to wait after a failed write, in seconds.

    Attributes:
        fault: why the last write failed; empty where it did not.
    """

    def __init__(
        self,
        storage: Storage,
        observer: LedgerObserver,
        *,
        clocks: Clocks = SYSTEM,
        linger: float = LINGER_SECONDS,
        retry: float = RETRY_SECONDS,
    ) -> None:
        self._storage = storage
        self._observer = observer
        self._clocks = clocks
        self._linger = linger
        self._retry = retry
        self._log = logger()
        self._yield_to_others = YieldToOthers()
        self._guard = threading.Condition()
        self._waiting: list[tuple[Entry, Publish]] = []
        self._to_delete: set[PollKey] = set()
        self._left: set[PollKey] = set()
        self._is_woken = False
        # What is on disk, and what is counted but not yet there. A row is held packed: thousands of zones are many.
        self._rows: dict[PollKey, Stored] = {}
        self._unsaved: dict[PollKey, Stored | None] = {}
        self._platform_times: dict[str, PlatformTime] = {}
        self._pauses: dict[str, Pause] = {}
        self._stopping = False
        self._failing = False
        self.fault = ""
        self._next_try = 0.0
        self._thread: threading.Thread | None = None

    def open(self, *, may_wait: bool = False) -> bool:
        """Read what was remembered, and start counting.

        Args:
            may_wait: whether to give up for now where another exporter holds the lease. Otherwise counters are a gap
                until it ends.

        Returns:
            Whether it counts. False: this is to be called again.

        Raises:
            StateLockedError: another process has the state file.
        """
        try:
            self._prepare()
        except StateLockedError:
            raise
        except StorageError as error:
            if may_wait and isinstance(error, LeaseHeldError):
                return False
            self._failed(_NOT_USABLE, error)
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._thread.start()
        return True

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
            # A thread that still waits for the disk keeps the storage until the process ends.
            self._thread.join(timeout=CLOSE_SECONDS)

    def remembered(self) -> Mapping[PollKey, Stored]:
        """Name and last success of each target; before the first poll, as an earlier run left them.

        It changes with each commit, so that only a copy can be iterated over while polls are recorded.
        """
        return self._rows

    def platform_time(self, account: str) -> PlatformTime:
        """What is believed of the time on an account's platform; the storage keeps it."""
        return self._platform_times.setdefault(account, PlatformTime(self._clocks))

    def pause(self, account: str) -> Pause:
        """The pause that an account's platform asked for; the storage keeps it from its beginning."""
        return self._pauses.setdefault(account, Pause(self._clocks, self.wake))

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
        """Delete rows: their retention is over.

        A target that is polled at the same time has come back, and its row stays.
        """
        with self._guard:
            self._to_delete.update(keys)
            self._guard.notify_all()

    def leave(self, keys: Iterable[PollKey]) -> None:
        """Leave targets to other shards: a shared storage keeps their rows for those, and another deletes them."""
        with self._guard:
            (self._left if self._storage.is_shared else self._to_delete).update(keys)
            self._guard.notify_all()

    def wake(self) -> None:
        """Look at the storage now: what it holds for this process may have changed, or it may be usable again."""
        with self._guard:
            self._next_try = 0.0
            self._is_woken = True
            self._guard.notify_all()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            with self._guard:
                # What could not be saved is tried again even where nothing more comes.
                patience = max(0.0, self._next_try - self._clocks.monotonic()) if self._unsaved else None
                self._guard.wait_for(self._has_work, timeout=patience)
                # Company for the commit: one write for all the polls that end about now.
                self._guard.wait_for(
                    lambda: self._stopping or len(self._waiting) >= HIGHEST_BATCH, timeout=self._linger
                )
                waiting, self._waiting = self._waiting, []
                to_delete, self._to_delete = self._to_delete, set()
                left, self._left = self._left, set()
                self._is_woken = False
                stopping = self._stopping
            for key in left.difference(entry.key for entry, _ in waiting):
                self._rows.pop(key, None)
                self._unsaved.pop(key, None)
            self._turn(waiting, to_delete, last=stopping)
        self._storage.close()

    def _has_work(self) -> bool:
        return bool(self._waiting or self._to_delete or self._left or self._is_woken or self._stopping)

    def _turn(self, waiting: list[tuple[Entry, Publish]], to_delete: set[PollKey], *, last: bool) -> None:
        # Polls are published in their time; a write that fails is not tried again for each of them.
        is_time = last or not self._failing or self._clocks.monotonic() >= self._next_try
        usable = is_time and self._is_usable()
        counted = [self._count(entry) for entry, _ in waiting]
        self._unsaved.update(dict.fromkeys(to_delete.difference(entry.key for entry, _ in waiting)))
        refused = self._save() if usable else None
        for (entry, publish), families in zip(waiting, counted, strict=True):
            # At the end of the process the event loop may be closed already, which raises this.
            with suppress(RuntimeError):
                counts = entry.counts or ()
                is_saved = refused is not None and entry.key not in refused
                publish(_counters(families if is_saved or not counts else self._committed(entry.key), counts))
            self._yield_to_others()

    def _is_usable(self) -> bool:
        """Whether there is something to write to; opens the storage where that is needed."""
        try:
            self._prepare()
        except StorageError as error:
            self._failed(_NOT_USABLE, error)
            return False
        return True

    def _prepare(self) -> None:
        opened = self._storage.prepare()
        if opened is None:
            return
        found = self._targets_of(opened)
        for rows in (self._rows, self._unsaved):
            for key in [key for key in rows if opened.is_left(key)]:
                del rows[key]
        if opened.are_newer:
            # What was counted before they could be read began from nothing, or was passed by another exporter; the
            # days count it again.
            self._unsaved = {key: row for key, row in self._unsaved.items() if key not in found}
            self._rows = {**self._rows, **found}
        else:
            # Where another exporter had it meanwhile, there may be targets in it that are new to this one.
            self._unsaved = {**self._rows, **self._unsaved}
            self._rows = {**found, **self._rows}

    def _targets_of(self, opened: Opened) -> dict[PollKey, Stored]:
        """The rows of all targets; what is kept of the accounts is restored."""
        rows = dict(opened.rows)
        for key in [key for key in rows if key.collector in (PLATFORM_TIME, PAUSE)]:
            kept = self.platform_time if key.collector == PLATFORM_TIME else self.pause
            kept(key.target.account).restore(rows.pop(key).success)
        return rows

    def _of_accounts(self) -> dict[PollKey, Stored | None]:
        """The rows of all accounts."""
        times = {(PLATFORM_TIME, name): time.believed for name, time in dict(self._platform_times).items()}
        pauses = {(PAUSE, name): pause.until() for name, pause in dict(self._pauses).items()}
        return {
            PollKey.of(kind, account, "account", ""): Stored("", moment, b"")
            for (kind, account), moment in (times | pauses).items()
            if moment is not None
        }

    def _failed(self, event: str, error: Exception) -> None:
        if not self._failing:
            self._say(self._log.error, event, error=str(error))
        self._failing = True
        self.fault = str(error)
        self._next_try = self._clocks.monotonic() + self._retry
        self._observer.commit_failed()

    def _say(self, write: Callable[..., object], event: str, **facts: str) -> None:
        report(write, event, path=self._storage.location, **facts)

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

    def _save(self) -> Collection[PollKey] | None:
        """Write what is not saved; returns what another exporter counts now, and None where the write failed."""
        try:
            refused = self._storage.commit({**self._unsaved, **self._of_accounts()})
        except StorageError as error:
            self._failed("state not saved, counters stand still until it is", error)
            return None
        for key, stored in self._unsaved.items():
            if stored is None or key in refused:
                self._rows.pop(key, None)
            else:
                self._rows[key] = stored
        self._unsaved = {}
        if self._failing:
            self._say(self._log.info, "state saved again")
        self._failing = False
        self.fault = ""
        self._observer.committed()
        return refused


def _counters(families: Families, counts: tuple[Count, ...]) -> tuple[Family, ...]:
    """The counters that a poll asked for, as far as the ledger holds them."""
    counters = []
    for count in counts:
        states = families.get(count.info.name, {})
        samples = tuple(
            Sample(count.labels + labels, states[labels].value, states[labels].created)
            for labels in served_labels(states, count.sources)
        )
        if samples:
            counters.append(Family(count.info, samples))
    return tuple(counters)
