"""Daemons that share the targets of one sandbox."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from exporter.commands.local_platform import listed
from exporter.counters.state_file import StateFile
from exporter.daemon.daemon import Daemon
from exporter.sandbox import keys
from exporter.sandbox.world import World
from exporter.settings.model import Settings
from exporter.targets.target import PollKey
from tests.exporter_parts import account_at, flushed, poll_now, sandbox, still
from tests.waiting import PATIENCE, until

# Each process tells these of itself.
OWN = ("edge_exporter_", "edge_api_", "process_", "python_")
MEANWHILE = ("_timestamp_seconds", "_duration_seconds")


@dataclass
class ShardedDaemons:
    """A sandbox, and the folder of its shards' state."""

    url: str
    world: World
    folder: Path
    more: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, index: int, total: int) -> Settings:
        """Return the settings of one shard."""
        named = {"searches": ["prod", "shop"], "rate_limits": [{"id": 3, "name": "login"}]}
        account = account_at(self.url, **(listed(self.world) | named))
        queries = [{"name": f"orders_{number}", "sql": "SELECT 1 AS value", "value": "value"} for number in range(3)]
        database = {"name": "orders", "url": self.url, "auth_token": keys.DATABASE_TOKEN_READ_ONLY, "queries": queries}
        return Settings.model_validate(
            {
                "accounts": [account, {**account, "name": "second", "rate_limits": []}],
                "databases": [database],
                "state": {"path": str(self.state(index))},
                "web": {"listen": "127.0.0.1:0"},
                "shard": {"index": index, "total": total},
                **self.more,
            }
        )

    def state(self, index: int) -> Path:
        """Return the state file of the pod with this ordinal, for any total."""
        return self.folder / f"state-{index}.db"

    def rows(self, index: int) -> set[PollKey]:
        """Return the rows of a state file that no daemon uses."""
        with closing(StateFile(self.state(index))) as file:
            return {key for key, _ in file.rows()}

    @asynccontextmanager
    async def running(self, total: int) -> AsyncIterator[list["Pod"]]:
        """Run all shards of a total, until their first round has ended."""
        async with AsyncExitStack() as stack:
            pods = [await stack.enter_async_context(self.pod(index, total)) for index in range(total)]
            for pod in pods:
                await pod.settle()
            yield pods

    @asynccontextmanager
    async def pod(self, index: int, total: int) -> AsyncIterator["Pod"]:
        """Run one shard."""
        settings = self.settings(index, total)
        daemon = await Daemon.start(settings, lambda: settings)
        try:
            yield Pod(daemon)
        finally:
            await daemon.stop()


@dataclass
class Pod:
    """A daemon that runs."""

    daemon: Daemon

    async def settle(self) -> None:
        """Wait until all due targets are polled, counted and rendered."""
        await until(self.daemon.schedule.all_discovered)
        async with asyncio.timeout(PATIENCE):
            for _ in range(3):
                await self.daemon.schedule.drained()
                await flushed(self.daemon.ledger)
                await asyncio.sleep(0)
        await self.daemon.renderer.render()

    async def poll_again(self, collector: str) -> None:
        """Poll every target of a collector now."""
        poll_now(self.daemon.schedule, collector)
        await self.settle()

    async def series(self) -> dict[str, float]:
        """Return the platform's series → value."""
        async with httpx.AsyncClient(base_url=self.daemon.server.url, trust_env=False) as client:
            text = (await client.get("/metrics")).text
        lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith(("#", *OWN)))
        return {series: float(value) for series, _, value in lines}


@asynccontextmanager
async def sharded_daemons(
    folder: Path, *, zones: int = 20, shield_zones: int = 6, **more: object
) -> AsyncIterator[ShardedDaemons]:
    """Daemons on a sandbox whose time moves only when a test sets it."""
    async with sandbox(still(dns_zones=zones, shield_zones=shield_zones)) as platform:
        yield ShardedDaemons(platform.url, platform.world, folder, more)
