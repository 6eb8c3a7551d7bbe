"""Exporters as separate processes that share a sandbox and a state database, and the sum of what they serve."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.counters.exporter_process import Exporter
from tests.counters.sandboxed_daemons import SandboxedDaemons, sandboxed_daemons
from tests.exporter_parts import account_at
from tests.postgres import Postgres
from tests.waiting import PATIENCE

QUERIES = "edge_dns_queries_total"
ZONES = (101, 102, 103)


class SharingProcesses:
    """Processes that share a sandbox and a state database."""

    def __init__(self, sandboxed: SandboxedDaemons, folder: Path, url: str) -> None:
        self.sandboxed = sandboxed
        self.url = url
        self._folder = folder

    def settings(self, **shard: int | str) -> dict[str, Any]:
        """Return the settings of an exporter that polls every second, without its state."""
        return {
            "accounts": [account_at(self.sandboxed.sandbox.url)],
            "web": {"listen": "127.0.0.1:0"},
            "shard": shard or {"index": 0, "total": 1},
            "collectors": {"dns_statistics": {"interval": "1s"}},
            "log": {"format": "json"},
        }

    @asynccontextmanager
    async def exporter(
        self, name: str, *, lease: str = "5s", url: str = "", **shard: int | str
    ) -> AsyncIterator[Exporter]:
        """Start a process that polls every second; `url` is another way to the database."""
        settings = self.settings(**shard) | {"state": {"url_file": "url", "lease": lease, "installation": "shop"}}
        exporter = await asyncio.to_thread(Exporter, settings, self._folder / name, database=url or self.url)
        try:
            yield exporter
        finally:
            if exporter.is_running():
                await asyncio.to_thread(exporter.end, signal.SIGKILL)

    def serve(self, queries: int) -> None:
        """Add queries to every zone on the platform."""
        for zone in ZONES:
            self.sandboxed.world.dns.add_queries(zone, queries)


@asynccontextmanager
async def sharing_processes(folder: Path, postgres: Postgres) -> AsyncIterator[SharingProcesses]:
    """Run a sandbox and a new database for exporters that keep their files in a folder."""
    async with sandboxed_daemons(folder) as sandboxed:
        yield SharingProcesses(sandboxed, folder, postgres.new_database())


async def until(is_true: Callable[[], Awaitable[bool]]) -> None:
    """Wait until scrapes satisfy a condition."""
    async with asyncio.timeout(PATIENCE):
        # Only a scrape shows it.
        while not await is_true():  # noqa: ASYNC110
            await asyncio.sleep(0.3)


async def served(*exporters: Exporter) -> list[tuple[str, float]]:
    """Return the zones that exporters serve, with their queries."""
    samples = [await asyncio.to_thread(exporter.samples, QUERIES, "zone_id") for exporter in exporters]
    return sorted(sample for own in samples for sample in own.items())


async def until_all(*exporters: Exporter) -> None:
    """Wait until each zone is served by one of the exporters."""

    async def are_all() -> bool:
        return [int(zone) for zone, _ in await served(*exporters)] == list(ZONES)

    await until(are_all)


async def until_total(expected: float, *exporters: Exporter) -> None:
    """Wait until each zone is served by one of the exporters, and their queries have this sum."""

    async def is_total() -> bool:
        zones = await served(*exporters)
        return [int(zone) for zone, _ in zones] == list(ZONES) and sum(count for _, count in zones) == expected

    await until(is_total)
