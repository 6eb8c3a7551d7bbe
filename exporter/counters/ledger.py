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
from exporter.counters.storage import ShardTakenError, StateLockedError, Storage, StorageError
from exporter.log import logger
from exporter.metric import Count, Family
from exporter.targets.target import PollKey

LINGER_SECONDS = 0.2
RETRY_SECONDS = 5.0
# How long a poll waits for a commit that hangs, until it goes on with the counters that were committed last.
MOST_WAIT_SECONDS = 5.0
# How long the end of the process waits for the last commit.
CLOSE_SECONDS = 3.0
# How many polls are counted, and how many continue after their commit, before the rest of the event loop has a turn.
AT_ONCE = 50
# For how long a counter that counts something else now is served as 0: a minute, and what the rendering may take.
ZERO_SECONDS = 65.0
_NOT_USABLE = "state not usable, counters do not change until it is"


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


async def _wait(event: asyncio.Event, most_seconds: float) -> None:
    """Wait until an event is set, or until the time is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(None if most_seconds == math.inf else most_seconds):
            await event.wait()


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
        reread: called with the targets whose rows another session had changed; it ends when their counters from before
            are no longer served.
        taken: called when another exporter has taken the shard.

    Attributes:
        fault: why the last write failed; empty if it succeeded.
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
        taken: Callable[[], None] = lambda: None,
    ) -> None:
        self._storage = storage
        self._observer = observer
        self._clocks = clocks
        self._linger = linger
        self._retry = retry
        self._retention = retention
        self._reread = reread
        self._taken = taken
        self._log = logger()
        # The session in which the rows were read.
        self._session = 1
        self._is_read = False
        # The rows on disk, and those that are not saved yet. They stay packed, because there are many.
        self._rows: dict[PollKey, StateRow] = {}
        self._unsaved: dict[PollKey, StateRow | None] = {}
        # Rows that were read, and not counted since: a restored state may be older than what was served of them.
        self._uncounted: set[PollKey] = set()
        # Polls that are not counted yet, with what they wait for, and keys that are not deleted yet.
        self._polls: list[tuple[PollRecord, asyncio.Future[Counters]]] = []
        self._to_delete: set[PollKey] = set()
        self._platform_times: dict[str, PlatformTime] = {}
        # Families that count something else now, and since when they are served as 0, on the monotonic clock.
        self._zeros: dict[tuple[PollKey, str], float] = {}
        # Families that count something else, of which that was logged already.
        self._said: set[object] = set()
        self.fault = ""
        self._next_try = 0.0
        # Whether polls were recorded, whether a commit has succeeded, and whether counters wait for a further poll.
        self._is_needed = self._has_saved = self._owes = False
        self._asked, self._ending = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read the stored rows, and start counting.

        Raises:
            StateLockedError: another process has the state file.
        """
        try:
            await self._prepare()
        except StateLockedError:
            raise
        except StorageError as error:
            self._failed(_NOT_USABLE, error)
        self._task = asyncio.create_task(self._run(), name="ledger")

    def is_alive(self) -> bool:
        """Return whether polls that are recorded now will be counted."""
        return self._task is not None and not self._task.done()

    def withholds(self) -> str:
        """Return why no counter is served yet; empty if any is, or if none is due."""
        if self._has_saved and not self._owes:
            return ""
        return self.fault or ("the next polls are waited for" if self._is_needed else "")

    async def close(self) -> None:
        """Commit what is not saved, and stop."""
        self._ending.set()
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
        """Update the counters from a poll's result, and wait for the attempt to commit them, but not long.

        The polls of one commit continue in the order in which they were recorded.

        Returns:
            The target's counters as they were last committed: without this poll if the attempt failed, or has not
            ended.
        """
        counters: asyncio.Future[Counters] = asyncio.get_running_loop().create_future()
        self._polls.append((entry, counters))
        self._is_needed = True
        self._asked.set()
        try:
            async with asyncio.timeout(MOST_WAIT_SECONDS):
                return await counters
        except TimeoutError:
            return Counters(served(self._committed(entry.key), entry.counts), {})

    def keep(self, account: str, kind: str, packed: bytes) -> None:
        """Store the packed list of an account's resources of a kind, without waiting for the commit."""
        self._unsaved |= listed(account, kind, packed)
        self._asked.set()

    def forget(self, keys: Iterable[PollKey]) -> None:
        """Delete rows whose retention is over; a target that is polled at the same time has come back and is kept."""
        self._to_delete.update(keys)
        self._asked.set()

    async def _run(self) -> None:
        is_last = False
        while not is_last:
            # Write rows that could not be saved, and show the storage that this process lives, even if no polls come.
            patience = self._storage.pulse
            if self._unsaved or self.fault:
                patience = min(patience, max(0.0, self._next_try - self._clocks.monotonic()))
            await _wait(self._asked, patience)
            # Wait for further polls, so that one write saves all polls that end at about the same time.
            await _wait(self._ending, self._linger)
            is_last = self._ending.is_set()
            self._asked.clear()
            await self._turn()
        await self._storage.close()

    async def _turn(self) -> None:
        """Open the storage if needed, count the polls that were recorded, commit them, and let them go on."""
        polls, self._polls = self._polls, []
        to_delete, self._to_delete = self._to_delete, set()
        is_usable = await self._is_usable()
        counted: list[tuple[PollRecord, asyncio.Future[Counters], Families]] = []
        for number, (entry, counters) in enumerate(polls, 1):
            try:
                counted.append((entry, counters, self._count(entry)))
            except Exception as error:  # noqa: BLE001 - what one entry breaks is no fault of the others
                if not counters.done():
                    counters.set_exception(error)
            if not number % AT_ONCE:
                await asyncio.sleep(0)
        self._unsaved.update(dict.fromkeys(to_delete - {entry.key for entry, _ in polls}))
        is_saved = is_usable and await self._save()
        for number, (entry, counters, families) in enumerate(counted, 1):
            if entry.counts:
                self._owes = not is_saved
            # A poll may have been cancelled, or have waited long enough.
            if not counters.done():
                counters.set_result(self._shown(entry, families, is_saved=is_saved))
            if not number % AT_ONCE:
                await asyncio.sleep(0)

    async def _is_usable(self) -> bool:
        """Open the storage if needed; return whether it can be written to now."""
        # Polls continue without delay: after a failed write, no write is tried for each of them.
        if self.fault and not self._ending.is_set() and self._clocks.monotonic() < self._next_try:
            return False
        try:
            await self._prepare()
        except StorageError as error:
            self._failed(_NOT_USABLE, error)
            return False
        return True

    async def _prepare(self) -> None:
        """Open the storage if needed, and take in its rows; raises StorageError if it cannot be used now."""
        opened = await self._storage.prepare()
        if opened is None:
            return
        found = self._without_times(opened.rows)
        if opened.are_newer:
            # Counts from before these rows were read started without them, or another exporter has counted since. They
            # are dropped, and the next polls count the same days again. Lists of an account are no counts.
            changed = {key for key in self._rows.keys() | found.keys() if self._rows.get(key) != found.get(key)}
            self._uncounted |= changed
            unsaved = self._unsaved.items()
            self._unsaved = {key: row for key, row in unsaved if key not in found or key.target.kind == ACCOUNT}
            self._rows = found
            if self._is_read:
                await self._reread(changed)
        else:
            # A file that was lost is written again; its rows may contain targets that are new here.
            self._unsaved = {**self._rows, **self._unsaved}
            self._rows = {**found, **self._rows}
        self._session, self._is_read = opened.session, True

    def _without_times(self, rows: Mapping[PollKey, StateRow]) -> dict[PollKey, StateRow]:
        """Restore the platform times of the accounts; return the other rows."""
        for key, row in rows.items():
            if key.collector == PLATFORM_TIME:
                self.platform_time(key.target.account).restore(row.success)
        return {key: row for key, row in rows.items() if key.collector != PLATFORM_TIME}

    def _failed(self, event: str, error: Exception) -> None:
        if not self.fault:
            self._log.error(event, path=self._storage.location, error=str(error))
        self.fault = str(error) or repr(error)
        self._next_try = self._clocks.monotonic() + self._retry
        self._observer.wrote(self.fault)
        if isinstance(error, ShardTakenError):
            self._taken()

    def _committed(self, key: PollKey) -> Families:
        """Return the last committed counters of a target; none before the first commit after its row was read."""
        return {} if key in self._uncounted else self._families(key, self._rows.get(key))

    def _families(self, key: PollKey, stored: StateRow | None) -> Families:
        try:
            return {} if stored is None else unpack(stored.data)
        except ValueError as error:
            event, target = "counters of a target start again", key.target.label
            self._log.error(event, path=self._storage.location, target=target, error=str(error))
            return {}

    def _count(self, entry: PollRecord) -> Families:
        stored = self._unsaved[entry.key] if entry.key in self._unsaved else self._rows.get(entry.key)
        before = self._families(entry.key, stored)
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
        self._unsaved[entry.key] = StateRow(entry.name, entry.success, pack(families))
        return families

    def _say_anew(self, key: PollKey, family: str, digest: bytes) -> None:
        """Log once for the targets of an account that a counter counts something else now."""
        said = (key.collector, key.target.account, family, digest)
        if said not in self._said:
            self._said.add(said)
            event = "counter counts something else now, it starts again at 0"
            self._log.warning(event, path=self._storage.location, account=key.target.account, family=family)

    def _shown(self, entry: PollRecord, families: Families, *, is_saved: bool) -> Counters:
        """Return the counters to serve, and note which are 0 because they count something else than before."""
        saved = families if is_saved or not entry.counts else self._committed(entry.key)
        counters = served(saved, entry.counts)
        shown = {counter.info.name for counter in counters}
        for name, family in saved.items():
            if family.is_anew and name in shown:
                self._zeros.setdefault((entry.key, name), self._clocks.monotonic())
            else:
                self._zeros.pop((entry.key, name), None)
        return Counters(counters, left_out(families, entry.counts))

    async def _save(self) -> bool:
        """Write what is not saved; return whether it is saved. What comes meanwhile is for the next time."""
        if not self._unsaved and not self.fault:
            return True
        rows, self._unsaved = self._unsaved, {}
        times = {
            account_key(PLATFORM_TIME, account): StateRow("", time.believed, b"")
            for account, time in self._platform_times.items()
            if time.believed is not None
        }
        try:
            await self._storage.commit({**rows, **times})
        except StorageError as error:
            self._unsaved = {**rows, **self._unsaved}
            self._failed("state not saved, counters do not change until it is", error)
            return False
        for key, stored in rows.items():
            if stored is None:
                self._rows.pop(key, None)
            else:
                self._rows[key] = stored
        self._uncounted -= rows.keys()
        self._has_saved = True
        if self.fault:
            self._log.info("state saved again", path=self._storage.location)
            self.fault = ""
            self._observer.wrote(self.fault)
        return True
