"""Lists all pages, and every query in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dashboards.generator.page import Page, Query
from dashboards.generator.pages import database, dns, exporter, overview, scripts, shield, zone
from dashboards.generator.without_panel import with_remaining

WRITTEN: tuple[Page, ...] = (
    overview.PAGE,
    dns.PAGE,
    zone.PAGE,
    scripts.PAGE,
    shield.PAGE,
    database.PAGE,
    exporter.PAGE,
)
PAGES = with_remaining(WRITTEN)


class Kind(StrEnum):
    """The use of a query."""

    PANEL = "panel"
    VARIABLE = "variable"
    ANNOTATION = "annotation"


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a query.

    Attributes:
        page: the uid of the dashboard.
        kind: the kind of use.
        place: the panel's title, or the name of the variable or of the annotation.
        expr: the expression, with Grafana's variables in it.
        step: the least distance of two points.
        instant: whether only the newest value is requested.
        quiet: for a query that finds nothing if all is well: the event after which it finds something.
    """

    page: str
    kind: Kind
    place: str
    expr: str
    step: str
    instant: bool
    quiet: str


def queries(pages: tuple[Page, ...] = PAGES) -> tuple[Use, ...]:
    """List every query of every panel, variable and annotation, in reading order."""
    return tuple(use for page in pages for use in _of_page(page))


def _of_page(page: Page) -> Iterator[Use]:
    for variable in page.variables:
        yield Use(page.uid, Kind.VARIABLE, variable.name, variable.expr, "1m", instant=True, quiet="")
    for one in page.annotations:
        yield _use(page, Kind.ANNOTATION, one.name, one.query, instant=False)
    for panel in page.panels:
        for query in panel.queries:
            yield _use(page, Kind.PANEL, panel.title, query, instant=panel.instant)


def _use(page: Page, kind: Kind, place: str, query: Query, *, instant: bool) -> Use:
    return Use(page.uid, kind, place, query.expr, query.step, instant=instant, quiet=query.quiet)


def filled_in(use: Use, *, span: str = "1h", chosen: str = ".*", limit: int = 10) -> str:
    """Replace Grafana's variables by values, as Grafana does if every choice is All.

    Args:
        use: the query.
        span: the time range of the page.
        chosen: the value of each choice at the top of the page.
        limit: how many series a ranking shows.
    """
    # Grafana's own rule: four of the query's least steps, where the graph's step is not longer.
    number, unit = int(use.step[:-1]), use.step[-1]
    expr = use.expr.replace("$__rate_interval", f"{4 * number}{unit}").replace("$__range", span)
    expr = re.sub(r"\$top\b", str(limit), expr)
    return re.sub(r"\$[a-z_]+", chosen, expr)
