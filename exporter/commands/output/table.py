"""Formats tables as text, which fit the terminal or have one line for each row."""

import os
from collections.abc import Iterable, Mapping, Sequence

import click
from tabulate import tabulate
from wcwidth import wcswidth

from exporter.untrusted.terminal import escape

_GAP = 2
# The least width of a column whose cells may be broken into lines, even on a narrow terminal.
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
        width: the characters of a line; None leaves every row on one line, however long.
        folded: columns whose cells may be broken into lines if the width does not suffice; the others are never broken.
        colours: a cell's text → its colour; for terminals.
    """
    plain = [[escape(cell, keep="\n") for cell in row] for row in rows]
    sizes = {
        column: max(wcswidth(line) for cell in cells for line in cell.split("\n"))
        for column, *cells in zip(columns, columns, *plain, strict=True)
    }
    widest: dict[str, int] = {}
    if width is not None:
        left = width - sum(size + _GAP for column, size in sizes.items() if column not in folded) + _GAP
        # From the narrowest to the widest: what a column does not need of its share is left to the wider ones.
        for place, column in enumerate(sorted(folded, key=sizes.__getitem__)):
            widest[column] = max(_LEAST_FOLDED, min(sizes[column], left // (len(folded) - place) - _GAP))
            left -= widest[column] + _GAP
    shown = colours if colours and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR") else {}
    cells = [[click.style(cell, fg=shown[cell]) if cell in shown else cell for cell in row] for row in plain]
    headings = [click.style(column, bold=True) for column in columns] if shown else list(columns)
    # The headings are the first row: tabulate would make headings two characters wider.
    made = tabulate(
        [headings, *cells],
        tablefmt="plain",
        disable_numparse=True,
        maxcolwidths=[widest.get(column) for column in columns],
    )
    return "\n".join(line.rstrip() for line in made.split("\n"))
