"""Renders the generations of the exposition on a thread, and keeps the current one."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field

from isal import igzip

from exporter.blocking import blocking
from exporter.exposition.compressed_segments import DEFLATE_LEVEL
from exporter.exposition.exposition import Exposition, Filter, Format, Generation
from exporter.exposition.store import Store, Update
from exporter.targets.target import PollKey
from exporter.telemetry import Telemetry

SHORTEST_GAP = 1.0
# The longest wait between two renderings: the program's own metrics also change while no target changes.
LONGEST_GAP = 5.0
# If there is no new generation for this many seconds, the renderer counts as stalled.
LONGEST_SILENCE = 60.0


@dataclass(eq=False, repr=False)
class Renderer:
    """Keeps the current generation, and replaces it when the next generation is complete.

    Attributes:
        exposition: after `__init__`, it is used on `thread` only.
        store: where changes are taken from, on the event loop.
        thread: an executor of one thread.
    """

    exposition: Exposition
    store: Store
    telemetry: Telemetry
    monotonic: Callable[[], float]
    thread: Executor
    current: Generation = field(init=False)
    _rendered_at: float = 0.0

    def __post_init__(self) -> None:
        self.current = self.exposition.build()

    async def wait(self) -> None:
        """Wait for `SHORTEST_GAP` and then for a change of a target, together at most `LONGEST_GAP`."""
        await asyncio.sleep(SHORTEST_GAP)
        with suppress(TimeoutError):
            # `asyncio.wait_for` of Python 3.11 loses a cancellation that comes together with the change.
            async with asyncio.timeout(LONGEST_GAP - SHORTEST_GAP):
                await self.store.has_changed.wait()

    async def render(self) -> None:
        """Build a generation with the changes of the store and without expired values; make it the current one."""
        self.store.expire()
        began = self.monotonic()
        self.current = await blocking(self.thread, self._build_next, self.store.take_changes())
        self._rendered_at = self.monotonic()
        self.telemetry.render.set(self._rendered_at - began)
        self.telemetry.series.set(self.current.series)

    def _build_next(self, changes: Mapping[PollKey, Update]) -> Generation:
        self.exposition.take(changes)
        return self.exposition.build()

    def is_alive(self) -> bool:
        """Return whether `render` built a generation within the last `LONGEST_SILENCE` seconds."""
        return self.monotonic() - self._rendered_at < LONGEST_SILENCE

    async def select(self, wanted: Filter, form: Format, *, gzip: bool = False) -> bytes:
        """Return the part of the exposition that a filter selects, compressed if `gzip` is set."""
        selected = await blocking(self.thread, self.exposition.select, wanted, form)
        return await blocking(self.thread, igzip.compress, selected, DEFLATE_LEVEL) if gzip else selected
