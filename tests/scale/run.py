"""Simulates accounts of very many zones on this machine, and extrapolates to a million.

`python -m tests.scale.run [--zones 100000] [--shards 1,2,4,8] [--postgres] [--json FILE]`

For each number of shards it starts as many exporters on one sandbox and watches their first round, in which every zone
is due at once and polls go as fast as they can. It scrapes while that lasts, and when all is quiet. All of it shares
the cores of this machine, so that rates are reported by processor second too: on machines of their own, exporters are
limited by their own core, and not by each other's and the sandbox's.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from tests.postgres import Postgres, postgres_running
from tests.scale.commits import measure_commits
from tests.scale.forecast import Forecast, forecast, line
from tests.scale.processes import Process, Scrape, exporters, sandbox, tree_cpu_seconds, tree_memory

# Long enough for a round to end before the next one begins.
INTERVAL = 3600.0
SCRAPES = 7
SCRAPE_EVERY = 3.0
ROUND_SECONDS = 900.0
MEGA = 1e6
FILES = "files"


@dataclass(frozen=True, slots=True)
class Row:
    """The measurements with a number of shards.

    Attributes:
        discovery_seconds: from the start until the first zone was polled.
        round_seconds: from then until every zone was polled and is served.
        calls_per_second: during that time.
        calls_per_cpu_second: the same by the exporters' own processor time, all shards together.
        platform_cpu_share: how much of a core the sandbox used during that time.
        memory_bytes: of all shards together; then of the largest of them, and the most that it ever held.
        scrape_busy_seconds: the slowest scrape of any shard while the round lasted.
        scrape_gzip_seconds: the slowest shard's median when all is quiet; the same for plain.
        scrape_gzip_bytes: of the largest shard; the same for plain.
        series: of all shards together.
        shares: how many zones each shard has.
        state: where the counters are.
        commit_seconds: the mean time of a commit to a PostgreSQL; 0 where they are in files.
        commits: how many commits there were, of all shards together.
        database_cpu_share: how much of a core PostgreSQL used during the round.
        database_memory_bytes: what PostgreSQL held after it.
    """

    shards: int
    zones: int
    discovery_seconds: float
    round_seconds: float
    calls_per_second: float
    calls_per_cpu_second: float
    platform_cpu_share: float
    memory_bytes: int
    memory_of_largest_bytes: int
    memory_peak_bytes: int
    scrape_busy_seconds: float
    scrape_gzip_seconds: float
    scrape_plain_seconds: float
    scrape_gzip_bytes: int
    scrape_plain_bytes: int
    series: int
    shares: list[int]
    state: str = FILES
    commit_seconds: float = 0.0
    commits: int = 0
    database_cpu_share: float = 0.0
    database_memory_bytes: int = 0


def polled(process: Process) -> int:
    """Return the number of answers about zones that a shard has received."""
    return int(process.sum_of("edge_api_requests_total", operation="dns_statistics", code="200"))


def until_polled(processes: Sequence[Process], enough: int, busy: list[Scrape]) -> None:
    """Wait until all shards together have received a number of answers, and scrape during that time."""
    until = time.monotonic() + ROUND_SECONDS
    scraped = time.monotonic()
    while sum(map(polled, processes)) < enough:
        if time.monotonic() > until:
            raise TimeoutError(f"{enough} polls did not end within {ROUND_SECONDS:g} s")
        if enough > 1 and time.monotonic() - scraped > SCRAPE_EVERY:
            busy.extend(process.scrape(compressed=True) for process in processes)
            scraped = time.monotonic()
        time.sleep(0.1)


def until_served(processes: Sequence[Process], zones: int) -> list[int]:
    """Wait until every zone is served; return how many zones each shard serves."""
    until = time.monotonic() + ROUND_SECONDS
    while True:
        shares = [int(process.sum_of("edge_target_up", collector="dns_statistics")) for process in processes]
        if sum(shares) >= zones:
            return shares
        if time.monotonic() > until:
            raise TimeoutError(f"only {sum(shares)} of {zones} zones are served after {ROUND_SECONDS:g} s")
        time.sleep(0.5)


def measure(folder: Path, platform: Process, zones: int, total: int, postgres: Postgres | None = None) -> Row:
    """Run a number of shards, with the counters in a file each or in a new database."""
    database = "" if postgres is None else postgres.new_database()
    began = time.monotonic()
    busy: list[Scrape] = []
    with exporters(folder, platform, zones, total, INTERVAL, database=database) as processes:
        until_polled(processes, 1, busy)
        first, used, platform_used = time.monotonic(), _cpu(processes), platform.cpu_seconds()
        database_used = 0.0 if postgres is None else tree_cpu_seconds(postgres.pid)
        until_polled(processes, zones, busy)
        calls_ended, spent = time.monotonic(), _cpu(processes) - used
        platform_spent = platform.cpu_seconds() - platform_used
        shares = until_served(processes, zones)
        ended = time.monotonic()
        database_spent = 0.0 if postgres is None else tree_cpu_seconds(postgres.pid) - database_used
        quiet = [[process.scrape(compressed=True) for _ in range(SCRAPES)] for process in processes]
        plain = [[process.scrape(compressed=False) for _ in range(SCRAPES)] for process in processes]
        memory = [process.memory() for process in processes]
        database_memory = 0 if postgres is None else tree_memory(postgres.pid)
        series = sum(process.sum_of("edge_exporter_series") for process in processes)
        spent_on, commits = (
            sum(
                process.sum_of(f"edge_exporter_state_database_seconds_{what}", operation="commit")
                for process in processes
            )
            for what in ("sum", "count")
        )
    return Row(
        shards=total,
        zones=zones,
        discovery_seconds=first - began,
        round_seconds=ended - first,
        calls_per_second=zones / (calls_ended - first),
        calls_per_cpu_second=zones / spent,
        platform_cpu_share=platform_spent / (calls_ended - first),
        memory_bytes=sum(now for now, _ in memory),
        memory_of_largest_bytes=max(now for now, _ in memory),
        memory_peak_bytes=max(peak for _, peak in memory),
        scrape_busy_seconds=max((scrape.seconds for scrape in busy), default=0.0),
        scrape_gzip_seconds=max(median(scrape.seconds for scrape in own) for own in quiet),
        scrape_plain_seconds=max(median(scrape.seconds for scrape in own) for own in plain),
        scrape_gzip_bytes=max(scrape.wire_bytes for own in quiet for scrape in own),
        scrape_plain_bytes=max(scrape.plain_bytes for own in plain for scrape in own),
        series=int(series),
        shares=shares,
        state=FILES if postgres is None else "PostgreSQL",
        commit_seconds=spent_on / commits if commits else 0.0,
        commits=int(commits),
        database_cpu_share=database_spent / (ended - first),
        database_memory_bytes=database_memory,
    )


def _cpu(processes: Sequence[Process]) -> float:
    return sum(process.cpu_seconds() for process in processes)


_COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("shards", lambda row: str(row.shards)),
    ("counters in", lambda row: row.state),
    ("zones a shard", lambda row: f"{min(row.shares):,}-{max(row.shares):,}"),
    ("to first poll", lambda row: f"{row.discovery_seconds:.1f} s"),
    ("whole round", lambda row: f"{row.round_seconds:.0f} s"),
    ("calls/s", lambda row: f"{row.calls_per_second:,.0f}"),
    ("calls/CPU s", lambda row: f"{row.calls_per_cpu_second:,.0f}"),
    ("sandbox", lambda row: f"{row.platform_cpu_share:.0%}"),
    ("series", lambda row: f"{row.series:,}"),
    ("memory, all", lambda row: f"{row.memory_bytes / MEGA:,.0f} MB"),
    ("a shard", lambda row: f"{row.memory_of_largest_bytes / MEGA:,.0f} MB"),
    ("peak", lambda row: f"{row.memory_peak_bytes / MEGA:,.0f} MB"),
    ("worst scrape", lambda row: f"{row.scrape_busy_seconds * 1e3:,.0f} ms"),
    ("quiet, gzip", lambda row: f"{row.scrape_gzip_seconds * 1e3:,.0f} ms"),
    ("quiet, plain", lambda row: f"{row.scrape_plain_seconds * 1e3:,.0f} ms"),
    ("size gzip", lambda row: f"{row.scrape_gzip_bytes / MEGA:,.1f} MB"),
    ("size plain", lambda row: f"{row.scrape_plain_bytes / MEGA:,.1f} MB"),
    ("commits", lambda row: f"{row.commits:,}" if row.commits else "-"),
    ("a commit", lambda row: f"{row.commit_seconds * 1e3:,.0f} ms" if row.commits else "-"),
    ("rows/s", lambda row: f"{row.zones / row.round_seconds:,.0f}"),
    ("rows/s of a commit", lambda row: f"{_rows_a_commit_second(row):,.0f}" if row.commits else "-"),
    ("PostgreSQL", lambda row: f"{row.database_cpu_share:.0%}" if row.commits else "-"),
    ("its memory", lambda row: f"{row.database_memory_bytes / MEGA:,.0f} MB" if row.commits else "-"),
)


def _rows_a_commit_second(row: Row) -> float:
    """Return how many rows a second one connection would write if it did nothing else."""
    return row.zones / (row.commit_seconds * row.commits)


def table(rows: Sequence[Row]) -> str:
    """Return the rows of the printed table: a line for each measure, a column for each run."""
    cells = [[name, *(tell(row) for row in rows)] for name, tell in _COLUMNS]
    widths = [max(len(line[place]) for line in cells) for place in range(len(rows) + 1)]
    return "\n".join(
        line[0].ljust(widths[0])
        + "".join(cell.rjust(width + 3) for cell, width in zip(line[1:], widths[1:], strict=True))
        for line in cells
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the simulation that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zones", type=int, default=100_000)
    parser.add_argument("--shards", default="1,2,4,8", help="numbers of exporter processes, one run each")
    parser.add_argument("--json", type=Path, default=Path("scale.json"), help="where the figures go")
    parser.add_argument("--postgres", action="store_true", help="each number again with the counters in a PostgreSQL")
    given = parser.parse_args(arguments)
    totals = [int(total) for total in given.shards.split(",")]
    say(f"{given.zones:,} zones; {os.cpu_count()} cores for the sandbox and all shards together")
    rows = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        platform = stack.enter_context(sandbox(given.zones))
        postgres = stack.enter_context(postgres_running(folder)) if given.postgres else None
        for total in totals:
            for where in (None, postgres) if postgres is not None else (None,):
                rows.append(measure(folder, platform, given.zones, total, where))
                # Each run takes minutes, and an interruption of the next one should not cost this one.
                say(f"\n{table(rows)}")
        sandbox_memory = platform.memory()[0]
        if postgres is not None:
            commits = "\n  ".join(map(str, measure_commits(folder, postgres)))
            say(f"\nA commit, the median of several:\n  {commits}")
    measured = [row for row in rows if row.state == FILES]
    reported = forecast(
        calls_per_cpu_second=min(row.calls_per_cpu_second for row in measured),
        memory=line([(max(row.shares), row.memory_of_largest_bytes) for row in measured]),
        scrape_seconds=line([(max(row.shares), row.scrape_busy_seconds) for row in measured]),
        plain_bytes_a_zone=measured[0].scrape_plain_bytes / max(measured[0].shares),
        gzip_bytes_a_zone=measured[0].scrape_gzip_bytes / max(measured[0].shares),
        series_a_zone=measured[0].series / given.zones,
    )
    say(f"\nThe sandbox held {sandbox_memory / MEGA:,.0f} MB.\n\n{reported}")
    write(given.json, rows, reported)


def write(path: Path, rows: Sequence[Row], reported: Forecast) -> None:
    """Write the figures for programs."""
    path.write_text(json.dumps({"rows": [asdict(row) for row in rows], "forecast": asdict(reported)}, indent=2) + "\n")
    say(f"\n{path}")


def say(text: str) -> None:
    """Print without buffering."""
    with suppress(BrokenPipeError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
