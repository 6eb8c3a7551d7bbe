"""Makes panels and rows: a panel is its title, what it shows, what to do about it, how it is drawn, and its queries."""

from dataclasses import replace

from dashboards.generator.page import Column, Panel, Query, Row, Table, Tile, View
from dashboards.generator.queries import figures

_UNKNOWN = (
    " SILENT is an exporter that does not answer, OLD DATA an account without a good poll for two intervals: the figure"
    " is not known then."
)


def panel(title: str, shows: str, act: str, view: View, *content: str | Query | Column) -> Panel:
    """Make a panel; its content is queries or, in a table, columns and queries that only add labels."""
    columns = tuple(each for each in content if isinstance(each, Column))
    shown = [each.query for each in columns if each.query] + [each for each in content if not isinstance(each, Column)]
    queries = tuple(Query(each) if isinstance(each, str) else each for each in shown)
    if isinstance(view, Table):
        view = replace(view, columns=columns)
    if isinstance(view, Tile):
        act += _UNKNOWN
        if view.of is not None:
            (query,) = queries
            reasons = (figures.SILENT, figures.old(*view.of)) if view.of else (figures.SILENT,)
            queries = (replace(query, expr=figures.known(query.expr, *reasons)),)
        view = replace(view, words=figures.WORDS)
    return Panel(title, shows, act, view, queries)


def row(title: str, widths: tuple[int, ...], *panels: Panel, folded: bool = False) -> Row:
    """Make a row of panels with these widths; those of panels beside each other add up to 24."""
    placed = (replace(each, width=width) for each, width in zip(panels, widths, strict=True))
    return Row(title, tuple(placed), folded=folded)
