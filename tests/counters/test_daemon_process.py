"""The daemon as a process: how it ends, and what the next process finds."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from tests.counters.exporter_process import Exporter
from tests.counters.sandboxed_daemons import SandboxedDaemons
from tests.exporter_parts import account_at
from tests.real_parts import PARTS, end_without, find
from tests.waiting import END_SECONDS, until, wait_until

QUERIES = "edge_dns_queries_total"
# SQLite's system calls are replaced.
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


def hanging_disk(folder: Path) -> Sequence[str]:
    """Return a command prefix with which writes to a disk hang while the file `hangs` exists; they create `hung`."""
    source, library = folder / "hanging.c", folder / "hanging.so"
    source.write_text(HANGING)
    built = subprocess.run(
        [find("cc"), "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True, check=False
    )
    if built.returncode != 0:  # a compiler without the headers of the C library
        end_without("the C library's headers", PARTS["cc"].install)
    return "env", f"LD_PRELOAD={library}", f"DISK_HANGS={folder / 'hangs'}", f"DISK_HUNG={folder / 'hung'}"


async def started(sandboxed: SandboxedDaemons, prefix: Sequence[str] = ()) -> Exporter:
    """Start an exporter that polls every second, and wait until it serves."""
    settings = {
        "accounts": [account_at(sandboxed.sandbox.url, timeout="600s")],
        "web": {"listen": "127.0.0.1:0"},
        "state": {"path": str(sandboxed.state)},
        "collectors": {"dns_statistics": {"interval": "1s"}},
    }
    return await asyncio.to_thread(Exporter, settings, sandboxed.state.parent, prefix)


async def served(exporter: Exporter, value: float) -> None:
    """Wait until a zone's counter has this value; only a scrape shows it."""
    await asyncio.to_thread(wait_until, lambda: exporter.samples(QUERIES, "zone_id").get("101") == value)


async def polls_stall(sandboxed: SandboxedDaemons, _exporter: Exporter) -> None:
    for point in ("start", "body"):
        sandboxed.faults.add({"kind": "stall", "point": point})
    await until(lambda: any(fault.hits for fault in sandboxed.faults.all()))


async def a_reload_waits_for_its_file(sandboxed: SandboxedDaemons, exporter: Exporter) -> None:
    config = sandboxed.state.with_name("exporter.yml")
    config.unlink()
    # To open it for reading waits for someone who writes.
    os.mkfifo(config)
    exporter.send(signal.SIGHUP)


async def its_log_is_not_read(_sandboxed: SandboxedDaemons, exporter: Exporter) -> None:
    await asyncio.to_thread(exporter.fill_log)
    await served(exporter, 0)


async def the_disk_hangs_in_a_commit(sandboxed: SandboxedDaemons, exporter: Exporter) -> None:
    disk = sandboxed.state.parent
    (disk / "hangs").touch()
    sandboxed.world.dns.add_queries(101, 7)
    await until((disk / "hung").exists, "a write that hangs")
    up = "/metrics?name[]=edge_exporter_ledger_up"
    await asyncio.to_thread(wait_until, lambda: "edge_exporter_ledger_up 0.0" in exporter.text(up))
    await until(lambda: "state not read or saved, counters do not change or are not served" in exporter.events)


@pytest.mark.parametrize(
    "obstruct", [polls_stall, a_reload_waits_for_its_file, its_log_is_not_read, the_disk_hangs_in_a_commit]
)
async def test_sigterm_ends_it_within_5_seconds_though(
    sandboxed: SandboxedDaemons, obstruct: Callable[[SandboxedDaemons, Exporter], Awaitable[None]]
) -> None:
    disk = sandboxed.state.parent
    exporter = await started(sandboxed, hanging_disk(disk) if obstruct is the_disk_hangs_in_a_commit else ())
    await served(exporter, 0)
    await obstruct(sandboxed, exporter)
    async with asyncio.timeout(END_SECONDS):
        assert await asyncio.to_thread(exporter.end) == 0
    # The log of a full pipe is cut off.
    assert obstruct is its_log_is_not_read or "stopping" in exporter.events


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_what_was_served_goes_on_after_the_end_of_its_process(
    sandboxed: SandboxedDaemons, number: signal.Signals
) -> None:
    exporter = await started(sandboxed)
    await served(exporter, 0)
    sandboxed.world.dns.add_queries(101, 7)
    await served(exporter, 7)
    assert await asyncio.to_thread(exporter.end, number) == (0 if number == signal.SIGTERM else -number)
    assert sandboxed.state.with_name("state.db-wal").exists() == (number == signal.SIGKILL)
    sandboxed.world.dns.add_queries(101, 2)
    exporter = await started(sandboxed)
    await served(exporter, 9)
    assert await asyncio.to_thread(exporter.end) == 0
