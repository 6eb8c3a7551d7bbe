"""What was measured, as a table for people and as JSON."""

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
    """Rows under a title; the first cells of a row name it."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell | None, ...]] = field(default_factory=list)

    def add(self, *cells: Cell | None) -> None:
        """Append a row; None where there is nothing to tell."""
        self.rows.append(cells)

    def markdown(self) -> str:
        """The table as Markdown."""
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
    """Collects tables, and prints each when it is whole."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._tables: list[Table] = []
        self._out.write(f"{machine()}\n\n")

    def add(self, table: Table) -> None:
        """Take in a table that is whole."""
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
    """The machine in a line."""
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
    """How many times `whole` a `part` is."""
    return part / whole if whole else float("nan")


def growth(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The power of the size with which a value grows, between the first size and the last."""
    return math.log(values[-1] / values[0]) / math.log(sizes[-1] / sizes[0])
