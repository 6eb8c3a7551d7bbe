"""Makes panels and rows from their texts, views, queries and columns."""

from collections.abc import Iterable
from dataclasses import replace

from dashboards.generator.page import Column, Panel, Query, Row, Table, Tile, View
from dashboards.generator.queries import figures


def panel(title: str, shows: str, act: str, view: View, *content: str | Query | Column) -> Panel:
    """Make a panel of its texts, view and content, which are queries and, for a table, columns.

    The queries of a table add labels to the rows of its columns.
    """
    columns = tuple(each for each in content if isinstance(each, Column))
    of_columns = _queries(column.query for column in columns if column.query)
    others = _queries(each for each in content if not isinstance(each, Column))
    if isinstance(view, Table):
        view = replace(view, columns=columns)
    plain = Panel(title, shows, act, view, of_columns + others)
    return _tile(plain, view) if isinstance(view, Tile) else plain


def _queries(written: Iterable[str | Query]) -> tuple[Query, ...]:
    return tuple(Query(each) if isinstance(each, str) else each for each in written)


def _tile(plain: Panel, view: Tile) -> Panel:
    (query,) = plain.queries
    query = replace(query, expr=figures.count_or_reason(query.expr, *view.unknown))
    meanings = ", ".join(f"{reason.word.text} if {reason.means}" for reason in view.unknown)
    act = f"{plain.act} If the figure is unknown, the tile says why: {meanings}."
    return replace(plain, act=act, view=replace(view, words=figures.WORDS), queries=(query,))


def row(title: str, widths: tuple[int, ...], *panels: Panel, folded: bool = False) -> Row:
    """Make a row of panels. The widths of panels that are next to each other add up to 24."""
    placed = (replace(each, width=width) for each, width in zip(panels, widths, strict=True))
    return Row(title, tuple(placed), folded=folded)
