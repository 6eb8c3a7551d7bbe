"""Simulates accounts of very many zones on this machine, and extrapolates to a million.

`python -m tests.scale.run [--zones 100000] [--shards 1,2,4,8] [--postgres] [--json FILE]`

For each number of shards it starts as many exporters on one sandbox and watches their first round, in which every zone
is due at once and polls go as fast as they can. It scrapes while that lasts, and when all is quiet. All of it shares
the cores of this machine, so that rates are reported by processor second too: on machines of their own, exporters are
limited by their own core, and not by each other's and the sandbox's.
"""

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from exporter.collectors.catalogue import CATALOGUE
from exporter.sandbox.dns import FIRST_ZONE_ID
from tests.bench.load import Scraper
from tests.bench.process import Child, cpu_seconds, memory, own, polling_zones, started, sum_of, wait
from tests.bench.report import Table
from tests.counters.process import Exporter, exporter_running
from tests.ports import free_port
from tests.postgres import Postgres, postgres_running
from tests.scale.commits import measure_commits
from tests.scale.forecast import forecast, line

# Long enough for a round to end before the next one begins.
INTERVAL = 3600.0
SCRAPES = 7
SCRAPE_EVERY = 3.0
FILES = "files"

Row = dict[str, Any]


@contextmanager
def sandbox(zones: int) -> Iterator[Child]:
    """Run the local platform with a number of zones, and little else."""
    url = f"http://127.0.0.1:{(port := free_port())}"
    few = ("--zones", zones, "--scripts", 0, "--shield-zones", 0)
    with started(own("exporter", "sandbox", "--port", port, *few), f"{url}/openapi.json") as child:
        yield Child(child.pid, url)


@contextmanager
def exporters(folder: Path, platform: str, zones: int, total: int, database: str) -> Iterator[list[Exporter]]:
    """Run all shards of a total, with the counters in a file each, or in a PostgreSQL if its address is given.

    Search ends at 10,000 results, on the sandbox as on the platform: the ids of more zones come from a file.
    """
    ids = folder / "ids"
    ids.write_text("".join(f"{zone}\n" for zone in range(FIRST_ZONE_ID, FIRST_ZONE_ID + zones)))
    collectors: dict[str, object] = {collector.section: {"enabled": False} for collector in CATALOGUE}
    collectors |= {"discovery": {"interval": "600s"}, "dns_statistics": {"interval": f"{INTERVAL}s"}}
    with ExitStack() as stack:
        running = []
        for index in range(total):
            home = folder / f"{'database' if database else FILES}-{total}-{index}"
            home.mkdir()
            state = {"url": database, "installation": f"of-{total}"} if database else {"path": str(home / "state.db")}
            shard = {"index": index, "total": total}
            settings = polling_zones(platform, {"ids_file": str(ids)}, 10_000, collectors, state, shard=shard)
            running.append(stack.enter_context(exporter_running(settings, home)))
        yield running


def scrapes(running: Sequence[Exporter], times: int, encoding: str) -> Iterator[tuple[float, int, int]]:
    """Scrape every shard; return of each the median seconds, and its bytes as sent and plain."""
    for exporter in running:
        taken = [Scraper(f"{exporter.url}/metrics", encoding).scrape() for _ in range(times)]
        body = taken[-1][1]
        plain = gzip.decompress(body) if encoding == "gzip" else body
        yield median(seconds for seconds, _ in taken), len(body), len(plain)


