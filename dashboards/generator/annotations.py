"""Defines the annotations of every page."""

from dashboards.generator.page import Annotation, Query
from dashboards.generator.promql import highest
from dashboards.generator.queries import alerts
from dashboards.generator.selectors import series

CRITICAL_ALERTS = Annotation(
    name="Critical alerts",
    query=alerts.CRITICAL,
    title="{{alertname}}",
    text="{{alertname}} fired.",
    colour="red",
)
RELOADS = Annotation(
    name="Reloads",
    query=Query(
        highest(
            f"(time() - {series('edge_exporter_config_last_reload_success_timestamp_seconds')}) < 60",
            "job",
            "instance",
        ),
        quiet="the exporter takes a configuration",
    ),
    title="{{instance}} reloaded",
    text="The exporter {{instance}} took a configuration.",
    colour="blue",
)
ON_EVERY_PAGE = (CRITICAL_ALERTS, RELOADS)
