"""Formats tables with rich: as wide as the terminal, or as wide as needed where a program reads them."""

import io
import os
from collections.abc import Iterable, Mapping, Sequence

from exporter.foreign.terminal import escape

_GAP = 2
# The smallest width of a column that may be broken; in narrower tables each row becomes a paragraph.
_LEAST_FOLDED = 16


def lay_out(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int | None,
    *,
    folded: Sequence[str] = (),
    colours: Mapping[str, str] | None = None,
) -> str:
    """Return a table as text, without trailing blanks; control characters other than line breaks are escaped.

    Args:
        columns: the headings.
        rows: the cells.
        width: the characters of a line; None leaves every row on one line, however long. If it is too narrow for a
            table, each row is a paragraph: its first cell, and the others below it.
        folded: columns whose cells may be broken into lines if the width does not suffice; the others are never broken.
        colours: a cell's text → its colour; for terminals.
    """
    # Rich takes longer to import than most commands take; completion and `call` with an operation print no table.
    from rich.cells import cell_len  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    shown = colours if colours and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR") else {}
    cells = [[Text(escape(cell, keep="\n"), style=shown.get(cell, "")) for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    natural = least = -_GAP
    for place, column in enumerate(columns):
        lines = [column, *(line for row in cells for line in row[place].plain.split("\n"))]
        size = max(map(cell_len, lines))
        natural += size + _GAP
        least += (min(size, _LEAST_FOLDED) if column in folded else size) + _GAP
        table.add_column(column, no_wrap=column not in folded, overflow="fold")
    console = Console(
        file=io.StringIO(),
        width=width or natural,
        height=25,
        force_terminal=bool(shown),
        color_system="standard" if shown else None,
    )
    with console.capture() as capture:
        if width is None or least <= width:
            for row in cells:
                table.add_row(*row)
            console.print(table)
        else:
            for row in cells:
                for place, cell in enumerate(row):
                    console.print(Padding(cell, (0, 0, 0, _GAP if place else 0), expand=False))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
