"""Tables for people: as wide as they need to be where a program reads them, as wide as the terminal otherwise."""

import io
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence

from exporter.terminal import escape

# Wide enough for anything: lines are cut to what is in them.
_UNLIMITED = 10_000
_GAP = 2
# A column that is broken into lines is no narrower: below, each row is a paragraph.
_LEAST_FOLDED = 16


def terminal_width() -> int | None:
    """The width of the terminal that standard output is; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def lay_out(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int | None,
    *,
    folded: Sequence[str] = (),
    colours: Mapping[str, str] | None = None,
) -> str:
    """A table as text, without trailing blanks; control characters in its cells are escaped, line breaks aside.

    Args:
        columns: the headings.
        rows: the cells.
        width: the characters of a line; None leaves every row on a line of its own, however long. Where it is too
            narrow for a table, each row is a paragraph: its first cell, and the others below it.
        folded: columns that may be broken into lines where the width does not suffice; the others stay whole.
        colours: a cell's text → its colour; for terminals.
    """
    from rich.console import Console  # noqa: PLC0415 - loaded where there is a table to make
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    cells = [[escape(cell, keep="\n") for cell in row] for row in rows]
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or _UNLIMITED,
        force_terminal=bool(colours),
        color_system="standard" if colours and os.environ.get("TERM") != "dumb" else None,
        legacy_windows=False,
    )
    if width is not None and not _fits(columns, cells, width, folded):
        for row in cells:
            first, *others = (Text(cell, style=(colours or {}).get(cell, "")) for cell in row)
            console.print(first, overflow="fold")
            for text in others:
                if text.plain:
                    console.print(Padding(text, (0, 0, 0, _GAP)), overflow="fold")
        return _stripped(out.getvalue())
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=width is None or column not in folded, overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell, style=(colours or {}).get(cell, "")) for cell in row))
    console.print(table)
    return _stripped(out.getvalue())


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def _fits(columns: Sequence[str], cells: Sequence[Sequence[str]], width: int, folded: Sequence[str]) -> bool:
    """Whether each column that may be broken keeps a width that can be read."""
    least = 0
    for place, column in enumerate(columns):
        widest = max((_cell_width(cell) for cell in (column, *(row[place] for row in cells))), default=0)
        least += (min(widest, _LEAST_FOLDED) if column in folded else widest) + _GAP
    return least - _GAP <= width


def _cell_width(cell: str) -> int:
    from rich.cells import cell_len  # noqa: PLC0415 - see lay_out

    return max((cell_len(line) for line in cell.splitlines()), default=0)


def natural_width(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """How wide a table is that breaks nothing."""
    from rich.cells import cell_len  # noqa: PLC0415

    table = [columns, *([escape(cell, keep="\n") for cell in row] for row in rows)]
    return sum(max(cell_len(row[place]) for row in table) + _GAP for place in range(len(columns))) - _GAP
