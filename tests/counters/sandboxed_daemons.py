"""Runs a daemon on a sandbox, over real sockets; tests decide when it polls."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from exporter.clock import Clocks
from exporter.daemon.daemon import Daemon
from exporter.daemon.machine import Machine
from exporter.settings.model import Settings
from tests.counters.exporter_process import samples_of
from tests.exporter_parts import Sandbox, account_at, poll_now, sandbox, settled, still, undelayed
from tests.waiting import until

POLLED_BY_HAND = ("dns_statistics", "scripts", "shield_rate_limits", "discovery")


class RunningDaemon(NamedTuple):
    """A daemon that runs, and a client of its endpoints."""

    daemon: Daemon
    client: httpx.AsyncClient

    async def poll(self, *collectors: str) -> None:
        """Poll all targets of some collectors now, and render the results."""
        for name in collectors:
            await poll_now(self.daemon.work, name)
        await self.settle()

    async def settle(self) -> None:
        """Wait until polls have ended, and are counted and rendered."""
        await settled(self.daemon.work)

    async def text(self) -> str:
        """Return `/metrics`."""
        return (await self.client.get("/metrics")).text

    async def samples(self, family: str, label: str) -> dict[str, float]:
        """Return the values of a family on `/metrics`, by one of its labels."""
        return samples_of(await self.text(), family, label)


@asynccontextmanager
async def running_daemon(load: Callable[[], Settings], clocks: Clocks | None = None) -> AsyncIterator[RunningDaemon]:
    """Run a daemon whose settings are loaded at the start and at each reload."""
    with undelayed():
        daemon = await Daemon.start(load(), load, Machine(clocks or Clocks()))
    try:
        async with httpx.AsyncClient(base_url=daemon.server.url, trust_env=False) as client:
            yield RunningDaemon(daemon, client)
    finally:
        await daemon.stop()


class SandboxedDaemons:
    """A sandbox whose time does not pass, and daemons on it with the same state file.

    Attributes:
        later: seconds by which the daemons' wall clock is ahead of the machine's.
    """

    def __init__(self, folder: Path, platform: Sandbox) -> None:
        self.state = folder / "state.db"
        self.world = platform.world
        self.faults = platform.faults
        self.sandbox = platform
        self.account: dict[str, Any] = {}
        self.later = 0.0
        self.retention: str | None = None

    def settings(self) -> Settings:
        """Return the present settings."""
        return Settings.model_validate(
            {
                "accounts": [account_at(self.sandbox.url, **{"timeout": "30s", **self.account})],
                "web": {"listen": "127.0.0.1:0"},
                "state": {"path": str(self.state), "retention": self.retention},
                "collectors": {name: {"interval": "3600s"} for name in POLLED_BY_HAND},
            }
        )

    @asynccontextmanager
    async def daemon(self, *, first_round: bool = True) -> AsyncIterator[RunningDaemon]:
        """Run a daemon, by default until its first round of polls has ended."""
        async with running_daemon(self.settings, Clocks(wall=lambda: time.time() + self.later)) as running:
            if first_round:
                schedule = running.daemon.work.schedule
                await until(schedule.all_discovered)
                await running.settle()
            yield running


@asynccontextmanager
async def sandboxed_daemons(folder: Path) -> AsyncIterator[SandboxedDaemons]:
    """Run a sandbox for daemons that keep their state in a folder."""
    async with sandbox(still(dns_zones=3, scripts=1, shield_zones=1)) as platform:
        yield SandboxedDaemons(folder, platform)
