"""Ten minutes of faults at random: `python -m tests.soak.run [--minutes N] [--seed N]`.

The exporter runs in this process, so that its event loop can be measured; the sandbox, its faults and the scraper run
in another. Ends with a table of figures, and with 1 where one of them is out of bounds.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from exporter.commands.local_platform import demo_settings
from exporter.daemon.daemon import Daemon
from exporter.log import configure
from exporter.sandbox.world import World
from exporter.settings.model import Settings
from tests.bench.process import MIB
from tests.bench.report import Table
from tests.soak.gauges import Gauges, levels, share
from tests.soak.platform import make_world

RELOAD_SECONDS = 20.0
MOST_LAG = 0.05
MOST_LAG_EVER = 1.0
# With some 6,000 series and 200 targets; beside what is measured over time, so that a high level from the start shows.
MOST_MEMORY_BYTES = 256 * 1024 * 1024
MOST_HANDLES = 256
MOST_GROWTH = 0.08
MOST_GROWTH_BYTES = 6 * 1024 * 1024
MOST_MORE_HANDLES = 10
MOST_MORE_TASKS = 3
# The pool of the event loop grows as its threads are first needed at once.
MOST_MORE_THREADS = 5


def settings(url: str, state: Path, world: World) -> Settings:
    """Settings that poll every resource of a world, much more often than usual."""
    demo = demo_settings(world, url, "127.0.0.1:0", "error")
    (account,) = demo.accounts
    budget = account.budget.model_copy(update={"requests_per_second": 150.0, "max_in_flight": 32})
    account = account.model_copy(update={"timeout": 2.0, "budget": budget})
    return demo.model_copy(update={"accounts": [account], "state": demo.state.model_copy(update={"path": state})})


async def soak(minutes: float, seed: int, folder: Path) -> tuple[Gauges, dict[str, Any]]:
    """Run the exporter against a platform with faults; return the measurements here and the observations there."""
    platform = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.soak.platform", str(seed)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=16 * MIB,
    )
    if platform.stdin is None or platform.stdout is None:
        raise RuntimeError("the platform's process has no pipes")
    gauges = Gauges()
    try:
        url = json.loads(await platform.stdout.readline())["url"]
        world = make_world(seed)
        configured = settings(url, folder / "state.db", world)
        world.close()
        daemon = Daemon(configured, lambda: configured)
        await daemon.start()
        platform.stdin.write(f"{daemon.server.url}\n".encode())
        measuring = asyncio.create_task(gauges.measure())
        reloading = asyncio.create_task(reload(daemon))
        await asyncio.sleep(minutes * 60)
        platform.stdin.write(b"mend\n")
        seen: dict[str, Any] = json.loads(await platform.stdout.readline())
        for task in (measuring, reloading):
            task.cancel()
        await asyncio.gather(measuring, reloading, return_exceptions=True)
        await daemon.stop()
        await platform.wait()
    finally:
        if platform.returncode is None:
            platform.kill()
            await platform.wait()
    return gauges, seen


async def reload(daemon: Daemon) -> None:
    """Reload from time to time, like a deployment."""
    while True:
        await asyncio.sleep(RELOAD_SECONDS)
        await daemon.reload()


def figures(gauges: Gauges, seen: dict[str, Any]) -> Iterator[tuple[str, str, str, bool]]:
    """Return the measurements: name, value, limit, and whether it is within."""
    memory, handles, threads, tasks = map(list, zip(*gauges.readings, strict=True))
    before, after = levels(memory)
    more = max(before * MOST_GROWTH, MOST_GROWTH_BYTES)
    lag, worst = share(gauges.lags, 0.99), max(gauges.lags)
    falls = seen["falls"]
    failing = ["unknown"] if seen["failing"] is None else seen["failing"]
    own = bucket_of(seen["loop_lag"], 0.99)
    own_lag = "no such histogram" if own is None else f"up to {own * 1000:g} ms"
    failed, hits, counted = seen["failed_scrapes"], seen["hits"], seen["counted"]
    yield "faults scripted", str(seen["faults"]), "", True
    yield "requests that met one", str(hits), "more than 0", hits > 0
    yield "queries counted", f"{counted:.0f}", "more than 0", counted > 0
    yield "counters that fell", "; ".join(falls[:3]) or "none", "none", not falls
    yield "targets failing at the end", "; ".join(failing[:3]) or "none", "none", not failing
    yield "scrapes", str(seen["scrapes"]), "", True
    yield "scrapes that failed", str(failed), "0", failed == 0
    yield "slowest scrape", f"{seen['slowest_scrape'] * 1000:.0f} ms", "", True
    yield "series", str(seen["series"]), "", True
    yield "event loop late, p50", f"{share(gauges.lags, 0.5) * 1000:.2f} ms", "", True
    yield "p99", f"{lag * 1000:.1f} ms", f"under {MOST_LAG * 1000:.0f} ms", lag < MOST_LAG
    yield "most", f"{worst * 1000:.0f} ms", f"under {MOST_LAG_EVER * 1000:.0f} ms", worst < MOST_LAG_EVER
    limit = f"up to {2 * MOST_LAG * 1000:.0f} ms"
    yield "by its own histogram, p99", own_lag, limit, own is None or own <= 2 * MOST_LAG
    yield "late by other processes, p99", f"{share(gauges.waits, 0.99) * 1000:.1f} ms", "", True
    grown = f"{before / MIB:.1f} and {after / MIB:.1f} MiB"
    yield "memory, 2nd quarter and last", grown, f"up to {more / MIB:.1f} MiB more", after - before <= more
    limit = f"{MOST_MEMORY_BYTES / MIB:.0f} MiB"
    yield "most memory", f"{max(memory) / MIB:.1f} MiB", limit, max(memory) <= MOST_MEMORY_BYTES
    yield "most file handles", str(max(handles)), str(MOST_HANDLES), max(handles) <= MOST_HANDLES
    for name, readings, most in (
        ("file handles, 2nd quarter and last", handles, MOST_MORE_HANDLES),
        ("tasks, the same", tasks, MOST_MORE_TASKS),
        ("threads, the same", threads, MOST_MORE_THREADS),
    ):
        before, after = levels(readings)
        yield name, f"{before:.0f} and {after:.0f}", f"up to {most} more", after - before <= most


def bucket_of(buckets: Mapping[str, float], part: float) -> float | None:
    """Return the upper bound of the bucket that contains this share of a histogram; None without a histogram."""
    total = max(buckets.values(), default=0.0)
    bounds = sorted((float(bound), count) for bound, count in buckets.items())
    return next((bound for bound, count in bounds if total and count >= part * total), None)


def main() -> None:
    """Run the soak, print the measurements, and exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which faults (%(default)s)")
    given = parser.parse_args()
    configure("error", "console")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        gauges, seen = asyncio.run(soak(given.minutes, given.seed, Path(folder)))
    table = Table(f"{given.minutes:g} minutes of faults at random", ("figure", "value", "bound", ""))
    for *figure, is_good in figures(gauges, seen):
        table.add(*figure, "" if is_good else "OUT OF BOUNDS")
    table.show()
    sys.exit(any(verdict for *_, verdict in table.rows))


if __name__ == "__main__":
    main()
