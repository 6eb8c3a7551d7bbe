"""Simulates very many zones: `python -m tests.scale.run [--zones 100000] [--shards 1,2,4,8] [--postgres]`.

For each number of shards it starts as many exporters on one sandbox, and watches and scrapes them in their first round,
in which every zone is due at once and polls go as fast as they can. All of it shares the cores of this machine, so that
rates are reported by the exporters' processor seconds, too: on machines of their own, exporters are limited by their
own core, and not by each other's and the sandbox's.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

import click

from exporter.sandbox.dns_zones import FIRST_ZONE_ID
from tests.bench.load import Scraper
from tests.bench.measured_process import cpu_seconds, get, memory, own, polling_zones, started, sum_of, wait
from tests.bench.report import Cell, Table
from tests.counters.exporter_process import Exporter, exporter_running
from tests.ports import free_port
from tests.postgres import Postgres, postgres_running

# Long enough for a round to end before the next one begins.
INTERVAL = 3600.0


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
            home = folder / f"{index}-of-{total}"
            state = {"url": database, "installation": f"of-{total}"} if database else {"path": str(home / "state.db")}
            shard = {"index": index, "total": total}
            settings = polling_zones(platform, {"ids_file": str(ids)}, 10_000, INTERVAL, state, shard=shard)
            # It looks up the names.
            settings["collectors"]["discovery"] = {"interval": "600s"}
            running.append(stack.enter_context(exporter_running(settings, home)))
        yield running


def measure(folder: Path, platform: str, zones: int, total: int, postgres: Postgres | None) -> dict[str, Cell]:
    """Run a number of shards, with the counters in a file each or in a new database; return a column of the table.

    The worst scrape is the slowest of all shards during the round; the sizes are those of the largest shard's scrape.
    """
    database = "" if postgres is None else postgres.new_database()
    began, durations = time.monotonic(), list[float]()
    with exporters(folder, platform, zones, total, database) as running:

        def sum_of_all(family: str, **labels: str) -> float:
            return sum(sum_of(one.url, family, **labels) for one in running)

        def calls() -> float:
            return sum_of_all("edge_api_requests_total", operation="dns_statistics", code="200")

        def scrapes() -> list[tuple[float, bytes]]:
            return [Scraper(one.url, "gzip").scrape() for one in running]

        def plain() -> list[bytes]:
            return [get(f"{one.url}/metrics") for one in running]

        def is_polled() -> bool:
            durations.extend(seconds for seconds, _ in scrapes())
            return calls() >= zones

        pids = [one.pid for one in running]
        wait(calls, "the first poll", step=0.1)
        first, used_before = time.monotonic(), sum(map(cpu_seconds, pids))
        wait(is_polled, f"{zones} polls", step=0.5)
        polled, used = time.monotonic(), sum(map(cpu_seconds, pids)) - used_before
        wait(lambda: sum(text.count(b"\nedge_dns_queries_total{") for text in plain()) >= zones, "series of all zones")
        served = time.monotonic()
        held = [memory(pid) / 1e6 for pid in pids]
        return {
            "series": int(sum_of_all("edge_exporter_series")),
            "s to first poll": first - began,
            "s of whole round": served - first,
            "calls/s": zones / (polled - first),
            "calls/CPU s": zones / used,
            "MB of all": sum(held),
            "MB of the largest": max(held),
            "ms of worst scrape": max(durations) * 1e3,
            "MB of gzip scrape": max(len(body) for _, body in scrapes()) / 1e6,
            "MB of plain scrape": max(map(len, plain())) / 1e6,
        }


@click.command(help=__doc__)
@click.option("--zones", default=100_000, show_default=True)
@click.option("--shards", default="1,2,4,8", show_default=True, help="Numbers of exporter processes, one run each.")
@click.option("--postgres", "with_postgres", is_flag=True, help="Each number again with the counters in a PostgreSQL.")
def main(zones: int, shards: str, *, with_postgres: bool) -> None:
    """Run the simulation that the command line describes."""
    click.echo(f"{zones:,} zones; {os.cpu_count()} cores for the sandbox and all shards together")
    columns: dict[str, dict[str, Cell]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        sandbox = own("exporter", "sandbox", "--port", port, "--zones", zones, "--scripts", 0, "--shield-zones", 0)
        platform = stack.enter_context(started(sandbox, f"http://127.0.0.1:{port}", "/openapi.json"))
        states: dict[str, Postgres | None] = {"files": None}
        if with_postgres:
            states["PostgreSQL"] = stack.enter_context(postgres_running(folder))
        for total, state in product(map(int, shards.split(",")), states):
            column = columns[f"{total} {state}"] = measure(folder, platform.url, zones, total, states[state])
            # Each run takes minutes, and an interruption of the next one should not cost this one.
            rows = [(name, *(each[name] for each in columns.values())) for name in column]
            Table("A first round", ("", *columns), rows).show()


if __name__ == "__main__":
    main()
