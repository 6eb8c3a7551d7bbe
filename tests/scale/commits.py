"""Measures how long a commit takes: rows of a zone's size, in a state file and in a PostgreSQL."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from exporter.counters.lease_table import LeaseTable
from exporter.counters.state_database import Group, StateDatabase
from exporter.counters.state_file import StateFile
from exporter.counters.storage import Stored
from exporter.targets.target import PollKey
from tests.postgres import Postgres

SIZES = (20, 1000, 5000)
ROUNDS = 9
ROW_BYTES = 800
LEASE_SECONDS = 600.0

Rows = Mapping[PollKey, Stored]


@dataclass(frozen=True, slots=True)
class Commits:
    """The median time of commits with a number of rows each.

    Attributes:
        rows: the number of rows of a commit.
        file_seconds: into a state file.
        database_seconds: into a PostgreSQL.
    """

    rows: int
    file_seconds: float
    database_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.rows:>6,} rows: {self.file_seconds * 1e3:,.1f} ms into a file,"
            f" {self.database_seconds * 1e3:,.1f} ms into a PostgreSQL,"
            f" {self.rows / self.file_seconds:,.0f} and {self.rows / self.database_seconds:,.0f} rows/s"
        )


def measure_commits(folder: Path, postgres: Postgres) -> list[Commits]:
    """Write each size several times over the same rows, as polls of the same zones do."""
    url = postgres.new_database()
    file, database = StateFile(folder / "commits.db"), StateDatabase(lambda: url, LEASE_SECONDS)
    try:
        database.prepare()
        group = Group("commits", 1, "scale/1")
        held = {0: LeaseTable(database, group).claim(0)}

        def to_database(rows: Rows) -> object:
            return database.commit({key: (0, row) for key, row in rows.items()}, group, held)

        return [Commits(size, _median(file.commit, size), _median(to_database, size)) for size in SIZES]
    finally:
        file.close()
        database.close()


def _median(commit: Callable[[Rows], object], size: int) -> float:
    took = []
    for number in range(ROUNDS):
        row = Stored("zone.example", float(number), bytes([number]) * ROW_BYTES)
        rows = {PollKey.of("dns_statistics", "main", "dns_zone", str(zone)): row for zone in range(size)}
        began = time.perf_counter()
        commit(rows)
        took.append(time.perf_counter() - began)
    return median(took)
