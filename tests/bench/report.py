"""Formats the measurements as a table for people and as JSON."""

import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

Cell = str | float | int


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title; the first cells of a row identify it."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell | None, ...]] = field(default_factory=list)

    def add(self, *cells: Cell | None) -> None:
        """Append a row; None in a cell means that there is no value."""
        self.rows.append(cells)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.columns, tuple("---" for _ in self.columns), *(tuple(map(_text, row)) for row in self.rows)]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"### {self.title}\n\n{body}\n"


def _text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


class Report:
    """Collects tables, and prints each when it is complete."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._tables: list[Table] = []
        self._out.write(f"{machine()}\n\n")

    def add(self, table: Table) -> None:
        """Add and print a complete table."""
        self._tables.append(table)
        self._out.write(table.markdown() + "\n")
        self._out.flush()

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        reported = {
            "machine": machine(),
            "tables": [
                {"title": table.title, "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows]}
                for table in self._tables
            ],
        }
        path.write_text(json.dumps(reported, indent=2) + "\n")


def machine() -> str:
    """Describe the machine in a line."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {cpu}, Linux {platform.release()}, Python {platform.python_version()}"


def ratio(part: float, whole: float) -> float:
    """Return how many times as large as `part` the `whole` is."""
    return part / whole if whole else float("nan")


def growth(sizes: Sequence[int], values: Sequence[float]) -> float:
    """Return the exponent with which a value grows with the size, between the first size and the last."""
    return math.log(values[-1] / values[0]) / math.log(sizes[-1] / sizes[0])
