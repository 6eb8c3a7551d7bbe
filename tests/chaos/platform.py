"""A sandbox that all exporters share; it records the calls of each, and advances its time on demand."""

import random
import re
import time
from datetime import UTC, datetime, timedelta

from starlette.types import ASGIApp, Receive, Scope, Send

from exporter.sandbox.app import create_app
from exporter.sandbox.clock import WorldClock
from exporter.sandbox.faults import Faults
from exporter.sandbox.server import SandboxServer
from exporter.sandbox.world import World
from exporter.targets.sharding import Share
from exporter.targets.target import TargetKey
from tests.chaos.calls import Call

# Two days before the end of a month.
START = datetime(2026, 1, 29, 6, 0, tzinfo=UTC).timestamp()
STEP_SECONDS = 60.0
ACCOUNT = "main"
# The calls that poll a target; all others list what there is.
_POLLS = re.compile(
    r"/(?:dnszone/(?P<dns_zone>\d+)/statistics|compute/script/(?P<script>\d+)|shield/metrics/rate-limit/(?P<rate_limit>\d+))"
)


class _Noted:
    """Records the requests to an application."""

    def __init__(self, app: ASGIApp, exporter: str, calls: list[Call]) -> None:
        self._app = app
        self._exporter = exporter
        self._calls = calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._calls.append(Call(time.time(), self._exporter, scope["path"]))
        await self._app(scope, receive, send)


class Platform:
    """One world with a separate server for each exporter.

    Args:
        zones: the number of DNS zones.
        scripts: the number of scripts.
        shields: how many shield zones.
        chance: the random numbers for events on the platform.

    Attributes:
        calls: all calls, in the order of their time.
    """

    def __init__(self, zones: int, scripts: int, shields: int, chance: random.Random) -> None:
        clock = WorldClock(START, speed=0)
        self.world = World(1, clock, zones, scripts, shields, healthy=True)
        self._chance = chance
        self._zones = list(self.world.dns.zones)
        self._parents = {str(limit): str(zone) for limit, _, zone in self.world.rate_limit_ids()}
        self.calls: list[Call] = []
        self._servers: list[SandboxServer] = []

    async def url_for(self, exporter: str) -> str:
        """Begin to serve an exporter; return the address for it."""
        app = create_app(self.world, Faults())
        app.add_middleware(_Noted, exporter, self.calls)
        server = SandboxServer(app)
        await server.start()
        self._servers.append(server)
        return server.url

    async def stop(self) -> None:
        """Stop all servers."""
        for server in self._servers:
            await server.stop()
        self.world.close()

    def shard_of(self, path: str, total: int) -> int | None:
        """Return the shard, of `total`, whose target a call polls; None if it polls none."""
        found = _POLLS.fullmatch(path)
        if found is None or found.lastgroup is None:
            return None
        target = TargetKey.of(ACCOUNT, found.lastgroup, found[found.lastgroup])
        return Share(frozenset(), total).owner_of(target, self._parents.get(target.id, ""))

    def move(self) -> None:
        """Advance by a minute; add queries to some zones, also on days before today."""
        clock = self.world.clock
        # Today does not end here: what happens last in it would be seen by some and not by others.
        if (clock.now() + STEP_SECONDS) // 86400 == clock.now() // 86400:
            clock.advance(STEP_SECONDS)
        today = datetime.fromtimestamp(clock.now(), UTC).date()
        for zone in self._chance.sample(self._zones, max(1, len(self._zones) // 10)):
            day = today - timedelta(days=self._chance.choice((0, 0, 0, 1, 3)))
            self.world.dns.add_queries(zone, self._chance.randrange(1, 50), day)

    def fall(self) -> None:
        """Remove queries from a past day; its counters must not fall."""
        today = datetime.fromtimestamp(self.world.clock.now(), UTC).date()
        for zone in self._chance.sample(self._zones, max(1, len(self._zones) // 10)):
            self.world.dns.add_queries(zone, -self._chance.randrange(1, 20), today - timedelta(days=1))

    def next_day(self) -> None:
        """End the day, and with the third one the month."""
        clock = self.world.clock
        clock.advance((clock.now() // 86400 + 1) * 86400 + 1800 - clock.now())
