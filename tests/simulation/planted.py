"""Faults that are planted into the daemon: each replaces a function, and the simulation must find it."""

import asyncio
import itertools
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import Any
from unittest.mock import AsyncMock, patch

from exporter.targets.target import PollKey

# A function → the one in its place.
Plant = Callable[[Any], Any]


def _calling(is_called: Callable[[int], object]) -> Plant:
    """Make only those calls of a function for whose number, from 0 on, this is true."""

    def plant(function: Any) -> Any:
        numbers = itertools.count()
        return lambda *args, **named: function(*args, **named) if is_called(next(numbers)) else None

    return plant


def _at_once(_next_attempt: Any) -> Any:
    async def next_attempt(ledger: Any) -> None:
        ledger._rows.update(ledger._unsaved)  # noqa: SLF001 - a fault

    return next_attempt


def _without_a_zone(take_in: Any) -> Any:
    return lambda ledger, rows: take_in(ledger, {key: row for key, row in rows.items() if key.target.id != "101"})


def _with_the_latest(count: Any) -> Any:
    def counting_latest(self: Any, source: Any, *args: Any, **named: Any) -> Any:
        days = {day - self.first_day: held for day, held in source.days.items()}
        self.highs.update({day: held for day, held in days.items() if day in self.highs})
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


def _ending_at_night(render: Any) -> Any:
    async def ending(self: Any) -> None:
        assert self.store.wall() % 86_400 > 600
        await render(self)

    return ending


def _believing(fail: Any) -> Any:
    def believing(self: Any, collector: str, outcome: Any, **named: Any) -> None:
        fail(self, collector, outcome, **named)
        status = self.statuses[PollKey(outcome.target.key, collector)]
        status.expires += self.lifetime(collector, outcome.target)

    return believing


# The effect of the fault → the function, and what replaces it.
PLANTS: Mapping[str, tuple[str, Plant]] = {
    "lose every second commit": ("counters.state_file:FileStorage._commit", _calling(lambda number: number % 2)),
    "publish before the commit": ("counters.ledger:Ledger._next_attempt", _at_once),
    "count the first day in full": (
        "counters.counting:begin_days",
        lambda f: lambda source, today, _since, oldest: f(source, today, today, oldest),
    ),
    "keep the old definition": ("counters.counting:digest_of", lambda f: lambda _address, declared: f("", declared)),
    "drop the polls of a target": (
        "polling.schedule:Schedule._put",
        lambda f: lambda s, name, target, at: f(s, name, target, at if target.id != "102" else math.inf),
    ),
    "take a short list for a whole one": (
        "collectors.discovery:ResourceList",
        lambda f: lambda found, _complete: f(found, complete=True),
    ),
    "remove after one list": (
        "targets.resource_lists:KnownResources.merge",
        lambda f: lambda *found: (f(*found), f(*found)),
    ),
    "use the wall clock for a deadline": (
        "daemon.work:Store",
        lambda f: lambda wall, _monotonic, *a: f(wall, wall, *a),
    ),
    "never let a value expire": ("exposition.store:Store.expire", lambda _: lambda _self: []),
    "forget a row at the start": ("counters.ledger:Ledger._take_in", _without_a_zone),
    "ignore the budget": ("platform.http.rate_limiter:RateLimiter._wait_for_slot", lambda _: AsyncMock()),
    "keep the series of a removed zone": (
        "exposition.store:Store.remove",
        lambda f: lambda s, target, *a: target.kind == "dns_zone" or f(s, target, *a),
    ),
    "keep families that a reload denies": (
        "exposition.exposition:Exposition.declare",
        lambda f: lambda s, families, _admits: f(s, families, lambda _name: True),
    ),
    "poll scripts too rarely": (
        "polling.pace:Pace.interval",
        lambda f: lambda s, plan, one: f(s, plan, one) * (1 + 50 * (one.kind == "script")),
    ),
    "count no late rise of a day": (
        "counters.days:DaySeries._changed",
        lambda f: lambda s, *args: {day: min(held, s.highs.get(day, held)) for day, held in f(s, *args).items()},
    ),
    "take a new month for a correction": ("counters.months:_fall", lambda _: lambda s, *_args: (s, 1)),
    "let a counter fall with its day": ("counters.days:DaySeries.count", _with_the_latest),
    "leave a task behind": ("daemon.daemon:Daemon.stop", _leaving_a_task),
    "leave a zone out of service discovery": ("web.app:discover", _without_the_last),
    "ask with another key": (
        "platform.http.credential:Credential.current_key",
        lambda _: AsyncMock(return_value="another"),
    ),
    "let the ticks end": ("polling.poll:Poller.tick", lambda _: AsyncMock()),
    "take no further targets": (
        "polling.schedule:Schedule._schedule_changed_targets",
        _calling(lambda number: number < 2),
    ),
    "never end a call": ("polling.schedule:Schedule.answered", lambda _: lambda *_args: None),
    "expire too early": ("polling.schedule:Schedule.lifetime", lambda f: lambda *args: f(*args) / 10),
    "trust this machine's clock": (
        "polling.poll:PollRecord",
        lambda f: (
            lambda key, name, wall, counts, _now, *rest: f(
                key, name, wall, counts, datetime.fromtimestamp(wall, UTC), *rest
            )
        ),
    ),
    "believe a failure": ("exposition.store:Store.fail", _believing),
    "serve less after a restart": (
        "counters.ledger:served",
        lambda f: lambda families, counts: tuple(f(families, counts)) if len(families) > 1 else (),
    ),
    "poll what is excluded": ("targets.selection:Selection.rejection", lambda _: lambda *_args: None),
    "drop every third change": ("exposition.store:Store.publish", _calling(lambda number: (number + 1) % 3)),
    "let the renderer end": ("exposition.renderer:Renderer.render", _ending_at_night),
}


def planted(name: str) -> AbstractContextManager[Any]:
    """Replace a function while a block runs."""
    path, plant = PLANTS[name]
    return patch(f"exporter.{path.replace(':', '.')}", plant(resolve_name(f"exporter.{path}")))
