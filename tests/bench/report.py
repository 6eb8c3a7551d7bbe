"""Formats measurements as tables."""

import os
import platform
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tabulate import tabulate

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a title; None or NaN in a cell means that there is no value."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]] = field(default_factory=list)

    def add(self, *cells: Cell) -> None:
        """Append a row."""
        self.rows.append(cells)

    def show(self) -> None:
        """Print it as Markdown."""
        rows = [list(map(_text, row)) for row in self.rows]
        sys.stdout.write(f"### {self.title}\n\n{tabulate(rows, self.columns, 'github', disable_numparse=True)}\n\n")


def _text(cell: Cell) -> str:
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def machine() -> str:
    """Describe the machine in a line."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    cores, of = len(os.sched_getaffinity(0)), cpu[1] if cpu else platform.machine()
    return f"{cores} cores of {of}, Linux {platform.release()}, Python {platform.python_version()}"
