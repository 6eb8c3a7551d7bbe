"""Adds a row to a page for metrics that no panel shows, with a generated panel for each metric."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dashboards.generator import intervals
from dashboards.generator.colours import NEUTRAL
from dashboards.generator.page import Page, Panel, Query, Row, TimeSeries
from dashboards.generator.promql import among, highest, top
from dashboards.generator.selectors import AT_END, gauge, rate
from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.collector import Collector
from exporter.metric import FamilyInfo, Kind

TITLE = "Other metrics"
MOST_SERIES = 10
# The beginning of a family's name → its page; all other families are on the overview.
SUBJECTS = {"edge_dns_": "edge-dns", "edge_script_": "edge-scripts", "edge_shield_": "edge-shield"}
SUBJECTS |= {"edge_database_": "edge-database"}
OTHERS = "edge-overview"
UNITS = {"seconds": "s", "dollars": "currencyUSD", "bytes": "bytes"}
_ACT = "Compare it with the days before: this panel is made from the metric's declaration, which knows of no threshold."
_COLUMNS = 3
_GRID = 24


def with_remaining(pages: Sequence[Page], collectors: Iterable[Collector] = CATALOGUE) -> tuple[Page, ...]:
    """Add to each page a folded row with the metrics of its subject that no panel of any page shows.

    Args:
        pages: the pages that are written by hand.
        collectors: the collectors whose metrics are shown.
    """
    shown = {
        name
        for page in pages
        for panel in page.panels
        for query in panel.queries
        for name in re.findall(r"\bedge_\w+", query.expr)
    }
    missing = [(collector, info) for collector in collectors for info in collector.families if info.name not in shown]
    return tuple(_with_row(page, [each for each in missing if _page_of(each[1]) == page.uid]) for page in pages)


def _page_of(info: FamilyInfo) -> str:
    return next((uid for beginning, uid in SUBJECTS.items() if info.name.startswith(beginning)), OTHERS)


def _with_row(page: Page, missing: Sequence[tuple[Collector, FamilyInfo]]) -> Page:
    if not missing:
        return page
    return replace(page, rows=(*page.rows, Row(TITLE, tuple(_panels(page, missing)), folded=True)))


def _panels(page: Page, missing: Sequence[tuple[Collector, FamilyInfo]]) -> Iterator[Panel]:
    for place, (collector, info) in enumerate(missing):
        beside = min(_COLUMNS, len(missing) - place // _COLUMNS * _COLUMNS)
        unit = "short" if info.kind is Kind.COUNTER else UNITS.get(info.unit, "short")
        view = TimeSeries(unit=unit, least=None, steps=NEUTRAL)
        yield Panel(info.name, info.help, _ACT, view, (_query(page, collector, info),), _GRID // beside)


def _query(page: Page, collector: Collector, info: FamilyInfo) -> Query:
    """Return a query for the series with the highest values at the end, with the choices of the page."""
    chosen = [f'{choice.value}=~"${choice.name}"' for choice in page.variables if choice.value in info.labels]
    expr, at_end = (_value(info, chosen, at) for at in ("", AT_END))
    if info.labels:
        ranking = top(highest(at_end, *info.labels), MOST_SERIES)
        expr = among(highest(expr, *info.labels), ranking, *info.labels)
    legend = " ".join(f"{{{{{label}}}}}" for label in info.labels if label != "account") or "{{account}}"
    return Query(expr, legend if info.labels else "", intervals.written(collector.interval))


def _value(info: FamilyInfo, chosen: Sequence[str], at: str) -> str:
    if info.kind is Kind.COUNTER:
        return rate(info.name, *chosen, at=at)
    if info.name.endswith("_timestamp_seconds"):
        return f"(time() - {gauge(info.name, *chosen, at=at)})"
    return gauge(info.name, *chosen, at=at)
