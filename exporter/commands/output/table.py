"""Formats tables: as wide as the terminal, or as wide as needed where a program reads them."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

import click

from exporter.terminal import escape

_GAP = 2
# The smallest width of a column that may be broken; in narrower tables each row becomes a paragraph.
_LEAST_FOLDED = 16

Cells = Sequence[Sequence[str]]


def terminal_width() -> int | None:
    """Return the width of the terminal; None if standard output is not one."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


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
    cells = _escaped(rows)
    shown = colours if colours and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR") else {}
    widths = _widths([columns, *cells])
    can_fold = [column in folded for column in columns]
    if width is not None and not _fits(widths, can_fold, width):
        return "\n".join(line for row in cells for line in _paragraph(row, width, shown))
    if width is not None:
        _narrow(widths, can_fold, width)
    heading = "".join(_padded(column, size + _GAP) for column, size in zip(columns, widths, strict=True)).rstrip()
    lines = [click.style(heading, bold=True) if shown else heading]
    for row in cells:
        folds = [list(_fold(cell, size)) for cell, size in zip(row, widths, strict=True)]
        styles = [shown.get(cell) for cell in row]
        for parts in zip_longest(*folds, fillvalue=""):
            padded = (
                _padded(part, size + _GAP, colour) for part, size, colour in zip(parts, widths, styles, strict=True)
            )
            lines.append("".join(padded).rstrip())
    return "\n".join(lines)


def natural_width(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> int:
    """Return the width of a table in which no cell is broken."""
    return _total(_widths([columns, *_escaped(rows)]))


def _escaped(rows: Iterable[Sequence[str]]) -> list[list[str]]:
    return [[escape(cell, keep="\n") for cell in row] for row in rows]


def _widths(cells: Cells) -> list[int]:
    return [
        max(_cell_width(line) for cell in column for line in cell.split("\n")) for column in zip(*cells, strict=True)
    ]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _fits(widths: Sequence[int], can_fold: Sequence[bool], width: int) -> bool:
    """Return whether each column that may be broken stays wide enough to read."""
    least = [min(size, _LEAST_FOLDED) if folds else size for size, folds in zip(widths, can_fold, strict=True)]
    return _total(least) <= width


def _narrow(widths: list[int], can_fold: Sequence[bool], width: int) -> None:
    """Take from the widest of the columns that may be broken until the table fits."""
    foldable = [place for place, folds in enumerate(can_fold) if folds]
    while _total(widths) > width:
        widths[max(foldable, key=widths.__getitem__)] -= 1


def _paragraph(row: Sequence[str], width: int, colours: Mapping[str, str]) -> Iterator[str]:
    for place, cell in enumerate(row):
        indent = _GAP if place else 0
        if cell or not place:
            for line in _fold(cell, width - indent):
                yield " " * indent + _padded(line, 0, colours.get(cell))


def _fold(text: str, width: int) -> Iterator[str]:
    """Break a text at blanks into lines of this width; a word that is wider is broken itself."""
    for line in text.split("\n"):
        if _cell_width(line) <= width:
            yield line
            continue
        folded = ""
        for word in line.split():
            joined = f"{folded} {word}" if folded else word
            if _cell_width(joined) <= width:
                folded = joined
                continue
            if folded:
                yield folded
            *whole, folded = _chopped(word, width)
            yield from whole
        yield folded


def _cell_width(text: str) -> int:
    """Return how many columns of a terminal a text takes; some characters take two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - for names beyond ASCII alone

    return cell_len(text)


def _chopped(word: str, width: int) -> list[str]:
    from rich.cells import chop_cells  # noqa: PLC0415 - for words that are wider than their column

    return chop_cells(word, width)


def _padded(text: str, width: int, colour: str | None = None) -> str:
    styled = click.style(text, fg=colour) if colour and text else text
    return styled + " " * (width - _cell_width(text))
