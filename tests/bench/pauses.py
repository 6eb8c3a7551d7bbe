"""Runs the daemon in this process, and prints the longest pauses of its event loop as JSON.

python -m tests.bench.pauses PLATFORM ZONES FOLDER
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from exporter.daemon import event_loop
from exporter.daemon.daemon import Daemon
from exporter.log import configure
from exporter.settings.model import Settings
from exporter.targets.target import PollKey, TargetKey
from tests.bench.measured_process import polling_zones

RATE = 100_000
INTERVAL = 3600.0
PROBE_SECONDS = 0.001
# The results of an event are counted, rendered and compressed within this many seconds.
SETTLING_SECONDS = 3.0
ROUNDS = 3
DISCOVERY = PollKey(TargetKey.of("main", "account", "main"), "discovery")


class Pause(NamedTuple):
    """A pause of the event loop: its length, and the processor time of the loop's thread in it, in milliseconds."""

    length: float = 0.0
    used: float = 0.0


class Probe:
    """Looks every millisecond how late the event loop is, and keeps the longest pause."""

    def __init__(self) -> None:
        self._longest = Pause()

    def take(self) -> Pause:
        """Return the longest pause since the last call."""
        longest, self._longest = self._longest, Pause()
        return longest

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            began, used = time.perf_counter(), time.thread_time()
            await asyncio.sleep(PROBE_SECONDS)
            passed = time.perf_counter() - began - PROBE_SECONDS
            self._longest = max(self._longest, Pause(passed * 1e3, (time.thread_time() - used) * 1e3))


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for a condition, and then until its results are rendered."""
    while not is_so():  # noqa: ASYNC110 - the daemon sets no event for it
        await asyncio.sleep(0.1)
    await asyncio.sleep(SETTLING_SECONDS)


async def measured(settings: Settings, zones: int) -> dict[str, Pause]:
    """Start the daemon, list its zones again, and reload it; return the longest pause of each."""
    found: dict[str, Pause] = {}
    probe = Probe()
    probing = asyncio.create_task(probe.run())
    event_loop.tune()
    daemon = await Daemon.start(settings, lambda: settings)
    freezing = asyncio.create_task(event_loop.freeze_growth(lambda: daemon.work.renderer.current.series))
    store = daemon.work.store
    await until(lambda: sum(status.up for status in store.statuses.values()) >= zones)
    found["start"] = probe.take()

    def listed(since: float) -> bool:
        status = store.statuses.get(DISCOVERY)
        return status is not None and status.success > since

    for _ in range(ROUNDS):
        since = time.time()
        daemon.work.schedule.poll_again([DISCOVERY])
        await daemon.work.poller.tick()
        await until(partial(listed, since))
        found["list"] = max(found.get("list", Pause()), probe.take())
        await daemon.reload()
        await asyncio.sleep(SETTLING_SECONDS)
        found["reload"] = max(found.get("reload", Pause()), probe.take())
    probing.cancel()
    freezing.cancel()
    await daemon.stop()
    return found


def main(platform: str, zones: str, folder: str) -> None:
    """Measure, and print."""
    state = {"path": str(Path(folder) / "state.db")}
    given = polling_zones(platform, {"discover": True}, RATE, INTERVAL, state)
    given["collectors"]["discovery"] = {"interval": "1h"}
    given["log"] = {"level": "error"}
    settings = Settings.model_validate(given)
    configure(settings.log.level, settings.log.format)
    print(json.dumps(asyncio.run(measured(settings, int(zones)))))  # noqa: T201 - its result


if __name__ == "__main__":
    main(*sys.argv[1:])
