"""The queue of one account's polls, and the fixed number of workers that drain it."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from exporter.collectors.collector import Collector
from exporter.targets.target import PollKey, Target


@dataclass(frozen=True, slots=True)
class DuePoll:
    """A poll that is due. Times are on the monotonic clock.

    Attributes:
        until: when the next poll of the same target is due.
        begin_by: the latest beginning if the account has enough capacity; polls begin in this order.
    """

    collector: Collector
    target: Target
    until: float
    begin_by: float

    @property
    def key(self) -> PollKey:
        """The target as the collector sees it."""
        return self.target.polled_by(self.collector.name)

    def __lt__(self, other: "DuePoll") -> bool:
        """Return whether this poll begins before another one."""
        return self.begin_by < other.begin_by


@dataclass(slots=True, eq=False)
class WorkerPool:
    """The queue and the workers of one account. Accounts share nothing, so a slow one delays only itself.

    Polls begin in the order of `DuePoll.begin_by`. If they began in the order of their arrival, thousands of new
    targets of one collector would delay those of other collectors, and series with short intervals would become stale.

    Attributes:
        starts: shared by the pools of a process, so that workers begin polls one after another.
        busy: targets that are queued or being polled; each is there at most once.
    """

    workers: int
    run: Callable[[DuePoll], Awaitable[None]]
    starts: asyncio.Lock = field(default_factory=asyncio.Lock)
    busy: set[PollKey] = field(default_factory=set)
    # Collector → the time planned for its next poll, if it is still to come; and the same times in order.
    _turns: dict[str, float] = field(default_factory=dict)
    _ordered_turns: list[tuple[float, str]] = field(default_factory=list)
    _queue: asyncio.PriorityQueue[DuePoll] = field(default_factory=asyncio.PriorityQueue)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        """Start the workers."""
        self._tasks = [asyncio.create_task(self._work(), name="poll") for _ in range(self.workers)]

    async def stop(self) -> set[PollKey]:
        """Stop the workers at once; return the polls that were queued or running."""
        unfinished = set(self.busy)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        while not self._queue.empty():
            self._queue.get_nowait()
            self._queue.task_done()
        self._tasks = []
        self.busy.clear()
        return unfinished

    async def drained(self) -> None:
        """Wait until no poll is queued or running."""
        await self._queue.join()

    def offer(self, run: DuePoll) -> bool:
        """Queue a poll; return False if a poll of the same target by the same collector is queued or running."""
        if run.key in self.busy:
            return False
        self.busy.add(run.key)
        self._queue.put_nowait(run)
        return True

    def turn(self, collector: str, now: float, each: float) -> float:
        """Return when a poll should begin, so that collectors with waiting polls share the account's capacity evenly.

        So a collector with few targets does not wait for one with thousands in the first round of polls.

        Args:
            collector: the collector that polls.
            now: the present, on the monotonic clock.
            each: the seconds that the account's capacity takes for a request.
        """
        while self._ordered_turns and self._ordered_turns[0][0] <= now:
            at, name = heapq.heappop(self._ordered_turns)
            if self._turns.get(name) == at:
                del self._turns[name]
        turn = self._turns.get(collector, now)
        sharing = len(self._turns) + (collector not in self._turns)
        self._turns[collector] = turn + sharing * each
        heapq.heappush(self._ordered_turns, (self._turns[collector], collector))
        return turn

    async def _work(self) -> None:
        while True:
            run = await self._queue.get()
            try:
                # Without this, all polls of a tick would begin at once, and a scrape would wait for all of them.
                async with self.starts:
                    await asyncio.sleep(0)
                await self.run(run)
            finally:
                self.busy.discard(run.key)
                self._queue.task_done()
