"""Simulates accounts of very many zones on this machine, and extrapolates to a million.

`python -m tests.scale.run [--zones 100000] [--shards 1,2,4,8] [--postgres]`

For each number of shards it starts as many exporters on one sandbox and watches their first round, in which every zone
is due at once and polls go as fast as they can. It scrapes while that lasts, and when all is quiet. All of it shares
the cores of this machine, so that rates are reported by processor second too: on machines of their own, exporters are
limited by their own core, and not by each other's and the sandbox's.
"""

import gzip
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

import click

from exporter.counters.lease_table import LeaseTable
from exporter.counters.rows import StateRow
from exporter.counters.state_database import Group, StateDatabase
from exporter.counters.state_file import StateFile
from exporter.sandbox.dns import FIRST_ZONE_ID
from exporter.targets.target import PollKey
from tests.bench.load import Scraper
from tests.bench.process import Child, cpu_seconds, memory, own, polling_zones, started, sum_of, wait
from tests.bench.report import Cell, Table
from tests.counters.process import Exporter, exporter_running
from tests.ports import free_port
from tests.postgres import Postgres, postgres_running

# Long enough for a round to end before the next one begins.
INTERVAL = 3600.0
SCRAPES = 7
SCRAPE_EVERY = 3.0
FILES = "files"
# Commits: rows of a zone's size, each number several times over the same rows, as polls of the same zones do.
COMMITS, ROUNDS, ROW_BYTES = (20, 1000, 5000), 9, 800
# What is extrapolated to, at the default interval and budget.
MANY_ZONES, ACCOUNTS, MANY_INTERVAL, BUDGET = 1_000_000, 50, 300.0, 10.0
# What a shard is given: one core, of which half is for polls; the rest is for rendering, scrapes and bad days. A scrape
# should take no more than half of Prometheus's default time-out.
CORE_SHARE, MOST_MB, MOST_SCRAPE_MS = 0.5, 4e3, 5e3

Row = dict[str, Any]


def sandbox(zones: int) -> AbstractContextManager[Child]:
    """Run the local platform with a number of zones, and little else."""
    words = ("sandbox", "--port", port := free_port(), "--zones", zones, "--scripts", 0, "--shield-zones", 0)
    return started(own("exporter", *words), f"http://127.0.0.1:{port}", "/openapi.json")


@contextmanager
def exporters(folder: Path, platform: str, zones: int, total: int, database: str) -> Iterator[list[Exporter]]:
    """Run all shards of a total, with the counters in a file each, or in a PostgreSQL if its address is given.

    Search ends at 10,000 results, on the sandbox as on the platform: the ids of more zones come from a file.
    """
    ids = folder / "ids"
    ids.write_text("".join(f"{zone}\n" for zone in range(FIRST_ZONE_ID, FIRST_ZONE_ID + zones)))
    with ExitStack() as stack:
        running = []
        for index in range(total):
            home = folder / f"{'database' if database else FILES}-{total}-{index}"
            home.mkdir()
            state = {"url": database, "installation": f"of-{total}"} if database else {"path": str(home / "state.db")}
            shard = {"index": index, "total": total}
            settings = polling_zones(platform, {"ids_file": str(ids)}, 10_000, INTERVAL, state, shard=shard)
            # It looks up the names.
            settings["collectors"]["discovery"] = {"interval": "600s"}
            running.append(stack.enter_context(exporter_running(settings, home)))
        yield running


def scrapes(running: Sequence[Exporter], times: int) -> Iterator[tuple[float, float, float]]:
    """Scrape every shard; return of each the median in milliseconds, and its megabytes as sent and plain."""
    for exporter in running:
        taken = [Scraper(exporter.url, "gzip").scrape() for _ in range(times)]
        body = taken[-1][1]
        yield median(seconds for seconds, _ in taken) * 1e3, len(body) / 1e6, len(gzip.decompress(body)) / 1e6


