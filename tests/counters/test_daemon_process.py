"""The daemon as a process: how it ends, and what the next process finds."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from exporter.sandbox import keys
from tests.counters.process import Exporter
from tests.counters.sandboxed_daemons import SandboxedDaemons
from tests.real_parts import PARTS, end_without, find
from tests.waiting import END_SECONDS, PATIENCE, until

QUERIES = "edge_dns_queries_total"


HANGING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    if (access(getenv("DISK_HANGS"), F_OK) == 0) {
        close(creat(getenv("DISK_HUNG"), 0600));
        for (;;) pause();
    }
    ssize_t (*write)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    return write(file, data, size, at);
}
"""


class HangingDisk:
    """A disk whose writes hang from a certain time on; SQLite's system calls are replaced."""

    def __init__(self, folder: Path) -> None:
        source, library = folder / "hanging.c", folder / "hanging.so"
        self._hangs, self._hung = folder / "hangs", folder / "hung"
        source.write_text(HANGING)
        built = subprocess.run(
            [find("cc"), "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True, check=False
        )
        if built.returncode != 0:  # a compiler without the headers of the C library
            end_without("the C library's headers", PARTS["cc"].install)
        self.prefix = (
            "env", f"LD_PRELOAD={library}", f"DISK_HANGS={self._hangs}", f"DISK_HUNG={self._hung}"
        )  # fmt: skip

    def hang(self) -> None:
        """Make every write hang from now on."""
        self._hangs.touch()

    async def hung(self) -> None:
        """Wait until a write hangs."""
        await until(self._hung.exists, "a write that hangs")


@pytest.fixture
def hanging_disk(tmp_path: Path) -> HangingDisk:
    return HangingDisk(tmp_path)


def settings(sandboxed: SandboxedDaemons) -> dict[str, Any]:
    """Settings with one account that is polled every second."""
    account = {
        "name": "main",
        "base_url": sandboxed.sandbox.url,
        "api_key": keys.API_KEY,
        "budget": {"requests_per_second": 1000, "max_in_flight": 8},
        "timeout": "600s",
    }
    return {
        "accounts": [account],
        "web": {"listen": "127.0.0.1:0"},
        "state": {"path": str(sandboxed.state)},
        "collectors": {"dns_statistics": {"interval": "1s"}},
    }


async def started(sandboxed: SandboxedDaemons) -> Exporter:
    """Start an exporter, and wait until it serves."""
    return await asyncio.to_thread(Exporter, settings(sandboxed), sandboxed.state.parent)


async def served(exporter: Exporter, zone: str, value: float) -> None:
    """Wait until a zone's counter has this value."""
    async with asyncio.timeout(PATIENCE):
        # Nothing tells of it from outside but a scrape.
        while (await asyncio.to_thread(exporter.samples, QUERIES, "zone_id")).get(zone) != value:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_sigterm_ends_it_though_polls_stall(sandboxed: SandboxedDaemons) -> None:
    exporter = await started(sandboxed)
    await served(exporter, "101", 0)
    sandboxed.faults.add({"kind": "stall", "point": "start"})
    sandboxed.faults.add({"kind": "stall", "point": "body"})
    await until(lambda: any(fault.hits for fault in sandboxed.faults.all()))
    await ends_in_time(exporter)
    assert exporter.events[-1] == "stopping"


async def test_sigterm_saves_what_was_counted(sandboxed: SandboxedDaemons) -> None:
    exporter = await started(sandboxed)
    await served(exporter, "101", 0)
    sandboxed.world.dns.add_queries(101, 7)
    await served(exporter, "101", 7)
    assert await asyncio.to_thread(exporter.end) == 0
    assert not sandboxed.state.with_name("state.db-wal").exists()
    exporter = await started(sandboxed)
    await served(exporter, "101", 7)
    assert await asyncio.to_thread(exporter.end) == 0


async def ends_in_time(exporter: Exporter) -> None:
    """End it with SIGTERM while one of its threads is blocked for ever."""
    async with asyncio.timeout(END_SECONDS):
        assert await asyncio.to_thread(exporter.end) == 0


async def test_sigterm_ends_it_within_5_seconds_though_a_reload_waits_for_its_file(sandboxed: SandboxedDaemons) -> None:
    exporter = await started(sandboxed)
    config = sandboxed.state.with_name("exporter.yml")
    config.unlink()
    # To open it for reading waits for someone who writes.
    os.mkfifo(config)
    exporter.send(signal.SIGHUP)
    await ends_in_time(exporter)


async def test_sigterm_ends_it_within_5_seconds_though_the_disk_hangs_in_a_commit(
    sandboxed: SandboxedDaemons, hanging_disk: HangingDisk
) -> None:
    exporter = await asyncio.to_thread(Exporter, settings(sandboxed), sandboxed.state.parent, hanging_disk.prefix)
    await served(exporter, "101", 0)
    hanging_disk.hang()
    sandboxed.world.dns.add_queries(101, 7)
    await hanging_disk.hung()
    await ends_in_time(exporter)


async def test_sigterm_ends_it_within_5_seconds_though_its_log_is_not_read(sandboxed: SandboxedDaemons) -> None:
    exporter = await started(sandboxed)
    await asyncio.to_thread(exporter.fill_log)
    await served(exporter, "101", 0)
    await ends_in_time(exporter)
