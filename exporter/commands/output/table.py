"""Formats tables as text, for a terminal, a pipe or a file."""

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
        width: the most characters in a line, exceeded if folding does not suffice; None for no limit.
        folded: the headings of columns whose cells may be broken into several lines to keep to `width`.
        colours: the text of a cell → the cell's colour. NO_COLOR or TERM=dumb in the environment switches colours off.
    """
    plain = [[escape(cell, keep="\n") for cell in row] for row in rows]
    folded_widths = {} if width is None else _folded_widths([columns, *plain], width, folded)
    if not colours or os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR"):
        colours = {}
    cells = [[_coloured(cell, colours) for cell in row] for row in plain]
    headings = [click.style(column, bold=True) for column in columns] if colours else list(columns)
    # The headings are passed as the first row, because tabulate would make its own headings two characters wider.
    table = tabulate(
        [headings, *cells],
        tablefmt="plain",
        disable_numparse=True,
        maxcolwidths=[folded_widths.get(column) for column in columns],
    )
    return "\n".join(line.rstrip() for line in table.split("\n"))


def _coloured(cell: str, colours: Mapping[str, str]) -> str:
    return click.style(cell, fg=colours[cell]) if cell in colours else cell


def _folded_widths(rows: Iterable[Sequence[str]], width: int, folded: Sequence[str]) -> dict[str, int]:
    """Return heading → width of each folded column; the first of `rows` contains the headings."""
    needed: dict[str, int] = {}
    for heading, *cells in zip(*rows, strict=True):
        needed[heading] = max(wcswidth(line) for cell in (heading, *cells) for line in cell.split("\n"))
    # There is no gap after the last column.
    left = width + _GAP - sum(size + _GAP for column, size in needed.items() if column not in folded)
    widths: dict[str, int] = {}
    # From the narrowest column to the widest, so that wider columns get the characters that narrower ones do not need.
    for column in sorted(folded, key=needed.__getitem__):
        columns_left = len(folded) - len(widths)
        share = left // columns_left - _GAP
        widths[column] = max(_LEAST_FOLDED, min(needed[column], share))
        left -= widths[column] + _GAP
    return widths
