"""The durable counters: counted on the event loop, kept in a storage, and returned after the commit."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple, Protocol

from exporter.clock import SYSTEM, Clocks, PlatformTime
from exporter.counters.counting import Families, count_poll, left_out, served
from exporter.counters.days import PollTime
from exporter.counters.rows import ACCOUNT, PLATFORM_TIME, StateRow, account_key, listed, pack, unpack
from exporter.counters.storage import ShardTakenError, StateLockedError, Storage
from exporter.log import logger
from exporter.metric import Count, Family
from exporter.targets.target import PollKey

LINGER_SECONDS = 0.2
RETRY_SECONDS = 5.0
# How long a poll waits for a commit that hangs, until it goes on with the counters that were committed last.
MOST_WAIT_SECONDS = 5.0
# How long the end of the process waits for the last commit.
CLOSE_SECONDS = 3.0
# For how long a counter that counts something else now is served as 0: a minute, and what the rendering may take.
ZERO_SECONDS = 65.0


class LedgerObserver(Protocol):
    """Callbacks for corrections, commits and failures of the ledger."""

    def corrected(self, family: str, times: int) -> None:
        """Report that values of days or months fell; the counters do not change."""

    def wrote(self, fault: str) -> None:
        """Report why a commit failed, whose rows a later one writes; empty when one has succeeded again."""


class PollRecord(NamedTuple):
    """A successful poll that the ledger counts.

    Attributes:
        key: the target and its collector.
        name: the target's name.
        success: when the poll ended, in unix seconds of this machine's clock.
        counts: the sources of each counter family in the answer.
        now: the platform's time.
        address: the base address of the platform that answered.
        max_label_values: the most label values of a counter.
    """

    key: PollKey
    name: str
    success: float
    counts: tuple[Count, ...]
    now: datetime
    address: str = ""
    max_label_values: int = 1000


class Counters(NamedTuple):
    """The counters of a target.

    Attributes:
        families: its counters as they were last committed.
        left_out: family → how many label values of the answer have no series, because all places are taken.
    """

    families: tuple[Family, ...]
    left_out: Mapping[str, int]


async def _ignore(_keys: Collection[PollKey]) -> None:
    """Do nothing: nothing is served."""


class Ledger:
    """Counts polls, writes them in group commits, and returns the committed counters.

    Served values are always on disk: a counter's new value is returned after its commit. If a commit fails, the last
    committed values are served until a later commit succeeds, which contains the missing polls.

    Args:
        storage: keeps the rows.
        observer: callbacks for commits and failures.
        linger: how long a group commit waits for further polls, in seconds.
        retry: how long to wait after a failed write, in seconds.
        retention: seconds for which label values that no answer contains are kept.
        reread: called with the targets whose rows were replaced by those of another session; it ends when their
            counters from before are no longer served.

    Attributes:
        fault: why the last write failed; empty if it succeeded.
        is_taken: whether another exporter has taken the shard.
    """

    def __init__(
        self,
        storage: Storage,
        observer: LedgerObserver,
        *,
        clocks: Clocks = SYSTEM,
        linger: float = LINGER_SECONDS,
        retry: float = RETRY_SECONDS,
        retention: float = math.inf,
        reread: Callable[[Collection[PollKey]], Awaitable[None]] = _ignore,
    ) -> None:
        self._storage = storage
        self._observer = observer
        self._clocks = clocks
        self._linger = linger
        self._retry = retry
        self._retention = retention
        self._reread = reread
        self._log = logger()
        # The session in which the rows were read, and how often those in memory were replaced by others.
        self._session, self._reads = 1, 0
        # The rows on disk, those that are not saved yet, and keys to delete. They stay packed, because there are many.
        self._rows: dict[PollKey, StateRow] = {}
        self._unsaved: dict[PollKey, StateRow] = {}
        self._to_delete: set[PollKey] = set()
        # Rows that were read, and not counted since: a restored state may be older than what was served of them.
        self._uncounted: set[PollKey] = set()
        self._platform_times: dict[str, PlatformTime] = {}
        # Families that count something else now, and since when they are served as 0, on the monotonic clock.
        self._zeros: dict[tuple[PollKey, str], float] = {}
        # Families that count something else, of which that was logged already.
        self._said: set[object] = set()
        self.fault = ""
        self.is_taken = False
        self._next_try = 0.0
        # Whether a poll with counters was committed.
        self._serves = False
        self._asked, self._is_ending = asyncio.Event(), False
        # Set when the next attempt to commit has ended.
        self._attempt = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read the stored rows, and begin to commit.

        Raises:
            StateLockedError: another process has the state file.
        """
        try:
            await self._prepare()
        except StateLockedError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary of an attempt
            self._failed(error)
        self._task = asyncio.create_task(self._run(), name="ledger")

    def is_alive(self) -> bool:
        """Return whether polls that are recorded now will be committed."""
        return self._task is not None and not self._task.done()

    def withholds(self) -> str:
        """Return why no counter can be served yet; empty if any was, or if nothing is in the way."""
        return "" if self._serves else self.fault

    async def close(self) -> None:
        """Commit what is not saved, and stop."""
        self._is_ending = True
        self._asked.set()
        if self._task is not None:
            # A storage that still waits for the disk is left to the end of the process.
            await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
            self._task.cancel()

    def remembered(self) -> Mapping[PollKey, StateRow]:
        """The name and the last success of each target; until its first poll, those of an earlier run.

        Each commit changes it, so iterate over a copy while polls are recorded.
        """
        return self._rows

    def platform_time(self, account: str) -> PlatformTime:
        """Return the estimate of the time on an account's platform; the storage keeps it."""
        return self._platform_times.setdefault(account, PlatformTime(self._clocks))

    def session(self) -> int:
        """Return a number that changes with the storage's session; 0 while counters of targets may not be served.

        Another exporter may have counted before a new session. Until its rows are read and older values are withheld,
        no counter is served.
        """
        session = self._storage.session()
        return session if session == self._session else 0

    async def record(self, entry: PollRecord) -> Counters:
        """Count a poll, and wait for the attempt to commit it, but not long.

        Returns:
            The target's counters as they were last committed: without this poll if the attempt failed, or has not
            ended.
        """
        families, row = self._count(entry)
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST_WAIT_SECONDS):
                while not await self._attempted():
                    families, row = self._count(entry)
        is_saved = self._rows.get(entry.key) is row
        self._serves = self._serves or (is_saved and bool(entry.counts))
        shown = families if is_saved else self._committed(entry.key)
        counters = served(shown, entry.counts)
        self._note_zeros(entry.key, shown, {family.info.name for family in counters})
        return Counters(counters, left_out(families, entry.counts))

    def keep(self, account: str, kind: str, packed: bytes) -> None:
        """Store the packed list of an account's resources of a kind, without waiting for the commit."""
        key, row = listed(account, kind, packed)
        self._unsaved[key] = row
        self._asked.set()

    def forget(self, keys: Iterable[PollKey]) -> None:
        """Delete rows whose retention is over; a target that is polled before the commit has come back and is kept."""
        self._to_delete.update(keys)
        self._asked.set()

    def _count(self, entry: PollRecord) -> tuple[Families, StateRow]:
        """Count a poll; return the families of its target, and their row, which the next commit writes."""
        before = self._families(entry.key, self._unsaved.get(entry.key) or self._rows.get(entry.key))
        for name, family in before.items():
            zero_since = self._zeros.get((entry.key, name), math.inf)
            family.is_anew = family.is_anew and self._clocks.monotonic() - zero_since < ZERO_SECONDS
        families, corrections = count_poll(
            before,
            entry.counts,
            entry.address,
            PollTime(entry.now, entry.success),
            self._retention,
            limit=entry.max_label_values,
        )
        for name, number in corrections.items():
            self._observer.corrected(name, number)
        for name, family in before.items():
            if families[name] is not family:
                self._say_anew(entry.key, name, families[name].digest)
        row = self._unsaved[entry.key] = StateRow(entry.name, entry.success, pack(families))
        return families, row

    def _families(self, key: PollKey, stored: StateRow | None) -> Families:
        try:
            return {} if stored is None else unpack(stored.data)
        except ValueError as error:
            event, target = "counters of a target start again", key.target.label
            self._log.error(event, path=self._storage.location, target=target, error=str(error))
            return {}

    def _say_anew(self, key: PollKey, family: str, digest: bytes) -> None:
        """Log once for the targets of an account that a counter counts something else now."""
        said = (key.collector, key.target.account, family, digest)
        if said not in self._said:
            self._said.add(said)
            event = "counter counts something else now, it starts again at 0"
            self._log.warning(event, path=self._storage.location, account=key.target.account, family=family)

    async def _attempted(self) -> bool:
        """Wait until the next attempt to commit has ended; return whether what was counted before is part of it."""
        self._asked.set()
        reads = self._reads
        await self._attempt.wait()
        return reads == self._reads

    def _committed(self, key: PollKey) -> Families:
        """Return the last committed counters of a target; none before the first commit after its row was read."""
        return {} if key in self._uncounted else self._families(key, self._rows.get(key))

    def _note_zeros(self, key: PollKey, families: Families, shown: Collection[str]) -> None:
        """Note since when families that count something else than before are served as 0."""
        for name, family in families.items():
            if family.is_anew and name in shown:
                self._zeros.setdefault((key, name), self._clocks.monotonic())
            else:
                self._zeros.pop((key, name), None)

    async def _run(self) -> None:
        is_last = False
        while not is_last:
            # Write rows that could not be saved, and show the storage that this process lives, even if no polls come.
            patience = self._storage.pulse
            if self.fault:
                patience = min(patience, max(0.0, self._next_try - self._clocks.monotonic()))
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._asked.wait()
            # Wait for further polls, so that one write saves all polls that end at about the same time.
            await self._clocks.sleep(self._linger)
            is_last = self._is_ending
            self._asked.clear()
            # What is counted from here on waits for the attempt after this one.
            attempt, self._attempt = self._attempt, asyncio.Event()
            # Polls continue without delay: after a failed write, no write is tried for each of them.
            if is_last or not self.fault or self._clocks.monotonic() >= self._next_try:
                try:
                    await self._prepare()
                    await self._commit()
                except Exception as error:  # noqa: BLE001 - the boundary of an attempt
                    self._failed(error)
            attempt.set()
        await self._storage.close()

    async def _prepare(self) -> None:
        """Open the storage if needed, and take in its rows."""
        opened = await self._storage.prepare()
        if opened is None:
            return
        found = self._without_times(opened.rows)
        if opened.are_newer:
            # Counts from before these rows were read started without them, or another exporter has counted since. They
            # are dropped, and counted again. Lists of an account are no counts.
            changed = {key for key in self._rows.keys() | found.keys() if self._rows.get(key) != found.get(key)}
            self._uncounted |= changed
            dropped = {key for key in self._unsaved if key in found and key.target.kind != ACCOUNT}
            self._unsaved = {key: row for key, row in self._unsaved.items() if key not in dropped}
            self._rows = found
            if self._reads:
                await self._reread(changed | dropped)
            self._reads += 1
        else:
            # A file that was lost is written again; its rows may contain targets that are new here.
            self._unsaved = {**self._rows, **self._unsaved}
            self._rows = {**found, **self._rows}
        self._session = self._storage.session()

    def _without_times(self, rows: Mapping[PollKey, StateRow]) -> dict[PollKey, StateRow]:
        """Restore the platform times of the accounts; return the other rows."""
        for key, row in rows.items():
            if key.collector == PLATFORM_TIME:
                self.platform_time(key.target.account).restore(row.success)
        return {key: row for key, row in rows.items() if key.collector != PLATFORM_TIME}

    async def _commit(self) -> None:
        """Write what is not saved. What comes meanwhile is for the next time."""
        rows, deleted = dict(self._unsaved), self._to_delete - self._unsaved.keys()
        self._to_delete = set()
        if not rows and not deleted and not self.fault:
            return
        times = {
            account_key(PLATFORM_TIME, account): StateRow("", time.believed, b"")
            for account, time in self._platform_times.items()
            if time.believed is not None
        }
        await self._storage.commit({**dict.fromkeys(deleted), **rows, **times})
        for key in deleted:
            self._rows.pop(key, None)
        for key, row in rows.items():
            self._rows[key] = row
            # A poll that came meanwhile is not saved yet.
            if self._unsaved[key] is row:
                del self._unsaved[key]
        self._uncounted -= rows.keys()
        if self.fault:
            self._log.info("state saved again", path=self._storage.location)
            self.fault = ""
            self._observer.wrote(self.fault)

    def _failed(self, error: Exception) -> None:
        if not self.fault:
            event = "state not saved, counters do not change until it is"
            self._log.error(event, path=self._storage.location, error=str(error) or repr(error))
        self.fault = str(error) or repr(error)
        self._next_try = self._clocks.monotonic() + self._retry
        self._observer.wrote(self.fault)
        self.is_taken = self.is_taken or isinstance(error, ShardTakenError)
