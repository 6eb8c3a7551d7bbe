"""Metrics without a hand-written panel are in a generated row at the end of their dashboard."""

import json
from dataclasses import replace
from typing import Any

import promql_parser

from dashboards.generator.grafana import generate
from dashboards.generator.inventory import WRITTEN, queries
from dashboards.generator.page import Page
from dashboards.generator.remaining import TITLE, with_remaining
from exporter.collectors import container_tags, scripts
from exporter.collectors.collector import Collector
from exporter.metric import Metric


def page_with(collector: Collector, uid: str) -> Page:
    """Return a page with one more collector in the catalogue."""
    return next(page for page in with_remaining(WRITTEN, [collector]) if page.uid == uid)


def scripts_with(*metrics: Metric[Any]) -> Collector:
    """Return the collector of scripts with only these metrics."""
    return replace(scripts.COLLECTOR, metrics=metrics)


NEW_GAUGE: Metric[Any] = Metric("edge_script_new", "Something new (Field), polled.", value=lambda _: 1)
NEW_COUNTER: Metric[Any] = Metric("edge_script_new_total", "Something counted (Field), polled.", counted=lambda _: None)


def test_a_new_metric_has_a_panel_on_the_page_of_its_subject_without_any_written_for_it() -> None:
    page = page_with(scripts_with(NEW_GAUGE), "edge-scripts")
    row = page.rows[-1]
    ((panel,), (query,)) = row.panels, row.panels[0].queries
    assert (row.title, row.folded, panel.title, panel.width) == (TITLE, True, "edge_script_new", 24)
    assert (panel.shows, query.step, query.legend) == (NEW_GAUGE.help, "15m", "{{script_id}} {{script}}")
    assert 'edge_script_new{job=~"$job", account=~"$account", script_id=~"$script"}' in query.expr


def test_a_new_counter_is_shown_by_its_rate() -> None:
    (query,) = page_with(scripts_with(NEW_COUNTER), "edge-scripts").rows[-1].panels[0].queries
    assert "rate(edge_script_new_total{" in query.expr


def test_a_metric_without_a_page_of_its_subject_stands_on_the_overview() -> None:
    collector = replace(container_tags.COLLECTOR, metrics=(replace(NEW_GAUGE, name="edge_container_new"),))
    assert page_with(collector, "edge-overview").rows[-1].panels[0].title == "edge_container_new"


def test_generated_panels_fill_their_row_and_ask_what_prometheus_understands() -> None:
    metrics = [replace(NEW_GAUGE, name=f"edge_script_new_{number}") for number in "abcde"]
    page = page_with(scripts_with(*metrics), "edge-scripts")
    assert [panel.width for panel in page.rows[-1].panels] == [8, 8, 8, 12, 12]
    assert TITLE in {panel["title"] for panel in json.loads(generate(page))["panels"]}
    for use in queries((page,)):
        if "edge_script_new" in use.expr:
            promql_parser.parse(use.expr.replace("$__rate_interval", "1h"))


def test_what_hand_made_panels_show_is_not_shown_twice() -> None:
    assert with_remaining(WRITTEN, [scripts_with(scripts.COLLECTOR.metrics[0])]) == WRITTEN
