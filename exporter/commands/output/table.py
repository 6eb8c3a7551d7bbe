"""Formats tables: as wide as the terminal, or as wide as needed where a program reads them."""

import os
from collections.abc import Iterable, Mapping, Sequence

import click

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
    from wcwidth import wcswidth  # noqa: PLC0415 - only for commands that print a table

    shown = colours if colours and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR") else {}
    plain = [[escape(cell, keep="\n") for cell in row] for row in rows]
    cells = [[click.style(cell, fg=shown[cell]) if cell in shown else cell for cell in row] for row in plain]
    headings = [click.style(column, bold=True) for column in columns] if shown else list(columns)
    sizes = [
        max(wcswidth(line) for cell in column for line in cell.split("\n"))
        for column in zip(columns, *plain, strict=True)
    ]
    excess = 0 if width is None else sum(sizes) + _GAP * (len(sizes) - 1) - width
    widest: dict[int, int] = {}
    for place in sorted((columns.index(name) for name in folded), key=lambda place: -sizes[place]):
        spare = max(0, min(excess, sizes[place] - _LEAST_FOLDED))
        widest[place], excess = sizes[place] - spare, excess - spare
    if excess <= 0:
        return _table([headings, *cells], [widest.get(place) for place in range(len(columns))])
    paragraphs = []
    for row in cells:
        for place, cell in enumerate(row):
            indent = " " * (_GAP if place else 0)
            paragraphs += [indent + line for line in _table([[cell]], [(width or 0) - len(indent)]).split("\n") if line]
    return "\n".join(paragraphs)


def _table(rows: Sequence[Sequence[str]], widest: Sequence[int | None]) -> str:
    from tabulate import tabulate  # noqa: PLC0415 - as above

    # Headings of its own would be two characters wider than their text.
    made = tabulate(rows, tablefmt="plain", disable_numparse=True, maxcolwidths=widest)
    return "\n".join(line.rstrip() for line in made.split("\n"))
