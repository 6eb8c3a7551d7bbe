"""The durable counters: counted on the event loop, kept in a storage, and returned after the commit."""

import asyncio
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from exporter.clock import SYSTEM, Clocks, PlatformTime
from exporter.counters.counting import Counted, Families, count_poll, served
from exporter.counters.days import PollTime
from exporter.counters.rows import ACCOUNT, PLATFORM_TIME, StateRow, account_key, listed, pack, unpack
from exporter.counters.storage import Changes, ShardTakenError, StateLockedError, Storage
from exporter.log import logger
from exporter.metric import Count, Family
from exporter.targets.target import PollKey

LINGER_SECONDS = 0.2
RETRY_SECONDS = 5.0
# How long a poll waits for a commit that hangs, until it goes on with the counters that were committed last.
MOST_WAIT_SECONDS = 5.0
# How long the end of the process waits for the last commit.
CLOSE_SECONDS = 3.0


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
        corrections: family → how many of its days or months fell in the answer; the counters do not.
    """

    families: tuple[Family, ...] = ()
    left_out: Mapping[str, int] = {}
    corrections: Mapping[str, int] = {}


class Ledger:
    """Counts polls, writes them in group commits, and returns the committed counters.

    The rows are read once; from then on, those in memory are authoritative. Served values are always on disk: a
    counter's new value is returned after its commit. If a commit fails, the last committed values are served until a
    later commit succeeds, which contains the missing polls.

    Args:
        storage: keeps the rows.
        linger: how long a group commit waits for further polls, in seconds.
        retry: how long to wait after a failed write, in seconds.
        retention: seconds for which label values that no answer contains are kept.

    Attributes:
        fault: why the last write failed; empty if it succeeded.
        is_taken: whether another exporter has taken the shard, or has counted its rows: nothing more is written.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        clocks: Clocks = SYSTEM,
        linger: float = LINGER_SECONDS,
        retry: float = RETRY_SECONDS,
        retention: float = math.inf,
    ) -> None:
        self.fault = ""
        self.is_taken = False
        self._storage = storage
        self._clocks = clocks
        self._linger = linger
        self._retry = retry
        self._retention = retention
        self._log = logger()
        self._is_read = False
        # The rows on disk. They stay packed, because there are many.
        self._rows: dict[PollKey, StateRow] = {}
        # What the next commit writes, and deletes where there is None; and what the last attempt wrote, perhaps.
        self._unsaved: dict[PollKey, StateRow | None] = {}
        self._attempted: Changes = {}
        # Whose counters this process has committed: a row that was read may be a backup's, older than what was served.
        self._counted: set[PollKey] = set()
        self._platform_times: dict[str, PlatformTime] = {}
        # Families that count something else, of which that was logged already.
        self._said: set[object] = set()
        self._next_try = 0.0
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
        """Return why no counter can be served yet; empty if any was committed, or if nothing is in the way."""
        return "" if self._counted else self.fault

    def may_serve(self) -> bool:
        """Return whether counters of targets may be served now: certainly no other exporter counts them."""
        return not self.is_taken and self._storage.is_certain()

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

    async def record(self, entry: PollRecord) -> Counters:
        """Count a poll, and wait for the attempt to commit it, but not long.

        Returns:
            The target's counters as they were last committed: without this poll if the attempt failed, or has not
            ended; none while the stored rows could not be read.
        """
        if not self._is_read:
            await self._next_attempt()
        if not self._is_read:
            return Counters()
        counted, row = self._count(entry)
        await self._next_attempt()
        shown = counted.families if self._rows.get(entry.key) is row else self._committed(entry.key)
        return Counters(served(shown, entry.counts), counted.left_out, counted.corrections)

    def keep(self, account: str, kind: str, packed: bytes) -> None:
        """Store the packed list of an account's resources of a kind, without waiting for the commit."""
        key, row = listed(account, kind, packed)
        self._unsaved[key] = row
        self._asked.set()

    def forget(self, keys: Iterable[PollKey]) -> None:
        """Delete rows whose retention is over; a target that is polled before the commit has come back and is kept."""
        for key in keys:
            self._unsaved.setdefault(key, None)
        self._asked.set()

    def _count(self, entry: PollRecord) -> tuple[Counted, StateRow]:
        """Count a poll; return what was counted of its target, and its row, which the next commit writes."""
        before = self._families(entry.key, self._unsaved.get(entry.key) or self._rows.get(entry.key))
        poll, limit = PollTime(entry.now, entry.success), entry.max_label_values
        counted = count_poll(before, entry.counts, entry.address, poll, self._retention, limit=limit)
        for name in counted.restarted:
            self._log_restart(entry.key, name, counted.families[name].digest)
        row = self._unsaved[entry.key] = StateRow(entry.name, entry.success, pack(counted.families))
        return counted, row

    def _families(self, key: PollKey, stored: StateRow | None) -> Families:
        try:
            return {} if stored is None else unpack(stored.data)
        except ValueError as error:
            event, target = "counters of a target start again", key.target.label
            self._log.error(event, path=self._storage.location, target=target, error=str(error))
            return {}

    def _log_restart(self, key: PollKey, family: str, digest: bytes) -> None:
        """Log once for the targets of an account that a counter counts something else now."""
        said = (key.collector, key.target.account, family, digest)
        if said not in self._said:
            self._said.add(said)
            event = "counter counts something else now, it starts again at 0"
            self._log.warning(event, path=self._storage.location, account=key.target.account, family=family)

    def _committed(self, key: PollKey) -> Families:
        """Return the counters of a target that this process has committed last."""
        return self._families(key, self._rows.get(key)) if key in self._counted else {}

    async def _next_attempt(self) -> None:
        """Wait until the next attempt to commit has ended, or has taken long."""
        self._asked.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST_WAIT_SECONDS):
                await self._attempt.wait()

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
            is_due = is_last or not self.fault or self._clocks.monotonic() >= self._next_try
            if is_due and not self.is_taken:
                try:
                    await self._prepare()
                    await self._commit()
                except Exception as error:  # noqa: BLE001 - the boundary of an attempt
                    self._failed(error)
            attempt.set()
        await self._storage.close()

    async def _prepare(self) -> None:
        """Open the storage if it is not open, and take in its rows."""
        if not await self._storage.is_open():
            found = await self._storage.open()
            if self._is_read:
                self._compare(found)
            self._take_in(found)
        self._is_read = True

    def _compare(self, found: Mapping[PollKey, StateRow]) -> None:
        """Compare the rows of a storage that was opened again with those in memory; what it lost is written again.

        Raises:
            ShardTakenError: another exporter has counted since, or the storage was restored.
        """
        for key, row in found.items():
            # A commit that failed may still have been written. All exporters write the rows of accounts.
            own = [one.data for one in (self._rows.get(key), self._attempted.get(key)) if one is not None]
            if row.data not in own and key.target.kind != ACCOUNT:
                raise ShardTakenError("another exporter has counted since")
        lost = {key: row for key, row in self._rows.items() if key not in found}
        self._unsaved = {**lost, **self._unsaved}

    def _take_in(self, rows: Mapping[PollKey, StateRow]) -> None:
        """Take in the rows that were read, and the platform times of the accounts among them."""
        for key, row in rows.items():
            if key.collector == PLATFORM_TIME:
                self.platform_time(key.target.account).restore(row.success)
            else:
                self._rows[key] = row

    async def _commit(self) -> None:
        """Write what is not saved. What comes meanwhile is for the next time."""
        self._attempted = rows = dict(self._unsaved)
        if not rows and not self.fault:
            return
        times = {
            account_key(PLATFORM_TIME, account): StateRow("", time.believed, b"")
            for account, time in self._platform_times.items()
            if time.believed is not None
        }
        await self._storage.commit({**rows, **times})
        for key, row in rows.items():
            if row is None:
                self._rows.pop(key, None)
                self._counted.discard(key)
            else:
                self._rows[key] = row
                self._counted.add(key)
            # A poll that came meanwhile is not saved yet.
            if self._unsaved[key] is row:
                del self._unsaved[key]
        if self.fault:
            self._log.info("state saved again", path=self._storage.location)
            self.fault = ""

    def _failed(self, error: Exception) -> None:
        if not self.fault:
            event = "state not saved, counters do not change until it is"
            self._log.error(event, path=self._storage.location, error=str(error) or repr(error))
        self.fault = str(error) or repr(error)
        self._next_try = self._clocks.monotonic() + self._retry
        self.is_taken = isinstance(error, ShardTakenError)
