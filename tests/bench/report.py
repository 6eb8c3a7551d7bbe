"""Formats measurements as tables for people and as JSON."""

import json
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
    """A table with a title; None in a cell means that there is no value."""

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
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return "" if cell is None else f"{cell:,}" if isinstance(cell, int) else cell


def save(path: Path, tables: list[Table]) -> None:
    """Write tables as JSON."""
    plain = [
        {"title": table.title, "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows]}
        for table in tables
    ]
    path.write_text(json.dumps({"machine": machine(), "tables": plain}, indent=2) + "\n")


def machine() -> str:
    """Describe the machine in a line."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    cores = len(os.sched_getaffinity(0))
    of = cpu[1] if cpu else platform.machine()
    return f"{cores} cores of {of}, Linux {platform.release()}, Python {platform.python_version()}"
