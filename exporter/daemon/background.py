"""Background tasks of the daemon."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from exporter.log import logger


class Background:
    """Runs tasks until they end or are stopped, and logs those that fail."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()
        self._log = logger()

    def begin(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """Start a task."""
        task: asyncio.Task[object] = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._log.error("background task failed", work=task.get_name(), error=repr(error), exc_info=error)


async def repeated(seconds: float, work: Callable[[], Awaitable[object] | None]) -> None:
    """Do work again and again, each time after a number of seconds, until it is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        doing = work()
        if doing is not None:
            await doing
