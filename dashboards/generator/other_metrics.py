"""Adds rows to pages for the metrics that no panel shows, with a generated panel for each metric."""

import re
from collections.abc import Sequence
from dataclasses import replace

from dashboards.generator import declared
from dashboards.generator.grafana import GRID
from dashboards.generator.page import Page, Panel, Row
from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.collector import Collector
from exporter.metric import FamilyInfo

TITLE = "Other metrics"
# The beginning of a family's name → the page that shows the family; the overview shows all others.
SUBJECTS = {"edge_dns_": "edge-dns", "edge_script_": "edge-scripts", "edge_shield_": "edge-shield"}
SUBJECTS |= dict.fromkeys(("edge_database_", "edge_container_", "edge_search_"), "edge-database")
OTHERS = "edge-overview"
_COLUMNS = 3


def with_remaining(pages: Sequence[Page]) -> tuple[Page, ...]:
    """Add folded rows with the metrics that no panel of any page shows, each to the page of the metrics' subject."""
    queries = [query for page in pages for panel in page.panels for query in panel.queries]
    shown = {name for query in queries for name in re.findall(r"\bedge_\w+", query.expr)}
    missing: dict[str, list[tuple[Collector, FamilyInfo]]] = {page.uid: [] for page in pages}
    for collector in CATALOGUE:
        for info in collector.families:
            if info.name not in shown:
                missing[_page_of(info.name)].append((collector, info))
    return tuple(_with_row(page, missing[page.uid]) for page in pages)


def _with_row(page: Page, missing: Sequence[tuple[Collector, FamilyInfo]]) -> Page:
    panels: list[Panel] = []
    for start in range(0, len(missing), _COLUMNS):
        line = missing[start : start + _COLUMNS]
        for collector, info in line:
            choices = [choice for choice in page.variables if choice.value in info.labels]
            matchers = tuple(f'{choice.value}=~"${choice.name}"' for choice in choices)
            panels.append(declared.panel(collector, info, matchers, GRID // len(line)))
    return replace(page, rows=(*page.rows, Row(TITLE, tuple(panels), folded=True))) if panels else page


def _page_of(family: str) -> str:
    return next((uid for beginning, uid in SUBJECTS.items() if family.startswith(beginning)), OTHERS)
