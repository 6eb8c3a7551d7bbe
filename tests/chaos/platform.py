"""A sandbox that all exporters share; it counts the calls of each, and advances its time on demand."""

import random
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.sandbox.faults import Faults
from exporter.sandbox.sandbox_app import create_app
from tests.exporter_parts import served, still

# Two days before the end of a month.
START = datetime(2026, 1, 29, 6, 0, tzinfo=UTC).timestamp()
STEP_SECONDS = 60.0
DAY = 86400


class _Counted:
    """Counts the requests to an application."""

    def __init__(self, app: ASGIApp, exporter: str, calls: Counter[str]) -> None:
        self._app, self._exporter, self._calls = app, exporter, calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._calls[self._exporter] += scope["type"] == "http"
        await self._app(scope, receive, send)


class Platform:
    """One world with a separate server for each exporter.

    Args:
        zones: the number of DNS zones.
        scripts: the number of scripts.
        shields: how many shield zones.
        chance: the random numbers for events on the platform.

    Attributes:
        calls: the number of calls of each exporter.
    """

    def __init__(self, zones: int, scripts: int, shields: int, chance: random.Random) -> None:
        self.world = still(START, dns_zones=zones, scripts=scripts, shield_zones=shields, healthy=True)
        self.calls: Counter[str] = Counter()
        self._chance = chance
        self._zones = list(self.world.dns.zones)
        self._servers = AsyncExitStack()

    async def url_for(self, exporter: str) -> str:
        """Begin to serve an exporter; return the address for it."""
        app = create_app(self.world, Faults())
        app.add_middleware(_Counted, exporter, self.calls)
        return await self._servers.enter_async_context(served(app))

    async def stop(self) -> None:
        """Stop all servers."""
        await self._servers.aclose()
        self.world.close()

    def move(self) -> None:
        """Advance by a minute; add queries to some zones, also on days before today."""
        clock = self.world.clock
        # Today does not end here: what happens last in it would be seen by some and not by others.
        if (clock.now() + STEP_SECONDS) // DAY == clock.now() // DAY:
            clock.advance(STEP_SECONDS)
        self._add(lambda: (self._chance.randrange(1, 50), self._chance.choice((0, 0, 0, 1, 3))))

    def _add(self, draw: Callable[[], tuple[int, int]]) -> None:
        """Add a number of queries to a day so many days ago, for each of some zones."""
        today = datetime.fromtimestamp(self.world.clock.now(), UTC).date()
        for zone in self._chance.sample(self._zones, max(1, len(self._zones) // 10)):
            queries, ago = draw()
            self.world.dns.add_queries(zone, queries, today - timedelta(days=ago))
