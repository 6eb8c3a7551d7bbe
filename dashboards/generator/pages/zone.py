"""Zone: one DNS zone. Rows of tables on other pages link to this page."""

from dataclasses import replace

from dashboards.generator import links, variables
from dashboards.generator.colours import UP_OR_DOWN
from dashboards.generator.page import Page, Panel, Query, StateTimeline, TimeSeries
from dashboards.generator.pages import dns
from dashboards.generator.pages.dns import ZONES
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import lowest, total
from dashboards.generator.selectors import ACCOUNT, gauge

_UP = gauge("edge_target_up", ACCOUNT, 'target=~"dns_zone/$zone"')


def _dns_panel(title: str) -> Panel:
    return next(panel for panel in dns.PAGE.panels if panel.title == title)


_NOW = row("Now", (12, 12), _dns_panel("Queries a second"), _dns_panel("Today so far"))
_QUERIES = row(
    "Queries",
    (24, 10, 7, 7),
    _dns_panel("Queries against the same time before"),
    _dns_panel("Queries a day"),
    _dns_panel("Record types, 30 days"),
    _dns_panel("Routing"),
)
_RECORDS = row(
    "Records and polls",
    (24, 12, 12),
    _dns_panel("Latest scans"),
    panel(
        "Polls",
        "Whether the last poll of the zone by each collector succeeded, and its values are not too old.",
        "If one collector fails, the key lacks a permission, or that part of the platform has a problem. If all fail,"
        " the zone was deleted, or the whole account fails.",
        StateTimeline(words=UP_OR_DOWN),
        Query(lowest(_UP, "collector"), "{{collector}}"),
    ),
    panel(
        "Records by type",
        "Records that the latest scan found, by type.",
        "After an unexpected change, compare the zone with its source.",
        TimeSeries(),
        Query(total(ZONES.gauge("edge_dns_record_scan_records"), "record_type"), "{{record_type}}"),
    ),
)

PAGE = Page(
    uid=links.ZONE,
    title="Edge platform / Zone",
    about="One DNS zone: its queries against its own past, record types, routing, scans and polls. Choose it above.",
    variables=(variables.JOB, variables.ACCOUNTS, replace(variables.ZONES, single=True)),
    rows=(_NOW, _QUERIES, _RECORDS),
)
