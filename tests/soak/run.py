"""Ten minutes of faults at random: `python -m tests.soak.run [--minutes N] [--seed N]`.

The exporter runs in this process, so that its event loop can be measured; the sandbox, its faults and the scraper run
in another. Ends with a table of figures, and with 1 where one of them is out of bounds.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from exporter.daemon.daemon import Daemon
from exporter.log import configure
from exporter.sandbox import keys
from exporter.sandbox.world import World
from exporter.settings.model import Settings
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
WIDTH = 120
MIB = 1024 * 1024


@dataclass(frozen=True)
class Figure:
    """A measurement, its limit as text, and whether it is within."""

    name: str
    value: str
    bound: str
    is_good: bool


def settings(url: str, state: Path, world: World) -> Settings:
    """Settings that poll every resource of a world, much more often than usual."""
    account = {
        "name": "soak",
        "base_url": url,
        "api_key": keys.API_KEY,
        "timeout": "2s",
        "budget": {"requests_per_second": 150, "max_in_flight": 32},
        "rate_limits": [
            {"id": limit, "name": name, "shield_zone_id": zone} for limit, name, zone in world.rate_limit_ids()
        ],
        "access_lists": [{"shield_zone_id": zone, "id": one} for zone, one in world.access_list_ids()],
        "waf_custom_rules": [{"id": rule} for rule in world.custom_rule_ids()],
        "images": [
            {"registry_id": registry, "namespace": namespace, "name": name, "watch_tags": tags[:2]}
            for registry, namespace, name, tags in world.images()
        ],
        "searches": world.search_terms(),
    }
    database = {
        "name": "orders",
        "url": url,
        "auth_token": keys.DATABASE_TOKEN_READ_ONLY,
        "queries": [
            {"name": "orders", "sql": "SELECT count(*) AS value FROM orders", "value": "value", "interval": "5s"}
        ],
    }
    intervals = {
        "dns_statistics": 5,
        "dns_record_scans": 10,
        "scripts": 5,
        "shield_rate_limits": 3,
        "shield_zones": 5,
        "shield_api_guardian": 10,
        "shield_bot_detection": 10,
        "shield_access_lists": 10,
        "shield_waf_custom_rules": 10,
        "shield_waf_plans": 15,
        "container_tags": 10,
        "search": 10,
        "database": 5,
        "discovery": 5,
    }
    return Settings.model_validate(
        {
            "accounts": [account],
            "databases": [database],
            "collectors": {name: {"interval": seconds} for name, seconds in intervals.items()},
            "web": {"listen": "127.0.0.1:0"},
            "state": {"path": str(state)},
            "log": {"level": "error", "format": "console"},
        }
    )


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


def figures(gauges: Gauges, seen: dict[str, Any]) -> list[Figure]:
    """Return the measurements, and whether each is within its limit."""
    memory, last_memory = levels(gauges.memory)
    most = max(memory * MOST_GROWTH, MOST_GROWTH_BYTES)
    handles, last_handles = levels(gauges.handles)
    tasks, last_tasks = levels(gauges.tasks)
    threads, last_threads = levels(gauges.threads)
    lag = share(gauges.lags, 0.99)
    falls = seen["falls"]
    failing = ["unknown"] if seen["failing"] is None else seen["failing"]
    own_lag = bucket_of(seen["loop_lag"], 0.99)
    return [
        Figure("faults scripted", str(seen["faults"]), "", is_good=True),
        Figure("requests that met one", str(seen["hits"]), "more than 0", is_good=seen["hits"] > 0),
        Figure("queries counted", f"{seen['counted']:.0f}", "more than 0", is_good=seen["counted"] > 0),
        Figure("counters that fell", "; ".join(falls[:3]) or "none", "none", is_good=not falls),
        Figure("targets failing at the end", "; ".join(failing[:3]) or "none", "none", is_good=not failing),
        Figure("scrapes", str(seen["scrapes"]), "", is_good=True),
        Figure("scrapes that failed", str(seen["failed_scrapes"]), "0", is_good=seen["failed_scrapes"] == 0),
        Figure("slowest scrape", f"{seen['slowest_scrape'] * 1000:.0f} ms", "", is_good=True),
        Figure("series", str(seen["series"]), "", is_good=True),
        Figure("event loop late, p50", f"{share(gauges.lags, 0.5) * 1000:.2f} ms", "", is_good=True),
        Figure("p99", f"{lag * 1000:.1f} ms", f"under {MOST_LAG * 1000:.0f} ms", is_good=lag < MOST_LAG),
        Figure(
            "most",
            f"{max(gauges.lags) * 1000:.0f} ms",
            f"under {MOST_LAG_EVER * 1000:.0f} ms",
            is_good=max(gauges.lags) < MOST_LAG_EVER,
        ),
        Figure(
            "by its own histogram, p99",
            "no such histogram" if own_lag is None else f"up to {own_lag * 1000:g} ms",
            f"up to {2 * MOST_LAG * 1000:.0f} ms",
            is_good=own_lag is None or own_lag <= 2 * MOST_LAG,
        ),
        Figure("late by other processes, p99", f"{share(gauges.waits, 0.99) * 1000:.1f} ms", "", is_good=True),
        Figure(
            "memory, 2nd quarter and last",
            f"{memory / MIB:.1f} and {last_memory / MIB:.1f} MiB",
            f"up to {most / MIB:.1f} MiB more",
            is_good=last_memory - memory <= most,
        ),
        Figure(
            "most memory",
            f"{max(gauges.memory) / MIB:.1f} MiB",
            f"{MOST_MEMORY_BYTES / MIB:.0f} MiB",
            is_good=max(gauges.memory) <= MOST_MEMORY_BYTES,
        ),
        Figure(
            "most file handles",
            str(max(gauges.handles)),
            str(MOST_HANDLES),
            is_good=max(gauges.handles) <= MOST_HANDLES,
        ),
        Figure(
            "file handles, 2nd quarter and last",
            f"{handles:.0f} and {last_handles:.0f}",
            f"up to {MOST_MORE_HANDLES} more",
            is_good=last_handles - handles <= MOST_MORE_HANDLES,
        ),
        Figure(
            "tasks, the same",
            f"{tasks:.0f} and {last_tasks:.0f}",
            f"up to {MOST_MORE_TASKS} more",
            is_good=last_tasks - tasks <= MOST_MORE_TASKS,
        ),
        Figure(
            "threads, the same",
            f"{threads:.0f} and {last_threads:.0f}",
            f"up to {MOST_MORE_THREADS} more",
            is_good=last_threads <= threads + MOST_MORE_THREADS,
        ),
    ]


def bucket_of(buckets: Mapping[str, float], part: float) -> float | None:
    """Return the upper bound of the bucket that contains this share of a histogram; None without a histogram."""
    total = max(buckets.values(), default=0.0)
    bounds = sorted((float(bound), count) for bound, count in buckets.items())
    return next((bound for bound, count in bounds if total and count >= part * total), None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the soak, print the measurements, and exit with 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which faults (%(default)s)")
    given = parser.parse_args(arguments)
    configure("error", "console")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        gauges, seen = asyncio.run(soak(given.minutes, given.seed, Path(folder)))
    found = figures(gauges, seen)
    table = Table("figure", "value", "bound", "")
    for column in table.columns:
        column.no_wrap = True
    for figure in found:
        table.add_row(figure.name, figure.value, figure.bound, "" if figure.is_good else "OUT OF BOUNDS")
    Console(width=WIDTH).print(table)
    sys.exit(0 if all(figure.is_good for figure in found) else 1)


if __name__ == "__main__":
    main()
