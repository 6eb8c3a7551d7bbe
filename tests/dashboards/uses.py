"""Lists every query of the dashboards, and replaces Grafana's variables in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dashboards.generator.all_pages import PAGES
from dashboards.generator.page import Query


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
        query: the query, with Grafana's variables in it.
        instant: whether only the newest value is requested.
    """

    page: str
    kind: Kind
    place: str
    query: Query
    instant: bool = False


def _uses() -> Iterator[Use]:
    for page in PAGES:
        for variable in page.variables:
            yield Use(page.uid, Kind.VARIABLE, variable.name, Query(variable.expr, step="1m"), instant=True)
        for one in page.annotations:
            yield Use(page.uid, Kind.ANNOTATION, one.name, one.query)
        for panel in page.panels:
            yield from (Use(page.uid, Kind.PANEL, panel.title, one, panel.instant) for one in panel.queries)


# Every query of every panel, variable and annotation, in reading order.
USES = tuple(_uses())


def filled_in(use: Use, *, span: str = "1h") -> str:
    """Replace Grafana's variables by values, as Grafana does if every choice is All and a ranking shows ten.

    Args:
        use: the query.
        span: the time range of the page.
    """
    # Grafana's own rule: four of the query's least steps, where the graph's step is not longer.
    number, unit = int(use.query.step[:-1]), use.query.step[-1]
    expr = use.query.expr.replace("$__rate_interval", f"{4 * number}{unit}").replace("$__range", span)
    expr = re.sub(r"\$top\b", "10", expr)
    return re.sub(r"\$[a-z_]+", ".*", expr)
