"""Zone: all that is known of one DNS zone, for the way down from every table."""

from dataclasses import replace

from dashboards.generator import annotations, columns, links, variables
from dashboards.generator.colours import UP_OR_DOWN
from dashboards.generator.page import QUERIES, Column, Page, Panel, Query, Stat, StateTimeline, Table, TimeSeries
from dashboards.generator.pages import dns
from dashboards.generator.pages.dns import OUT_OF_LINE, RATE, RECORD_TYPES, TODAY, USUAL_BY_NOW
from dashboards.generator.pages.dns_scans import (
    SCAN_CREATED,
    SCAN_DURATION,
    SCAN_PROXIED,
    SCAN_RECORDS,
    SCAN_STATE,
    SCAN_STATES,
    ZONES,
)
from dashboards.generator.panels import Tile, panel, row
from dashboards.generator.promql import bottom, highest, lowest, top, total
from dashboards.generator.queries import figures, findings
from dashboards.generator.queries.figures import SILENT, measured, old, staleness
from dashboards.generator.selectors import ACCOUNT, ZONE, gauge

# Targets are named by kind and id; a choice of several zones is a regular expression.
_TARGET = 'target=~"dns_zone/($zone)"'
_UP = gauge("edge_target_up", ACCOUNT, _TARGET)
_TYPES = ZONES.gauge("edge_dns_window_record_queries")

_NOW = row(
    "Now",
    (6, 6, 6, 6),
    panel(
        "Queries a second",
        "DNS queries a second of the zone, over the last four polls.",
        "Compare with the same time a day and a week before, below.",
        Stat(trend=True, unit=QUERIES, height=3),
        RATE,
    ),
    panel(
        "Against its past",
        "Queries of the last 20 minutes against the same time yesterday or, where Prometheus holds no yesterday,"
        " against the hour before.",
        "Below 60 %: check the zone's delegation and its name servers. Above 300 %: look at the record types, and"
        " who asks.",
        Tile(of=None, unit="percentunit", decimals=0, steps=OUT_OF_LINE, none="no past yet"),
        Query(measured(f"min({findings.against_past(ZONE)})", SILENT, old("dns_statistics")), "of the usual"),
    ),
    panel(
        "Today so far",
        "Queries of the UTC day that has begun, and what was there by this time on the days before.",
        "Compare with the band of the last 30 days, below.",
        Stat(height=3),
        TODAY,
        USUAL_BY_NOW,
    ),
    panel(
        "Oldest values",
        "The time since the last success for this zone, in intervals of its collector.",
        "After three intervals the zone's series end.",
        Tile(unit="suffix: intervals", decimals=1, steps=figures.STALE, trend=False),
        Query(highest(staleness(_TARGET)), "oldest"),
    ),
)


def _of_dns(title: str) -> Panel:
    """Take a panel of the DNS page: there it is of all zones chosen, here of one."""
    return next(panel for panel in dns.PAGE.panels if panel.title == title)


_QUERIES = row(
    "Queries",
    (12, 12, 10, 7, 7),
    _of_dns("Queries against the same time before"),
    _of_dns("Today against the last 30 days"),
    _of_dns("Queries a day"),
    panel(
        "Record types, 30 days",
        "Queries of the platform's window by record type, the 15 most asked for.",
        "Much ANY, TXT or unassigned types (TYPE and a number) is most often a scan or an amplification attempt.",
        Table(sort="Queries"),
        Column("Type", label="record_type", width=90),
        Column("Queries", RECORD_TYPES),
        Column(
            "Share",
            f"{top(total(_TYPES, 'record_type'), 15)} / on () group_left () sum({_TYPES})",
            unit="percentunit",
            decimals=1,
        ),
    ),
    _of_dns("Routing"),
)

_RECORDS = row(
    "Records and polls",
    (24, 12, 12),
    panel(
        "Scans",
        "The zone's latest scan of records: its state, when it began, how long it took, what it found.",
        "A failed scan is started again at the platform; one that is open for an hour is stuck.",
        Table(sort="Created", height=6, none="The zone was never scanned."),
        replace(columns.ACCOUNT, width=90),
        Column("Domain", label="domain"),
        Column("State", label="status", words=SCAN_STATES, width=95),
        columns.moment("Created", SCAN_CREATED, width=120),
        Column("Took", SCAN_DURATION, unit="s", width=90),
        Column("Records", SCAN_RECORDS, width=90),
        Column("Proxied", SCAN_PROXIED, width=90),
        Query(SCAN_STATE),
    ),
    panel(
        "Polls",
        "Whether the last poll of each collector of the zone went well.",
        "One collector: a permission, or that part of the platform. Both: the zone was deleted, or the account"
        " does not answer.",
        StateTimeline(height=8, words=UP_OR_DOWN),
        Query(bottom(lowest(_UP, "collector"), 8), "{{collector}}"),
    ),
    panel(
        "Records by type",
        "Records that the latest scan found, by type.",
        "After an unexpected step, compare the zone with its source.",
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
    annotations=annotations.ON_EVERY_PAGE,
    ranked=True,
)
