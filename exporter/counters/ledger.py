"""The durable counters: counted on the event loop, kept in a storage, and returned after the commit."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from exporter.clock import SYSTEM, Clocks, PlatformTime
from exporter.counters.counting import Families, count_poll, left_out, served
from exporter.counters.rows import PLATFORM_TIME, StateRow, account_key, listed, pack, unpack
from exporter.counters.series import Poll
from exporter.counters.storage import ShardTakenError, StateLockedError, Storage, StorageError, report
from exporter.counters.upgrade import upgraded
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

    def set_aside(self, at: float) -> None:
        """Report lost state: at `at` (unix seconds) a damaged file was renamed."""


class Entry(NamedTuple):
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


# The counters of a target as they were last committed.
Counters = tuple[Family, ...]
_Waiting = tuple[Entry, "asyncio.Future[Counters] | None"]


@dataclass(slots=True)
class _Requests:
    """What the ledger does next: polls to count, rows to store as they are, and keys of rows to delete."""

    polls: list[_Waiting] = field(default_factory=list)
    kept: dict[PollKey, StateRow] = field(default_factory=dict)
    to_delete: set[PollKey] = field(default_factory=set)


async def _ignore(_keys: Collection[PollKey]) -> None:
    """Do nothing: nothing is served."""


async def _wait(event: asyncio.Event, most_seconds: float) -> None:
    """Wait until an event is set, or until the time is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(None if most_seconds == math.inf else most_seconds):
            await event.wait()


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
        addresses: account → its base address, for rows of earlier versions, which do not say what they count.

    Attributes:
        fault: why the last write failed; empty if it succeeded.
        left_out: target → family → how many label values in its last answer have no series, because all places are
            taken; only where there are any.
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
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        self._storage = storage
        self._observer = observer
        self._clocks = clocks
        self._linger = linger
        self._retry = retry
        self._retention = retention
        self._reread = reread
        self._taken = taken
        # The session in which the rows were read.
        self._session = 1
        self._is_read = False
        # Rows that were read, and not counted since: what they hold is older than what was served of them.
        self._uncounted: set[PollKey] = set()
        self._addresses = addresses or {}
        self._log = logger()
        self._requests = _Requests()
        self._asked = asyncio.Event()
        # The rows on disk, and the counted rows that are not saved yet. Rows stay packed, because there are many.
        self._rows: dict[PollKey, StateRow] = {}
        self._unsaved: dict[PollKey, StateRow | None] = {}
        self._platform_times: dict[str, PlatformTime] = {}
        # Families that count something else now, and since when they are served as 0, on the monotonic clock.
        self._zeros: dict[tuple[PollKey, str], float] = {}
        # Families that count something else, of which that was logged already.
        self._said: set[object] = set()
        self._ending = asyncio.Event()
        # Polls that wait for the commit of what was counted of them.
        self._waiting: dict[asyncio.Future[Counters], Entry] = {}
        self.fault = ""
        # Whether polls were recorded, whether a commit has succeeded, and whether counters wait for a further poll.
        self._is_needed = self._has_saved = self._owes = False
        self.left_out: dict[PollKey, Mapping[str, int]] = {}
        self._next_try = 0.0
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read the stored rows, and start counting.

        Raises:
            StateLockedError: another process has the state file.
        """
        try:
            await self._prepare()
        except StorageError as error:
            if isinstance(error, StateLockedError):
                raise
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
        for waiting in list(self._waiting):
            waiting.cancel()

    def remembered(self) -> Mapping[PollKey, StateRow]:
        """The name and the last success of each target; until its first poll, those of an earlier run.

        Each commit changes it, so iterate over a copy while polls are recorded.
        """
        return self._rows

    def platform_time(self, account: str) -> PlatformTime:
        """Return the estimate of the time on an account's platform; the storage keeps it."""
        return self._platform_times.setdefault(account, PlatformTime(self._clocks))

    async def record(self, entry: Entry) -> Counters:
        """Update the counters from a poll's result, and wait for the attempt to commit them, but not long.

        The polls of one commit continue in the order in which they were recorded.

        Returns:
            The target's counters as they were last committed: without this poll if the attempt failed, or has not
            ended.
        """
        counted: asyncio.Future[Counters] = asyncio.get_running_loop().create_future()
        self._waiting[counted] = entry
        self.note(entry, counted)
        try:
            return await counted
        finally:
            del self._waiting[counted]

    def note(self, entry: Entry, counted: "asyncio.Future[Counters] | None" = None) -> None:
        """Count a poll, and do not wait for the commit; `counted` gets its counters."""
        self._is_needed = True
        self._requests.polls.append((entry, counted))
        self._asked.set()

    def keep(self, account: str, kind: str, packed: bytes) -> None:
        """Store the packed list of an account's resources of a kind, without waiting for the commit."""
        self._requests.kept |= listed(account, kind, packed)
        self._asked.set()

    def forget(self, keys: Iterable[PollKey]) -> None:
        """Delete rows whose retention is over; a target that is polled at the same time has come back and is kept."""
        self._requests.to_delete.update(keys)
        self._asked.set()

    def session(self) -> int:
        """Return a number that changes with the storage's session; 0 while counters of targets may not be served.

        Another exporter may have counted before a new session. Until its rows are read and older values are withheld,
        no counter is served.
        """
        session = self._storage.session()
        return session if session == self._session else 0

    async def _run(self) -> None:
        is_last = False
        while not is_last:
            # Write rows that could not be saved, even if no further polls come.
            patience = self._storage.pulse
            if self._unsaved or self.fault:
                patience = min(patience, max(0.0, self._next_try - self._clocks.monotonic()))
            await _wait(self._asked, patience)
            # Wait for further polls, so that one write saves all polls that end at about the same time.
            await _wait(self._ending, self._linger)
            is_last = self._ending.is_set()
            is_pulse = not (self._asked.is_set() or self._unsaved or self.fault)
            self._asked.clear()
            requests, self._requests = self._requests, _Requests()
            await self._not_holding(self._keep_alive() if is_pulse else self._turn(requests))
        await self._storage.close()

    async def _keep_alive(self) -> None:
        """Show the storage that this process lives."""
        try:
            await self._prepare()
        except StorageError as error:
            self._failed(_NOT_USABLE, error)

    async def _turn(self, requests: _Requests) -> None:
        polled = {entry.key for entry, _ in requests.polls}
        self._unsaved |= requests.kept
        # Polls continue without delay: after a failed write, no write is tried for each of them.
        is_time = self._ending.is_set() or not self.fault or self._clocks.monotonic() >= self._next_try
        if is_time:
            try:
                await self._prepare()
            except StorageError as error:
                self._failed(_NOT_USABLE, error)
                is_time = False
        counted: list[tuple[Entry, asyncio.Future[Counters] | None, Families]] = []
        for number, (entry, future) in enumerate(requests.polls, 1):
            try:
                counted.append((entry, future, self._count(entry)))
            except Exception as error:  # noqa: BLE001 - what one entry breaks is no fault of the others
                self._broken(entry, future, error)
            if not number % AT_ONCE:
                await asyncio.sleep(0)
        self._unsaved.update(dict.fromkeys(requests.to_delete - polled))
        is_saved = is_time and await self._save()
        for number, (entry, future, families) in enumerate(counted, 1):
            if entry.counts:
                self._owes = not is_saved
            # A poll that was cancelled at the end of the process does not continue.
            if future is not None and not future.done():
                saved = families if is_saved or not entry.counts else self._committed(entry.key)
                counters = served(saved, entry.counts)
                self._note_zeros(entry.key, saved, counters)
                future.set_result(counters)
            if not number % AT_ONCE:
                await asyncio.sleep(0)

    async def _not_holding(self, work: Coroutine[Any, Any, None]) -> None:
        """Await a turn; while its storage hangs, polls go on with the counters that were committed last."""
        task = asyncio.create_task(work, name="ledger")
        try:
            while not (await asyncio.wait({task}, timeout=MOST_WAIT_SECONDS))[0]:
                for future, entry in list(self._waiting.items()):
                    if not future.done():
                        future.set_result(served(self._committed(entry.key), entry.counts))
            task.result()
        finally:
            task.cancel()

    def _broken(self, entry: Entry, future: "asyncio.Future[Counters] | None", error: Exception) -> None:
        """Pass an unexpected error on to the poll whose entry caused it; the row stays as it was."""
        if future is None:
            self._say(self._log.error, "row cannot be stored", target=entry.key.target.label, error=repr(error))
        elif not future.done():
            future.set_exception(error)

    async def _prepare(self) -> None:
        """Open the storage if needed, and take in its rows; raises StorageError if it cannot be used now."""
        opened = await self._storage.prepare()
        if opened is None:
            return
        found, converted = await self._taken_in(opened.rows)
        if opened.are_newer:
            # Counts from before these rows were read started without them, or another exporter has counted since. They
            # are dropped, and the next polls count the same days again.
            changed = {key for key in self._rows.keys() | found.keys() if self._rows.get(key) != found.get(key)}
            self._uncounted |= changed
            self._unsaved = {key: row for key, row in self._unsaved.items() if key not in found}
            self._rows = found
            if self._is_read:
                await self._reread(changed)
        else:
            # A file that was lost is written again; its rows may contain targets that are new here.
            self._unsaved = {**self._rows, **self._unsaved}
            self._rows = {**found, **self._rows}
        self._unsaved = {**converted, **self._unsaved}
        self._session, self._is_read = opened.session, True

    async def _taken_in(
        self, rows: dict[PollKey, StateRow]
    ) -> tuple[dict[PollKey, StateRow], dict[PollKey, StateRow | None]]:
        """Restore the platform times of the accounts; return the other rows, and the changes of an upgrade."""
        changed: dict[PollKey, StateRow | None] = {}
        for number, (key, row) in enumerate(upgraded(rows, self._addresses, is_shared=self._storage.is_shared), 1):
            changed[key] = row
            if not number % AT_ONCE:
                await asyncio.sleep(0)
        found: dict[PollKey, StateRow] = {}
        for key, row in rows.items():
            if key.collector == PLATFORM_TIME:
                self.platform_time(key.target.account).restore(row.success)
            elif (kept := changed.get(key, row)) is not None:
                found[key] = kept
        return found, changed

    def _failed(self, event: str, error: Exception) -> None:
        if not self.fault:
            self._say(self._log.error, event, error=str(error))
        self.fault = str(error) or repr(error)
        self._next_try = self._clocks.monotonic() + self._retry
        self._observer.wrote(self.fault)
        if isinstance(error, ShardTakenError):
            self._taken()

    def _say(self, write: Callable[..., object], event: str, **facts: str) -> None:
        report(write, event, path=self._storage.location, **facts)

    def _committed(self, key: PollKey) -> Families:
        """Return the last committed counters of a target; none before the first commit after its row was read."""
        return {} if key in self._uncounted else self._families(key, self._rows.get(key))

    def _families(self, key: PollKey, stored: StateRow | None) -> Families:
        try:
            return {} if stored is None else unpack(stored.data)
        except ValueError as error:
            self._say(self._log.error, "counters of a target start again", target=key.target.label, error=str(error))
            return {}

    def _count(self, entry: Entry) -> Families:
        stored = self._unsaved[entry.key] if entry.key in self._unsaved else self._rows.get(entry.key)
        before = self._families(entry.key, stored)
        for name, family in before.items():
            zero_since = self._zeros.get((entry.key, name), math.inf)
            family.is_anew = family.is_anew and self._clocks.monotonic() - zero_since < ZERO_SECONDS
        poll = Poll(entry.now, entry.success)
        families, corrections = count_poll(
            before, entry.counts, entry.address, poll, self._retention, limit=entry.max_label_values
        )
        for name, number in corrections.items():
            self._observer.corrected(name, number)
        for name, family in before.items():
            if families[name] is not family:
                self._say_anew(entry.key, name, families[name].digest)
        if outside := left_out(families, entry.counts):
            self.left_out[entry.key] = outside
        else:
            self.left_out.pop(entry.key, None)
        row = StateRow(entry.name, entry.success, pack(families))
        self._unsaved[entry.key] = row
        return families

    def _note_zeros(self, key: PollKey, families: Families, counters: Counters) -> None:
        """Note which of the counters that are served now are 0 because they count something else than before."""
        shown = {counter.info.name for counter in counters}
        for name, family in families.items():
            if family.is_anew and name in shown:
                self._zeros.setdefault((key, name), self._clocks.monotonic())
            else:
                self._zeros.pop((key, name), None)

    def _say_anew(self, key: PollKey, family: str, digest: bytes) -> None:
        """Log once for the targets of an account that a counter counts something else now."""
        said = (key.collector, key.target.account, family, digest)
        if said not in self._said:
            self._said.add(said)
            event = "counter counts something else now, it starts again at 0"
            self._say(self._log.warning, event, account=key.target.account, family=family)

    async def _save(self) -> bool:
        """Write unsaved rows; return whether they are saved."""
        rows = dict(self._unsaved)
        for account, time in self._platform_times.items():
            if time.believed is not None:
                rows[account_key(PLATFORM_TIME, account)] = StateRow("", time.believed, b"")
        try:
            await self._storage.commit(rows)
        except StorageError as error:
            self._failed("state not saved, counters do not change until it is", error)
            return False
        for key, stored in self._unsaved.items():
            if stored is None:
                self._rows.pop(key, None)
                self.left_out.pop(key, None)
            else:
                self._rows[key] = stored
        self._has_saved = True
        self._uncounted -= self._unsaved.keys()
        self._unsaved = {}
        if self.fault:
            self._say(self._log.info, "state saved again")
            self.fault = ""
            self._observer.wrote(self.fault)
        return True
