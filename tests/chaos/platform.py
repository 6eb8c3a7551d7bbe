"""A sandbox that all exporters share, which counts the calls of each side and moves when it is told to."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.faults import Faults
from exporter.sandbox.server import SandboxServer
from exporter.sandbox.world import World

# Two days before the end of a month.
START = datetime(2026, 1, 29, 6, 0, tzinfo=UTC).timestamp()
STEP_SECONDS = 60.0


class _Counted:
    """Counts the requests to an application."""

    def __init__(self, app: ASGIApp, calls: Counter[str]) -> None:
        self._app = app
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._calls[scope["path"]] += 1
        await self._app(scope, receive, send)


class Platform:
    """One world behind two servers: one for the replicas, one for the exporter that they are compared with.

    Args:
        zones: how many DNS zones there are.
        scripts: how many scripts.
        shields: how many shield zones.
        chance: decides what happens on the platform.
    """

    def __init__(self, zones: int, scripts: int, shields: int, chance: random.Random) -> None:
        clock = WorldClock(START, speed=0)
        self.world = World(1, clock, zones, scripts, shields, healthy=True)
        self._chance = chance
        self._zones = list(self.world.dns.zones)
        self._calls: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        self._servers = [self._server(calls) for calls in self._calls]

    def _server(self, calls: Counter[str]) -> SandboxServer:
        app = create_app(self.world, Faults())
        app.add_middleware(_Counted, calls)
        return SandboxServer(app)

    async def start(self) -> None:
        """Serve."""
        for server in self._servers:
            await server.start()

    async def stop(self) -> None:
        """End."""
        for server in self._servers:
            await server.stop()
        self.world.close()

    @property
    def urls(self) -> tuple[str, str]:
        """Where the replicas find it, and where the other exporter does."""
        return self._servers[0].url, self._servers[1].url

    @property
    def calls(self) -> tuple[int, int]:
        """How many calls the replicas made, and how many the other exporter."""
        return self._calls[0].total(), self._calls[1].total()

    def move(self) -> None:
        """Let a minute pass; queries come to some zones, to days before today, too."""
        clock = self.world.clock
        # Today does not end here: what happens last in it would be seen by some and not by others.
        if (clock.now() + STEP_SECONDS) // 86400 == clock.now() // 86400:
            clock.advance(STEP_SECONDS)
        today = datetime.fromtimestamp(clock.now(), UTC).date()
        for zone in self._chance.sample(self._zones, max(1, len(self._zones) // 10)):
            day = today - timedelta(days=self._chance.choice((0, 0, 0, 1, 3)))
            self.world.dns.add_queries(zone, self._chance.randrange(1, 50), day)

    def fall(self) -> None:
        """Take queries away from a day that has passed: its counters stand."""
        today = datetime.fromtimestamp(self.world.clock.now(), UTC).date()
        for zone in self._chance.sample(self._zones, max(1, len(self._zones) // 10)):
            self.world.dns.add_queries(zone, -self._chance.randrange(1, 20), today - timedelta(days=1))

    def next_day(self) -> None:
        """Let the day end, and with the third one the month."""
        clock = self.world.clock
        clock.advance((clock.now() // 86400 + 1) * 86400 + 1800 - clock.now())