def measure(folder: Path, platform: Child, zones: int, total: int, postgres: Postgres | None = None) -> Row:
    """Run a number of shards, with the counters in a file each or in a new database; return the row of the table.

    `calls_per_cpu_second` is by the exporters' own processor time, `memory_bytes` of all shards together,
    `scrape_busy_seconds` the slowest scrape of any shard while the round lasted; what is measured in quiet is that of
    the slowest or largest shard.
    """
    database = "" if postgres is None else postgres.new_database()
    began = time.monotonic()
    busy: list[float] = []
    with exporters(folder, platform.url, zones, total, database) as running:

        def sums(family: str, **labels: str) -> list[int]:
            return [int(sum_of(one.url, family, **labels)) for one in running]

        def is_polled(enough: int) -> bool:
            if enough > 1 and time.monotonic() - scraped[-1] > SCRAPE_EVERY:
                busy.extend(seconds for seconds, *_ in scrapes(running, 1, "gzip"))
                scraped.append(time.monotonic())
            return sum(sums("edge_api_requests_total", operation="dns_statistics", code="200")) >= enough

        def used() -> tuple[float, float, float]:
            of_database = 0.0 if postgres is None else tree_cpu_seconds(postgres.pid)
            return sum(cpu_seconds(one.pid) for one in running), cpu_seconds(platform.pid), of_database

        scraped = [time.monotonic()]
        wait(lambda: is_polled(1), "the first poll", step=0.1)
        first, used_first = time.monotonic(), used()
        wait(lambda: is_polled(zones), f"{zones} polls", step=0.1)
        calls_ended, used_by_calls = time.monotonic(), used()
        shares: list[int] = []

        def is_served() -> bool:
            shares[:] = sums("edge_target_up", collector="dns_statistics")
            return sum(shares) >= zones

        wait(is_served, f"{zones} zones that are served", step=0.5)
        ended, used_by_all = time.monotonic(), used()
        quiet, plain = (list(scrapes(running, SCRAPES, encoding)) for encoding in ("gzip", "identity"))
        held = [memory(one.pid) for one in running]
        seconds, commits = (
            sum(sum_of(one.url, f"edge_exporter_state_database_seconds_{what}", operation="commit") for one in running)
            for what in ("sum", "count")
        )
        row = {
            "shards": total,
            "zones": zones,
            "discovery_seconds": first - began,
            "round_seconds": ended - first,
            "calls_per_second": zones / (calls_ended - first),
            "calls_per_cpu_second": zones / (used_by_calls[0] - used_first[0]),
            "platform_cpu_share": (used_by_calls[1] - used_first[1]) / (calls_ended - first),
            "memory_bytes": sum(now for now, _ in held),
            "memory_of_largest_bytes": max(now for now, _ in held),
            "memory_peak_bytes": max(peak for _, peak in held),
            "scrape_busy_seconds": max(busy, default=0.0),
            "scrape_gzip_seconds": max(seconds for seconds, *_ in quiet),
            "scrape_plain_seconds": max(seconds for seconds, *_ in plain),
            "scrape_gzip_bytes": max(sent for _, sent, _ in quiet),
            "scrape_plain_bytes": max(size for _, _, size in plain),
            "series": sum(sums("edge_exporter_series")),
            "shares": shares,
            "zones_a_shard": f"{min(shares):,}-{max(shares):,}",
            "state": FILES if postgres is None else "PostgreSQL",
            "rows_per_second": zones / (ended - first),
        }
        if postgres is not None:
            row |= {
                "commits": int(commits),
                "commit_seconds": seconds / commits,
                # How many rows a second one connection would write if it did nothing else.
                "rows_per_second_of_commits": zones / seconds,
                "database_cpu_share": (used_by_all[2] - used_first[2]) / (ended - first),
                "database_memory_bytes": tree_memory(postgres.pid),
            }
    return row


def tree_cpu_seconds(pid: int) -> float:
    """Return the processor time of a process and its children, including ended ones."""
    return cpu_seconds(pid, with_ended_children=True) + sum(map(cpu_seconds, _children(pid)))


def tree_memory(pid: int) -> int:
    """Return the memory of a process and its children in bytes; shared memory is counted once."""
    held = (Path(f"/proc/{one}/smaps_rollup").read_text() for one in (pid, *_children(pid)))
    return sum(1024 * int(text.partition("\nPss:")[2].split()[0]) for text in held)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


