"""Metrics without a hand-written panel are in a generated row at the end of their dashboard."""

from dataclasses import replace
from typing import Any

from dashboards.generator.inventory import WRITTEN
from dashboards.generator.page import Page
from dashboards.generator.without_panel import TITLE, with_remaining
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
    row = page_with(scripts_with(NEW_GAUGE, NEW_COUNTER), "edge-scripts").rows[-1]
    (panel, counted), (query,) = row.panels, row.panels[0].queries
    assert (row.title, row.folded, panel.title, panel.width) == (TITLE, True, "Script new", 12)
    assert (counted.title, "rate(edge_script_new_total{" in counted.queries[0].expr) == ("Script new, a second", True)
    assert (panel.shows, query.step, query.legend) == (NEW_GAUGE.help, "15m", "{{account}} {{script}}")
    assert 'edge_script_new{job=~"$job", account=~"$account", script_id=~"$script"}' in query.expr


def test_a_metric_without_a_page_of_its_subject_stands_on_the_overview() -> None:
    collector = replace(container_tags.COLLECTOR, metrics=(replace(NEW_GAUGE, name="edge_new"),))
    assert page_with(collector, "edge-overview").rows[-1].panels[0].title == "New"


def test_what_hand_made_panels_show_is_not_shown_twice() -> None:
    assert with_remaining(WRITTEN, [scripts_with(scripts.COLLECTOR.metrics[0])]) == WRITTEN
