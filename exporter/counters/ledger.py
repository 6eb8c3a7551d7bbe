"""The durable counters: polls are counted on the event loop, and counters are returned after their commit."""

import asyncio
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from exporter.clock import SYSTEM, Clocks, PlatformTime
from exporter.counters.counting import Counted, Families, count_poll, served
from exporter.counters.days import PollTime
from exporter.counters.rows import PLATFORM_TIME, StateRow, account_key, list_row, pack, unpack
from exporter.counters.storage import Changes, ShardTakenError, StateLockedError, Storage, StorageError
from exporter.log import logger
from exporter.metric import Count, Family
from exporter.targets.target import PollKey

LINGER_SECONDS = 0.2
RETRY_SECONDS = 5.0
# The most seconds that a poll waits for the stored rows to be read, and again for its commit.
MOST_WAIT_SECONDS = 5.0
# For how many seconds `close` waits for a last commit.
CLOSE_SECONDS = 3.0


class PollRecord(NamedTuple):
    """A successful poll that the ledger counts.

    Attributes:
        success: the time of the poll, in unix seconds of this machine's clock.
        now: the platform's time if it is known, otherwise this machine's.
        address: the base address of the platform that answered.
        max_label_values: the most series of a family; further label values are left out.
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
        families: the counters of the label values in the answer, as of the last commit of this process.
        left_out: name of a family → how many label values of the answer `max_label_values` has left out, if any.
        corrections: name of a family → how many values of days or months the platform has lowered, if any.
    """

    families: tuple[Family, ...] = ()
    left_out: Mapping[str, int] = {}
    corrections: Mapping[str, int] = {}


