"""Faults that are planted into the daemon, each one function in place of another: the simulation must find each."""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pkgutil import resolve_name
from typing import Any
from unittest.mock import AsyncMock, patch

# A function → the one in its place.
Plant = Callable[[Any], Any]


def _every_second(commit: Any) -> Any:
    numbers = itertools.count()
    return lambda file, rows: commit(file, rows) if next(numbers) % 2 else None


def _always_saved(save: Any) -> Any:
    async def saved(ledger: Any) -> bool:
        await save(ledger)
        return True

    return saved


def _without_a_zone(taken_in: Any) -> Any:
    async def forgetting(*args: Any) -> Any:
        found, changed = await taken_in(*args)
        return {key: row for key, row in found.items() if key.target.id != "101"}, changed

    return forgetting


def _with_the_latest(count: Any) -> Any:
    def counting_latest(self: Any, source: Any, *args: Any, **named: Any) -> Any:
        self.highs.update({day: held for day, held in source.days.items() if day in self.highs})
        return count(self, source, *args, **named)

    return counting_latest


def _leaving_a_task(stop: Any) -> Any:
    async def leaving(daemon: Any) -> None:
        await stop(daemon)
        daemon.left = asyncio.create_task(asyncio.sleep(3600))

    return leaving


def _without_the_last(discover: Any) -> Any:
    def leaving_out(*args: Any) -> Any:
        found, unknown = discover(*args)
        return list(found)[:-1], unknown

    return leaving_out


def _ending_at_night(step: Any) -> Any:
    async def ending(self: Any) -> None:
        assert self.store.wall() % 86_400 > 600
        await step(self)

    return ending


# What it does → the function, and what is put in its place.
PLANTS: Mapping[str, tuple[str, Plant]] = {
    "lose every second commit": ("counters.state_file:StateFile.commit", _every_second),
    "publish before the commit": ("counters.ledger:Ledger._save", _always_saved),
    "count the first day in full": (
        "counters.series:DaySeries._begin_day",
        lambda f: lambda *a, **_first: f(*a, first=False),
    ),
    "keep the old definition": ("counters.counting:digest_of", lambda f: lambda _address, declared: f("", declared)),
    "drop the polls of a target": (
        "polling.scheduler:WorkerPool.offer",
        lambda f: lambda s, run, by: run.target.id != "102" and f(s, run, by),
    ),
    "take a short list for a whole one": (
        "collectors.discovery:ResourceList",
        lambda f: lambda found, _complete: f(found, complete=True),
    ),
    "remove after one list": ("targets.registry:LISTINGS_UNTIL_GONE", lambda _two: 1),
    "use the wall clock for a deadline": (
        "daemon.polling:Store",
        lambda f: lambda wall, _monotonic, *a: f(wall, wall, *a),
    ),
    "never let a value expire": ("exposition.store:Store.expire", lambda _: lambda _self: []),
    "forget a row at the start": ("counters.ledger:Ledger._taken_in", _without_a_zone),
    "ignore the budget": ("platform.http.rate_limiter:RateLimiter._take_token", lambda _: AsyncMock()),
    "keep the series of a removed zone": (
        "exposition.store:Store.remove",
        lambda f: lambda s, target, *a: target.kind == "dns_zone" or f(s, target, *a),
    ),
    "keep families that a reload denies": (
        "exposition.exposition:Exposition.declare",
        lambda f: lambda s, families, _admits=None: f(s, families),
    ),
    "poll scripts too rarely": (
        "polling.timetable:DueTimes.begun",
        lambda f: lambda s, plan, one, wait, now: f(s, plan, one, wait * (1 + 50 * (one.kind == "script")), now),
    ),
    "count no late rise of a day": ("counters.series:DaySeries._raise_day", lambda _: lambda *_args: None),
    "take a new month for a correction": ("counters.months:MonthSeries._fall", lambda _: lambda *_a, **_named: 1),
    "let a counter fall with its day": ("counters.series:DaySeries.count", _with_the_latest),
    "leave a task behind": ("daemon.daemon:Daemon.stop", _leaving_a_task),
    "leave a zone out of service discovery": ("web.app:discover", _without_the_last),
    "let the renderer end": ("exposition.renderer:Renderer.step", _ending_at_night),
}


def planted(name: str) -> AbstractContextManager[Any]:
    """Replace a function while a block runs."""
    path, plant = PLANTS[name]
    return patch(f"exporter.{path.replace(':', '.')}", plant(resolve_name(f"exporter.{path}")))