# Name, key of the row, factor and format.
LINES: tuple[tuple[str, str, float, str], ...] = (
    ("shards", "shards", 1, "{}"),
    ("counters in", "state", 1, "{}"),
    ("zones a shard", "zones_a_shard", 1, "{}"),
    ("to first poll", "discovery_seconds", 1, "{:.1f} s"),
    ("whole round", "round_seconds", 1, "{:.0f} s"),
    ("calls/s", "calls_per_second", 1, "{:,.0f}"),
    ("calls/CPU s", "calls_per_cpu_second", 1, "{:,.0f}"),
    ("sandbox", "platform_cpu_share", 1, "{:.0%}"),
    ("series", "series", 1, "{:,}"),
    ("memory, all", "memory_bytes", 1e-6, "{:,.0f} MB"),
    ("a shard", "memory_of_largest_bytes", 1e-6, "{:,.0f} MB"),
    ("peak", "memory_peak_bytes", 1e-6, "{:,.0f} MB"),
    ("worst scrape", "scrape_busy_seconds", 1e3, "{:,.0f} ms"),
    ("quiet, gzip", "scrape_gzip_seconds", 1e3, "{:,.0f} ms"),
    ("quiet, plain", "scrape_plain_seconds", 1e3, "{:,.0f} ms"),
    ("size gzip", "scrape_gzip_bytes", 1e-6, "{:,.1f} MB"),
    ("size plain", "scrape_plain_bytes", 1e-6, "{:,.1f} MB"),
    ("commits", "commits", 1, "{:,}"),
    ("a commit", "commit_seconds", 1e3, "{:,.0f} ms"),
    ("rows/s", "rows_per_second", 1, "{:,.0f}"),
    ("rows/s of a commit", "rows_per_second_of_commits", 1, "{:,.0f}"),
    ("PostgreSQL", "database_cpu_share", 1, "{:.0%}"),
    ("its memory", "database_memory_bytes", 1e-6, "{:,.0f} MB"),
)


def show(rows: Sequence[Row]) -> None:
    """Print a line for each measure, with a column for each run."""
    (name, *_), *lines = (
        (name, *(form.format(row[key] * factor) if key in row else "-" for row in rows))
        for name, key, factor, form in LINES
    )
    Table("A first round", (name, *(str(row["shards"]) for row in rows)), list(lines)).show()


def main() -> None:
    """Run the simulation that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=100_000)
    parser.add_argument("--shards", default="1,2,4,8", help="numbers of exporter processes, one run each")
    parser.add_argument("--json", type=Path, default=Path("scale.json"), help="where the figures go")
    parser.add_argument("--postgres", action="store_true", help="each number again with the counters in a PostgreSQL")
    given = parser.parse_args()
    say(f"{given.zones:,} zones; {os.cpu_count()} cores for the sandbox and all shards together")
    rows: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        platform = stack.enter_context(sandbox(given.zones))
        postgres = stack.enter_context(postgres_running(folder)) if given.postgres else None
        for total in map(int, given.shards.split(",")):
            for where in (None, postgres) if postgres is not None else (None,):
                rows.append(measure(folder, platform, given.zones, total, where))
                # Each run takes minutes, and an interruption of the next one should not cost this one.
                show(rows)
        say(f"The sandbox held {memory(platform.pid)[0] / 1e6:,.0f} MB.\n")
        if postgres is not None:
            measure_commits(folder, postgres).show()
    measured = [row for row in rows if row["state"] == FILES]
    of_largest = measured[0] | {"zones": max(measured[0]["shares"])}
    text, reported = forecast(
        calls_per_cpu_second=min(row["calls_per_cpu_second"] for row in measured),
        memory=line([(max(row["shares"]), row["memory_of_largest_bytes"]) for row in measured]),
        scrape_seconds=line([(max(row["shares"]), row["scrape_busy_seconds"]) for row in measured]),
        plain_bytes_a_zone=of_largest["scrape_plain_bytes"] / of_largest["zones"],
        gzip_bytes_a_zone=of_largest["scrape_gzip_bytes"] / of_largest["zones"],
        series_a_zone=measured[0]["series"] / given.zones,
    )
    say(text)
    given.json.write_text(json.dumps({"rows": rows, "forecast": reported}, indent=2) + "\n")
    say(f"\n{given.json}")


def say(text: str) -> None:
    """Print without buffering."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
