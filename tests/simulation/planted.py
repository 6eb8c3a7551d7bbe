"""Faults that are planted into the daemon, each one function in place of another: the simulation must find each.

`make simulate PLANTED=all` prints how long that takes.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

from exporter.clock import PlatformTime
from exporter.collectors import discovery as listing
from exporter.counters import counting, state_file
from exporter.counters.ledger import Ledger
from exporter.counters.months import MonthSeries
from exporter.counters.series import DaySeries, Poll
from exporter.counters.storage import StorageError
from exporter.daemon import polling
from exporter.daemon.daemon import Daemon
from exporter.exposition.exposition import Exposition
from exporter.exposition.renderer import Renderer
from exporter.exposition.store import Store
from exporter.platform.http.rate_limiter import RateLimiter
from exporter.polling.scheduler import Schedule, WorkerPool
from exporter.targets import registry
from exporter.targets.target import PollKey, Target
from exporter.web import app

# What is replaced: where it stands, its name, and what returns the planted one for it.
Plant = tuple[Any, str, Callable[[Any], Any]]


def _nothing(_real: Any) -> Any:
    return lambda *_args, **_named: None


def _every_second(real: Any) -> Any:
    numbers = itertools.count()
    return lambda file, rows: real(file, rows) if next(numbers) % 2 else None


def _as_if_saved(_real: Any) -> Any:
    async def save(self: Ledger) -> bool:
        try:
            await self._storage.commit(self._unsaved)
        except StorageError:
            return True
        self._rows.update({key: row for key, row in self._unsaved.items() if row is not None})
        self._unsaved = {}
        return True

    return save


def _without_baseline(real: Any) -> Any:
    return lambda *args, **_first: real(*args, first=False)


def _of_any_address(real: Any) -> Any:
    return lambda _address, declared: real("http://platform.example", declared)


def _always_busy(real: Any) -> Any:
    def offer(self: WorkerPool, run: Any, begin_by: float) -> bool:
        began = real(self, run, begin_by)
        if run.target.id == "102":
            self.busy = _Keeping(self.busy, PollKey(run.target.key, run.collector.name))
        return bool(began)

    return offer


class _Keeping(set[PollKey]):
    """Keeps one of its items for ever."""

    def __init__(self, items: set[PollKey], kept: PollKey) -> None:
        super().__init__(items)
        self.kept = kept

    def discard(self, element: object) -> None:
        if element != self.kept:
            super().discard(element)


def _always_complete(real: Any) -> Any:
    return lambda resources, _complete: real(resources, True)  # noqa: FBT003 - in its own order


def _by_the_wall_clock(real: Any) -> Any:
    return lambda wall, _monotonic, *rest: real(wall, wall, *rest)


def _with_the_first_forgotten(real: Any) -> Any:
    async def taken_in(self: Ledger, rows: dict[PollKey, Any]) -> Any:
        found, changed = await real(self, rows)
        return {key: row for key, row in found.items() if key.target.id != "101"}, changed

    return taken_in


def _admitting_all(real: Any) -> Any:
    return lambda self, families, _admits=None: real(self, families)


def _this_machines(_real: Any) -> Any:
    return lambda self, _date: datetime.fromtimestamp(self._wall(), UTC)


def _only_corrections(_real: Any) -> Any:
    return lambda *_args, **_named: 1


def _latest(real: Any) -> Any:
    def count(self: DaySeries, source: Any, poll: Poll, *, first: bool = False) -> int:
        self.highs.update({day: held for day, held in source.days.items() if day in self.highs})
        return int(real(self, source, poll, first=first))

    return count


def _leaving_a_task(real: Any) -> Any:
    async def stop(self: Daemon) -> None:
        await real(self)
        self.left = asyncio.create_task(asyncio.sleep(3600))  # type: ignore[attr-defined]

    return stop


def _without_the_last(real: Any) -> Any:
    def discover(*args: Any) -> Any:
        found, unknown = real(*args)
        return list(found)[:-1], unknown

    return discover


def _ticking_once(real: Any) -> Any:
    def tick(self: Schedule, name: str) -> None:
        if name == "scripts":
            self.due_times.make_due(name, lambda _target: False)
            if getattr(self, "ticked", False):
                return
            self.ticked = True  # type: ignore[attr-defined]
        real(self, name)

    return tick


def _dying_at_night(real: Any) -> Any:
    async def step(self: Renderer) -> None:
        if self.store.wall() % 86_400 < 600:
            raise RuntimeError("planted")
        await real(self)

    return step


def _forgetting_the_removed(real: Any) -> Any:
    def changed(self: Any, change: Any) -> None:
        real(self, change)
        gone = {target.key for target in change.removed}
        self._ledger.forget([key for key in self._ledger.remembered() if key.target in gone])

    return changed


def _never_removing(real: Any) -> Any:
    def remove(self: Store, target: Target, collector: str | None = None) -> None:
        if target.kind != "dns_zone":
            real(self, target, collector)

    return remove


PLANTS: dict[str, Plant] = {
    "lose every second commit": (state_file.StateFile, "commit", _every_second),
    "publish before the commit": (Ledger, "_save", _as_if_saved),
    "count the first day in full": (DaySeries, "_begin_day", _without_baseline),
    "keep the old definition": (counting, "digest_of", _of_any_address),
    "forget a busy target": (WorkerPool, "offer", _always_busy),
    "take a short list for a whole one": (listing, "ResourceList", _always_complete),
    "remove after one list": (registry, "LISTINGS_UNTIL_GONE", lambda _two: 1),
    "use the wall clock for a deadline": (polling, "Store", _by_the_wall_clock),
    "never let a value expire": (Store, "expire", lambda _real: lambda _self: []),
    "forget a row at the start": (Ledger, "_taken_in", _with_the_first_forgotten),
    "ignore the budget": (RateLimiter, "_take_token", lambda _real: _at_once),
    "keep the series of a removed target": (Store, "remove", _never_removing),
    "keep families that a reload denies": (Exposition, "declare", _admitting_all),
    "poll scripts only once": (Schedule, "tick", _ticking_once),
    "believe this machine's clock": (PlatformTime, "read", _this_machines),
    "take a new month for a correction": (MonthSeries, "_fall", _only_corrections),
    "forget the counters of a removed target": (polling.Polling, "_targets_changed", _forgetting_the_removed),
    "let a counter fall with its day": (DaySeries, "count", _latest),
    "leave a task behind": (Daemon, "stop", _leaving_a_task),
    "leave a zone out of service discovery": (app, "discover", _without_the_last),
    "let the renderer end": (Renderer, "step", _dying_at_night),
}


async def _at_once(_self: RateLimiter) -> None:
    """Take no token."""


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Replace a function while the block runs; nothing for an empty name."""
    if not name:
        yield
        return
    where, attribute, plant = PLANTS[name]
    with patch.object(where, attribute, plant(getattr(where, attribute))):
        yield
