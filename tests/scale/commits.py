"""Measures how long a commit takes: rows of a zone's size, in a state file and in a PostgreSQL."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from exporter.counters.lease_table import LeaseTable
from exporter.counters.rows import Stored
from exporter.counters.state_database import Group, StateDatabase
from exporter.counters.state_file import StateFile
from exporter.targets.target import PollKey
from tests.bench.report import Table
from tests.postgres import Postgres

SIZES = (20, 1000, 5000)
ROUNDS = 9
ROW_BYTES = 800
LEASE_SECONDS = 600.0

Rows = Mapping[PollKey, Stored]


def measure_commits(folder: Path, postgres: Postgres) -> Table:
    """Write each size several times over the same rows, as polls of the same zones do."""
    url = postgres.new_database()
    file, database = StateFile(folder / "commits.db"), StateDatabase(lambda: url, LEASE_SECONDS)
    columns = ("rows", "ms into a file", "ms into a PostgreSQL", "rows/s into a file", "rows/s into a PostgreSQL")
    table = Table("A commit, the median of several", columns)
    try:
        database.prepare()
        group = Group("commits", 1, "scale/1")
        held = {0: LeaseTable(database, group).claim(0)}

        def to_database(rows: Rows) -> object:
            return database.commit({key: (0, row) for key, row in rows.items()}, group, held)

        for size in SIZES:
            took = [_median(commit, size) for commit in (file.commit, to_database)]
            table.add(size, *(seconds * 1e3 for seconds in took), *(size / seconds for seconds in took))
    finally:
        file.close()
        database.close()
    return table


def _median(commit: Callable[[Rows], object], size: int) -> float:
    took = []
    for number in range(ROUNDS):
        row = Stored("zone.example", float(number), bytes([number]) * ROW_BYTES)
        rows = {PollKey.of("dns_statistics", "main", "dns_zone", str(zone)): row for zone in range(size)}
        began = time.perf_counter()
        commit(rows)
        took.append(time.perf_counter() - began)
    return median(took)
