"""Daemons that share the targets of one sandbox."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from exporter.commands.demo import named_resources
from exporter.sandbox import keys
from exporter.sandbox.world import World
from exporter.settings.model import Settings
from tests.counters.sandboxed_daemons import RunningDaemon, running_daemon
from tests.exporter_parts import account_at, sandbox, still
from tests.waiting import until

# Each process tells these of itself.
OWN = ("edge_exporter_", "edge_api_", "edge_targets", "edge_window_mismatched_targets", "process_", "python_")
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
        account = account_at(self.url, **(named_resources(self.world) | named))
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

    @asynccontextmanager
    async def running(self, total: int) -> AsyncIterator[list[RunningDaemon]]:
        """Run all shards of a total, until their first round has ended."""
        async with AsyncExitStack() as stack:
            pods = [
                await stack.enter_async_context(running_daemon(partial(self.settings, index, total)))
                for index in range(total)
            ]
            for pod in pods:
                await until(pod.daemon.work.schedule.all_discovered)
                await pod.settle()
            yield pods


async def series_of(pod: RunningDaemon) -> dict[str, float]:
    """Return the platform's series of a shard → value."""
    lines = (line.rpartition(" ") for line in (await pod.text()).splitlines() if not line.startswith(("#", *OWN)))
    return {series: float(value) for series, _, value in lines}


@asynccontextmanager
async def sharded_daemons(folder: Path, *, zones: int = 20) -> AsyncIterator[ShardedDaemons]:
    """Daemons on a sandbox whose time moves only when a test sets it."""
    async with sandbox(still(dns_zones=zones, shield_zones=6)) as platform:
        yield ShardedDaemons(platform.url, platform.world, folder)
