"""Runs background tasks, some of which repeat work in rounds, and cancels the tasks together."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from prometheus_client import Counter

from exporter.clock import Clocks
from exporter.log import logger
from exporter.web.parts import Round

# A function that does one round of work; if it returns an awaitable, the awaitable is awaited.
DoRound = Callable[[], Awaitable[object] | None]
Wait = Callable[[], Awaitable[object]]


class Tasks:
    """Tasks that run until they end or are cancelled together.

    Args:
        failures: the counter of failed rounds, labelled with the `name` of `repeat`.

    Attributes:
        rounds: `name` of `repeat` → when a round last ended, and last succeeded.
    """

    def __init__(self, failures: Counter, clocks: Clocks) -> None:
        self.rounds: dict[str, Round] = {}
        self._failures = failures
        self._clocks = clocks
        self._running: set[asyncio.Task[object]] = set()
        self._log = logger()

    def begin(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        """Start a task; its failure is logged."""
        task: asyncio.Task[object] = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._log.error("background task failed", work=task.get_name(), error=repr(error), exc_info=error)

    def repeat(self, name: str, seconds: float, work: DoRound, wait: Wait | None = None) -> None:
        """Start a task that waits and does a round of `work`, in turns. Of successive failures, the first is logged.

        `seconds` is the longest time that `wait` takes. Without `wait`, the task waits `seconds` before each round.
        """
        self.rounds[name] = Round(seconds, self._clocks.monotonic())
        self.begin(name, self._repeated(name, work, wait or partial(asyncio.sleep, seconds)))

    async def _repeated(self, name: str, work: DoRound, wait: Wait) -> None:
        failures, state = self._failures.labels(name), self.rounds[name]
        is_failing = False
        while True:
            await wait()
            try:
                pending = work()
                if pending is not None:
                    await pending
            except Exception as error:  # noqa: BLE001 - the next round tries again
                failures.inc()
                if not is_failing:
                    self._log.error("task fails", task=name, error=repr(error), exc_info=True)
                is_failing = True
            else:
                if is_failing:
                    self._log.info("task works again", task=name)
                is_failing = False
                state.succeeded_at = self._clocks.wall()
            state.ended_at = self._clocks.monotonic()

    async def cancel(self) -> None:
        """Cancel the running tasks, and wait until they have ended."""
        ending = list(self._running)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
