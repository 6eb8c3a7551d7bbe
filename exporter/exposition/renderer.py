"""Renders a generation of the exposition every one to five seconds, on its own thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field

from isal import igzip

from exporter.blocking import blocking
from exporter.exposition.exposition import Exposition, Filter, Format, Generation
from exporter.exposition.segments import DEFLATE_LEVEL
from exporter.exposition.store import Store
from exporter.telemetry import Telemetry

SHORTEST_GAP = 1.0
# After a generation that took t seconds, the next one waits this many times t. Without this, with 400,000 series of
# which some change in every segment each second, rendering would take as much time as the polls.
PAUSE_FACTOR = 20.0
# The program's own metrics change all the time; they are rendered this often, even if no target changed.
LONGEST_GAP = 5.0
# If there is no new generation for this long, the served values count as frozen.
LONGEST_SILENCE = 60.0
STEP = 0.1


@dataclass(eq=False, repr=False)
class Renderer:
    """Keeps the current generation, and replaces it when the next is complete.

    Attributes:
        exposition: used on the renderer's thread only.
        store: where changes are taken from, on the event loop.
        telemetry: where the renderer's own metrics are kept.
        monotonic: a clock in seconds.
        thread: an executor of one thread.
        current: the generation that scrapes receive.
    """

    exposition: Exposition
    store: Store
    telemetry: Telemetry
    monotonic: Callable[[], float]
    thread: Executor
    current: Generation = field(init=False)
    _rendered: float = 0.0
    _pause: float = SHORTEST_GAP
    _rendering: float = 0.0
    _is_behind: bool = False

    def __post_init__(self) -> None:
        self.current = self.exposition.build()

    async def wait(self) -> None:
        """Wait for a change of a target, or for the next generation that is due."""
        # Changes of the same moment are encoded together.
        await asyncio.sleep(STEP)
        with suppress(TimeoutError):
            # `asyncio.wait_for` of Python 3.11 loses a cancellation that comes together with the change.
            async with asyncio.timeout(max(0.0, self._next() - self.monotonic())):
                await self.store.has_changed.wait()

    def _next(self) -> float:
        """Return when the next generation is due."""
        return self._rendered + (self._pause if self._is_behind else LONGEST_GAP)

    async def step(self) -> None:
        """Encode what has changed, and build a generation if one is due."""
        # Encode changes early and in small numbers, so that their objects can be freed.
        await self._take()
        if self.monotonic() >= self._next():
            await self.render()

    async def _take(self) -> None:
        if changes := self.store.changes():
            self._is_behind = True
            began = self.monotonic()
            await blocking(self.thread, self.exposition.take, changes)
            self._rendering += self.monotonic() - began

    async def render(self) -> None:
        """Build the next generation from all changes, without what has expired, and make it the current one."""
        self.store.expire()
        await self._take()
        began = self.monotonic()
        self._is_behind = False
        self.current = await blocking(self.thread, self.exposition.build)
        self._rendered = now = self.monotonic()
        self._pause = min(LONGEST_GAP, max(SHORTEST_GAP, (now - began) * PAUSE_FACTOR))
        self.telemetry.render.set(self._rendering + now - began)
        self._rendering = 0.0
        self.telemetry.series.set(self.current.series)

    def is_alive(self) -> bool:
        """Return whether a generation was built recently."""
        return self.monotonic() - self._rendered < LONGEST_SILENCE

    async def select(self, wanted: Filter, form: Format, *, gzip: bool = False) -> bytes:
        """Return the part of the exposition that a filter selects, compressed as a gzip member if asked for."""
        selected = await blocking(self.thread, self.exposition.select, wanted, form)
        return await blocking(self.thread, igzip.compress, selected, DEFLATE_LEVEL) if gzip else selected