def measure(folder: Path, platform: Child, zones: int, total: int, postgres: Postgres | None) -> Row:
    """Run a number of shards, with the counters in a file each or in a new database; return the row of the table.

    Calls a CPU second are by the exporters' own processor time, memory is of all shards together; scrapes in quiet are
    those of the slowest or largest shard.
    """
    database = "" if postgres is None else postgres.new_database()
    began = time.monotonic()
    busy = [0.0]
    with exporters(folder, platform.url, zones, total, database) as running:

        def sums(family: str, **labels: str) -> list[float]:
            return [sum_of(one.url, family, **labels) for one in running]

        def is_polled(enough: int) -> bool:
            if enough > 1 and time.monotonic() - scraped[-1] > SCRAPE_EVERY:
                busy.extend(ms for ms, *_ in scrapes(running, 1))
                scraped.append(time.monotonic())
            return sum(sums("edge_api_requests_total", operation="dns_statistics", code="200")) >= enough

        def now() -> tuple[float, float, float, float]:
            of_database = 0.0 if postgres is None else sum(map(cpu_seconds, children(postgres.pid)))
            used = sum(cpu_seconds(one.pid) for one in running)
            return time.monotonic(), used, cpu_seconds(platform.pid), of_database

        scraped = [time.monotonic()]
        wait(lambda: is_polled(1), "the first poll", step=0.1)
        first = now()
        wait(lambda: is_polled(zones), f"{zones} polls", step=0.1)
        called = [new - old for new, old in zip(now(), first, strict=True)]
        up = {"family": "edge_target_up", "collector": "dns_statistics"}
        wait(lambda: sum(sums(**up)) >= zones, f"{zones} zones that are served", step=0.5)
        passed = [new - old for new, old in zip(now(), first, strict=True)]
        times, sent, plain = (max(column) for column in zip(*scrapes(running, SCRAPES), strict=True))
        held = [memory(one.pid) / 1e6 for one in running]
        seconds, commits = (
            sum(sums(f"edge_exporter_state_database_seconds_{what}", operation="commit")) for what in ("sum", "count")
        )
        return {
            "shards": total,
            "counters in": "PostgreSQL" if database else FILES,
            "zones": zones,
            "zones of the largest": int(max(sums(**up))),
            "s to first poll": first[0] - began,
            "s of whole round": passed[0],
            "calls/s": zones / called[0],
            "calls/CPU s": zones / called[1],
            "CPU of the sandbox": called[2] / called[0],
            "series": int(sum(sums("edge_exporter_series"))),
            "MB of all": sum(held),
            "MB of the largest": max(held),
            "ms of worst scrape": max(busy),
            "ms of gzip scrape": times,
            "MB of gzip scrape": sent,
            "MB of plain scrape": plain,
            "rows/s": zones / passed[0],
            "commits": int(commits) if database else None,
            "ms of a commit": seconds / commits * 1e3 if database else None,
            "CPU of PostgreSQL": passed[3] / passed[0] if database else None,
        }


def children(pid: int) -> list[int]:
    """Return a process and its children."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def commit_times(folder: Path, postgres: Postgres) -> Table:
    """Measure how long a commit takes: rows of a zone's size, in a state file and in a PostgreSQL."""
    url, group = postgres.new_database(), Group("commits", 1, "scale/1")
    table = Table("A commit, the median of several", ("rows", "ms into a file", "ms into a PostgreSQL"))
    with closing(StateFile(folder / "commits.db")) as file, closing(StateDatabase(lambda: url, 600.0)) as database:
        database.prepare()
        held = {0: LeaseTable(database, group).claim(0)}

        def to_database(rows: Mapping[PollKey, StateRow]) -> object:
            return database.commit({key: (0, row) for key, row in rows.items()}, group, held)

        def milliseconds(commit: Callable[[Mapping[PollKey, StateRow]], object], size: int, number: int) -> float:
            row = StateRow("zone.example", float(number), bytes([number]) * ROW_BYTES)
            rows = {PollKey.of("dns_statistics", "main", "dns_zone", str(zone)): row for zone in range(size)}
            began = time.perf_counter()
            commit(rows)
            return (time.perf_counter() - began) * 1e3

        for size in COMMITS:
            commits = (file.commit, to_database)
            table.add(size, *(median(milliseconds(each, size, number) for number in range(ROUNDS)) for each in commits))
    return table


