"""Tables for people: as wide as they need to be where a program reads them, as wide as the terminal otherwise."""

import io
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence

from exporter.terminal import escape

# Wide enough for anything: lines are cut to what is in them.
_UNLIMITED = 10_000
_GAP = 2


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
        width: the characters of a line; None leaves every row on a line of its own, however long.
        folded: columns that may be broken into lines where the width does not suffice; the others stay whole.
        colours: a cell's text → its colour; for terminals.
    """
    from rich.console import Console  # noqa: PLC0415 - loaded where there is a table to make
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for column in columns:
        table.add_column(column, no_wrap=width is None or column not in folded, overflow="fold")
    for row in rows:
        table.add_row(*(Text(escape(cell, keep="\n"), style=(colours or {}).get(cell, "")) for cell in row))
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or _UNLIMITED,
        force_terminal=bool(colours),
        color_system="standard" if colours else None,
        legacy_windows=False,
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def natural_width(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """How wide a table is that breaks nothing."""
    from rich.cells import cell_len  # noqa: PLC0415

    table = [columns, *([escape(cell, keep="\n") for cell in row] for row in rows)]
    return sum(max(cell_len(row[place]) for row in table) + _GAP for place in range(len(columns))) - _GAP