class Ledger:
    """Counts polls, writes the counters in group commits, and returns the committed counters.

    A counter's new value is returned only after the value is committed. If a commit fails, its polls are written by the
    next commit.

    Args:
        storage: keeps the rows; is opened and closed by the ledger.
        linger: how long a group commit waits for further polls, in seconds.
        retry: how long to wait after a failed attempt to read or write, in seconds.
        retention: seconds after which a series is dropped if the answers do not contain its label values.

    Attributes:
        fault: why the last attempt to read or write failed, or that the present attempt takes too long; else empty.
        is_taken: whether another exporter may count the shard (`ShardTakenError`). Nothing more is written then.
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
        self._has_read_rows = False
        # The rows, as last read or committed. Their data stay packed, because there are many rows.
        self._rows: dict[PollKey, StateRow] = {}
        # Key → the row that the next commit writes, or None if that commit deletes the row.
        self._unsaved: dict[PollKey, StateRow | None] = {}
        # The rows of the last attempt to commit. Even if the attempt failed, these rows may have been written.
        self._attempted: Changes = {}
        # The keys of the rows that this process has committed. Other rows were read, perhaps from a backup: they may be
        # older than the counters that were served before, and are not served.
        self._counted: set[PollKey] = set()
        self._platform_times: dict[str, PlatformTime] = {}
        # What `_log_restart` has logged: collector, account, family, and the digest of what the family counts now.
        self._logged_restarts: set[tuple[str, str, str, bytes]] = set()
        self._next_try = 0.0
        self._commit_asked = asyncio.Event()
        # Set when the next attempt to commit has ended or was left out. A new event is made when that attempt begins.
        self._attempt_ended = asyncio.Event()
        self._is_ending = False
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read the stored rows, and begin to commit. If the rows cannot be read now, `fault` says why.

        Raises:
            StateLockedError: another process has the state file.
        """
        try:
            await self._ensure_open()
        except StateLockedError:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary of an attempt
            self._failed(error)
        self._task = asyncio.create_task(self._run(), name="ledger")

    def is_alive(self) -> bool:
        """Return whether the task that commits is running."""
        return self._task is not None and not self._task.done()

    def why_no_counters(self) -> str:
        """Return why no counters are served yet (`fault`); empty if this process has committed a row."""
        return "" if self._counted else self.fault

    def may_serve(self) -> bool:
        """Return whether counters may be served: it is certain that no other exporter counts this process's targets."""
        return not self.is_taken and self._storage.is_certain()

    async def close(self) -> None:
        """Try once to commit the rows that are not saved, and close the storage; give up after `CLOSE_SECONDS`."""
        self._is_ending = True
        self._commit_asked.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
            self._task.cancel()

    def remembered(self) -> Mapping[PollKey, StateRow]:
        """Return the rows of targets and of lists, as last read or committed.

        Commits change the returned mapping: iterate over a copy if a commit may run during the iteration.
        """
        return self._rows

    def platform_time(self, account: str) -> PlatformTime:
        """Return the `PlatformTime` of an account. When rows are committed, the `accepted_date` is stored with them."""
        return self._platform_times.setdefault(account, PlatformTime(self._clocks))

    async def record(self, entry: PollRecord) -> Counters:
        """Count a poll, wait for its commit, and return the counters of the target that this process committed last.

        If the commit fails, or takes longer than `MOST_WAIT_SECONDS`, the returned counters are without this poll. If
        the stored rows are not read yet, `record` first waits for the rows, also at most `MOST_WAIT_SECONDS`. Without
        the rows, nothing is counted, and the result is empty.
        """
        if not self._has_read_rows:
            await self._next_attempt()
        if not self._has_read_rows:
            return Counters()
        counted, row = self._count(entry)
        await self._next_attempt()
        is_committed = self._rows.get(entry.key) is row
        families = counted.families if is_committed else self._committed(entry.key)
        return Counters(served(families, entry.counts), counted.left_out, counted.corrections)

    def store_list(self, account: str, kind: str, packed: bytes) -> None:
        """Store the packed list of an account's resources of a kind with the next commit."""
        key, row = list_row(account, kind, packed)
        self._unsaved[key] = row
        self._commit_asked.set()

    def delete(self, keys: Iterable[PollKey]) -> None:
        """Delete the rows of these keys with the next commit, except rows that wait to be written."""
        for key in keys:
            self._unsaved.setdefault(key, None)
        self._commit_asked.set()

    def _count(self, entry: PollRecord) -> tuple[Counted, StateRow]:
        # Continue the unsaved row. If there is none, or the row is to be deleted (None), continue the committed row.
        before = self._families(entry.key, self._unsaved.get(entry.key) or self._rows.get(entry.key))
        poll, limit = PollTime(entry.now, wall=entry.success), entry.max_label_values
        counted = count_poll(before, entry.counts, entry.address, poll, self._retention, limit=limit)
        for name in counted.restarted:
            self._log_restart(entry.key, name, counted.families[name].digest)
        row = self._unsaved[entry.key] = StateRow(entry.name, entry.success, pack(counted.families))
        return counted, row

    def _families(self, key: PollKey, stored: StateRow | None) -> Families:
        try:
            return {} if stored is None else unpack(stored.data)
        except ValueError as error:
            event, target = "row of a target is damaged, the counters in it start again at 0", key.target.label
            self._log.error(event, path=self._storage.location, target=target, error=str(error))
            return {}

    def _log_restart(self, key: PollKey, family: str, digest: bytes) -> None:
        # If a family has the same new digest in many targets of an account, the restart is logged once in this run.
        restart = (key.collector, key.target.account, family, digest)
        if restart not in self._logged_restarts:
            self._logged_restarts.add(restart)
            event = "counter starts again at 0, it counts something else than before"
            self._log.warning(event, path=self._storage.location, account=key.target.account, family=family)

    def _committed(self, key: PollKey) -> Families:
        return self._families(key, self._rows.get(key)) if key in self._counted else {}

    async def _next_attempt(self) -> None:
        """Ask for a commit, and wait until the next attempt has ended or is left out, at most `MOST_WAIT_SECONDS`."""
        self._commit_asked.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(MOST_WAIT_SECONDS):
                await self._attempt_ended.wait()

    async def _run(self) -> None:
        is_last = False
        while not is_last:
            await self._wait_for_work()
            is_last = self._is_ending
            self._commit_asked.clear()
            # A poll that is counted from here on waits for the attempt after this one.
            attempt_ended, self._attempt_ended = self._attempt_ended, asyncio.Event()
            # After a failure, the next attempt is at `_next_try` or later, or when the ledger is closed.
            is_due = is_last or not self.fault or self._clocks.monotonic() >= self._next_try
            if is_due and not self.is_taken:
                await self._attempt()
            attempt_ended.set()
        await self._storage.close()

    async def _attempt(self) -> None:
        # A timer reports an attempt that takes too long. The time-out of a waiting poll cannot report this, because the
        # poll may also have waited for the attempt before.
        slow = StorageError(f"{self._storage.location} was not read or written within {MOST_WAIT_SECONDS:g} s")
        timer = asyncio.get_running_loop().call_later(MOST_WAIT_SECONDS, self._failed, slow)
        try:
            await self._ensure_open()
            await self._commit()
        except Exception as error:  # noqa: BLE001 - the boundary of an attempt
            self._failed(error)
        finally:
            timer.cancel()

    async def _wait_for_work(self) -> None:
        """Wait until a commit is asked for, a failed attempt is to be repeated or a pulse is due; then linger."""
        longest = self._storage.pulse
        if self.fault:
            longest = min(longest, max(0.0, self._next_try - self._clocks.monotonic()))
        with suppress(TimeoutError):
            async with asyncio.timeout(longest):
                await self._commit_asked.wait()
        # Wait for further polls, so that polls that end shortly after each other are written by one commit.
        await self._clocks.sleep(self._linger)

    async def _ensure_open(self) -> None:
        if not await self._storage.keep_open():
            found = await self._storage.open()
            if self._has_read_rows:
                self._check_unchanged(found)
                # Rows that the storage has lost are written again.
                lost = {key: row for key, row in self._rows.items() if key not in found}
                self._unsaved = {**lost, **self._unsaved}
            self._take_in(found)
        self._has_read_rows = True

    def _check_unchanged(self, found: Mapping[PollKey, StateRow]) -> None:
        """Raise ShardTakenError if the row of a target is not the one that this process last read or tried to write."""
        for key, row in found.items():
            # A failed commit may have written its rows. Other exporters also write rows without an id (of accounts).
            own = [one.data for one in (self._rows.get(key), self._attempted.get(key)) if one is not None]
            if row.data not in own and key.target.id:
                raise ShardTakenError("another exporter has written rows of this shard, or the database was restored")

    def _take_in(self, rows: Mapping[PollKey, StateRow]) -> None:
        for key, row in rows.items():
            # A collector may have the name PLATFORM_TIME, but its rows have other keys, with the id of a target.
            is_platform_time = key == account_key(PLATFORM_TIME, key.target.account)
            if is_platform_time:
                self.platform_time(key.target.account).restore(row.success)
            else:
                self._rows[key] = row

    async def _commit(self) -> None:
        self._attempted = rows = dict(self._unsaved)
        # A fault ends with the next commit, even if there is nothing to write.
        if not rows and not self.fault:
            return
        times = {
            account_key(PLATFORM_TIME, account): StateRow("", time.accepted_date, b"")
            for account, time in self._platform_times.items()
            if time.accepted_date is not None
        }
        # A row that is still the same object as in `_rows` is not new: `_ensure_open` found that the storage lost it.
        lost = {key: row for key, row in rows.items() if row is not None and row is self._rows.get(key)}
        if lost:
            await self._storage.commit(lost, takes_over=False)
        await self._storage.commit({key: row for key, row in {**rows, **times}.items() if key not in lost})
        for key, row in rows.items():
            if row is None:
                self._rows.pop(key, None)
                self._counted.discard(key)
            else:
                self._rows[key] = row
                self._counted.add(key)
            # If another row was recorded meanwhile, the next commit writes that row.
            if self._unsaved[key] is row:
                del self._unsaved[key]
        if self.fault:
            self._log.info("state read and saved again", path=self._storage.location)
            self.fault = ""

    def _failed(self, error: Exception) -> None:
        is_first = not self.fault
        self.fault = str(error) or repr(error)
        if is_first:
            event = "state not read or saved, counters do not change or are not served"
            self._log.error(event, path=self._storage.location, error=self.fault)
        self._next_try = self._clocks.monotonic() + self._retry
        self.is_taken = isinstance(error, ShardTakenError)