def line(rows: Sequence[Row], cost: str) -> tuple[float, float]:
    """Fit a cost's part for each process, and its part for each zone; one row gives a line through 0."""
    measured = [(row["zones of the largest"], row[cost]) for row in rows]
    if len({zones for zones, _ in measured}) > 1:
        slope, base = linear_regression(*zip(*measured, strict=True))
        if slope > 0 and base > 0:
            return base, slope
    zones, most = max(measured)
    return 0.0, most / zones


def forecast(rows: Sequence[Row]) -> Table:
    """Extrapolate the rows in straight lines; what needs most shards, or the budgets, is the first limit."""
    demand, budget = MANY_ZONES / MANY_INTERVAL, ACCOUNTS * BUDGET
    (base, a_zone), (scrape, of_zone) = (line(rows, cost) for cost in ("MB of the largest", "ms of worst scrape"))
    shards = {
        "calls": math.ceil(demand / (min(row["calls/CPU s"] for row in rows) * CORE_SHARE)),
        "memory": math.ceil(MANY_ZONES * a_zone / (MOST_MB - base)),
        "scrapes": math.ceil(MANY_ZONES * of_zone / (MOST_SCRAPE_MS - scrape)) if of_zone else 1,
    }
    zones, largest = MANY_ZONES / max(shards.values()), rows[0]
    figures: list[tuple[Cell, ...]] = [
        ("calls/s that are needed", demand),
        ("calls/s that the default budgets allow", budget),
        ("minutes of a round with these", MANY_ZONES / budget / 60),
        *((f"shards for the {what}", number) for what, number in shards.items()),
        ("MB of a shard", base + zones * a_zone),
        ("kB of a zone", a_zone * 1e3),
        *(
            (f"MB of a {what} scrape", zones * largest[f"MB of {what} scrape"] / largest["zones of the largest"])
            for what in ("gzip", "plain")
        ),
        ("million series", MANY_ZONES / 1e6 * largest["series"] / largest["zones"]),
    ]
    title = f"On paper: {MANY_ZONES:,} zones in {ACCOUNTS} accounts, every {MANY_INTERVAL:g} s"
    return Table(title, ("figure", "value"), figures)


@click.command(help=__doc__)
@click.option("--zones", default=100_000, show_default=True)
@click.option("--shards", default="1,2,4,8", show_default=True, help="Numbers of exporter processes, one run each.")
@click.option("--postgres", "with_postgres", is_flag=True, help="Each number again with the counters in a PostgreSQL.")
def main(zones: int, shards: str, *, with_postgres: bool) -> None:
    """Run the simulation that the command line describes."""
    click.echo(f"{zones:,} zones; {os.cpu_count()} cores for the sandbox and all shards together")
    rows: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        platform = stack.enter_context(sandbox(zones))
        postgres = stack.enter_context(postgres_running(folder)) if with_postgres else None
        for total in map(int, shards.split(",")):
            for where in (None, postgres) if postgres is not None else (None,):
                rows.append(measure(folder, platform, zones, total, where))
                # Each run takes minutes, and an interruption of the next one should not cost this one. A column a run.
                names = ("", *(f"{row['shards']} {row['counters in']}" for row in rows))
                Table("A first round", names, [(key, *(row[key] for row in rows)) for key in rows[0]]).show()
        if postgres is not None:
            commit_times(folder, postgres).show()
    forecast([row for row in rows if row["counters in"] == FILES]).show()


if __name__ == "__main__":
    main()
