"""Formats measurements as tables."""

import os
import platform
import re
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table as Printed

Cell = str | float | int | None
WIDTH = 240


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
        printed = Printed(*self.columns, box=box.MARKDOWN)
        for row in self.rows:
            printed.add_row(*map(_text, row))
        console = Console(width=WIDTH, markup=False, highlight=False, emoji=False)
        console.print(f"### {self.title}", printed, sep="\n")


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
