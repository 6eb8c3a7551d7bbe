"""Adds a row to a page for metrics that no panel shows, with a generated panel for each metric."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dashboards.generator import declared
from dashboards.generator.page import Page, Row
from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.collector import Collector

TITLE = "Other metrics"
# The beginning of a family's name → its page; all other families are on the overview.
SUBJECTS = {"edge_dns_": "edge-dns", "edge_script_": "edge-scripts", "edge_shield_": "edge-shield"}
SUBJECTS |= dict.fromkeys(("edge_database_", "edge_container_", "edge_search_"), "edge-database")
OTHERS = "edge-overview"
_COLUMNS = 3
_GRID = 24


def with_remaining(pages: Sequence[Page], collectors: Iterable[Collector] = CATALOGUE) -> tuple[Page, ...]:
    """Add to each page a folded row with the metrics of its subject that no panel of any page shows.

    Args:
        pages: the pages that are written by hand.
        collectors: the collectors whose metrics are shown.
    """
    queries = [query for page in pages for panel in page.panels for query in panel.queries]
    shown = {name for query in queries for name in re.findall(r"\bedge_\w+", query.expr)}
    every = tuple(collectors)
    return tuple(_with_row(page, every, shown) for page in pages)


def _with_row(page: Page, collectors: Sequence[Collector], shown: set[str]) -> Page:
    missing = [
        (collector, info)
        for collector in collectors
        for info in collector.families
        if info.name not in shown and _page_of(info.name) == page.uid
    ]
    panels = []
    for place, (collector, info) in enumerate(missing):
        beside = min(_COLUMNS, len(missing) - place // _COLUMNS * _COLUMNS)
        chosen = tuple(f'{choice.value}=~"${choice.name}"' for choice in page.variables if choice.value in info.labels)
        panels.append(declared.panel(collector, info, chosen, _GRID // beside))
    return replace(page, rows=(*page.rows, Row(TITLE, tuple(panels), folded=True))) if panels else page


def _page_of(family: str) -> str:
    return next((uid for beginning, uid in SUBJECTS.items() if family.startswith(beginning)), OTHERS)
