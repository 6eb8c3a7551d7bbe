"""Makes panels and rows: a panel is its title, what it shows, what to do about it, how it is drawn, and its queries."""

from dataclasses import dataclass, replace

from dashboards.generator.colours import Thresholds, red_from
from dashboards.generator.page import Column, Panel, Query, Row, Stat, Table, View
from dashboards.generator.queries import figures

_RED_FROM_ONE = red_from(1)
_UNKNOWN = (
    " SILENT is an exporter that does not answer, OLD DATA an account without a good poll for two intervals: the figure"
    " is not known then."
)
# The time range of a tile: long enough to see when a problem began, short enough for points a minute apart.
_LATELY = "2h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile(Stat):
    """A figure that is green only while it is known.

    `none` is what it says where the configuration has nothing of its kind.
    """

    steps: Thresholds | None = _RED_FROM_ONE
    none: str = "none polled"
    height: int = 3
    trend: bool = True
    of: tuple[str, ...] | None = ()


def panel(title: str, shows: str, act: str, view: View, *content: Query | Column) -> Panel:
    """Make a panel; its content is queries or, in a table, columns and queries that only add labels."""
    columns = tuple(each for each in content if isinstance(each, Column))
    shown = (each.query for each in columns if each.query)
    queries = (
        *(Query(each) if isinstance(each, str) else each for each in shown),
        *(each for each in content if isinstance(each, Query)),
    )
    if isinstance(view, Table):
        view = replace(view, columns=columns)
    if isinstance(view, Stat) and view.of is not None:
        (query,) = queries
        reasons = (figures.SILENT, figures.old(*view.of)) if view.of else (figures.SILENT,)
        queries = (replace(query, expr=figures.known(query.expr, *reasons)),)
    if isinstance(view, Tile) or (isinstance(view, Stat) and view.of is not None):
        view = replace(view, words=(*view.words, *figures.WORDS))
    if isinstance(view, Tile):
        act += _UNKNOWN
        view = replace(view, since=_LATELY if view.trend else "")
    return Panel(title, shows, act, view, queries)


def row(title: str, widths: tuple[int, ...], *panels: Panel, folded: bool = False) -> Row:
    """Make a row of panels with these widths; those of panels beside each other add up to 24."""
    placed = (replace(each, width=width) for each, width in zip(panels, widths, strict=True))
    return Row(title, tuple(placed), folded=folded)
