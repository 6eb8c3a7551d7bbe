"""Zone: all that is known of one DNS zone, for the way down from every table."""

from dataclasses import replace

from dashboards.generator import columns, links, marks, variables
from dashboards.generator.page import (
    UP_OR_DOWN,
    Column,
    Page,
    Panel,
    Row,
    Timeline,
    table,
)
from dashboards.generator.pages import dns as dns_page
from dashboards.generator.pages.dns import OUT_OF_LINE
from dashboards.generator.pages.dns_scans import SCAN_STATES
from dashboards.generator.queries import dns, truth, zone
from dashboards.generator.tables import figure, tile

_NOW = Row(
    "Now",
    (
        figure(
            "Queries a second",
            "DNS queries a second of the zone, over the last four polls.",
            "Compare with the same time a day and a week before, below.",
            dns.RATE,
            trend=True,
            unit="reqps",
            height=3,
            width=6,
        ),
        tile(
            "Against its past",
            "Queries of the last 20 minutes against the same time yesterday or, where Prometheus holds no yesterday,"
            " against the hour before.",
            "Below 60 %: check the zone's delegation and its name servers. Above 300 %: look at the record types, and"
            " who asks.",
            zone.AGAINST_PAST,
            width=6,
            unit="percentunit",
            decimals=0,
            steps=OUT_OF_LINE,
            none="no past yet",
        ),
        figure(
            "Today so far",
            "Queries of the UTC day that has begun, and what was there by this time on the days before.",
            "Compare with the band of the last 30 days, below.",
            dns.TODAY,
            dns.USUAL_BY_NOW,
            width=6,
            height=3,
        ),
        tile(
            "Oldest values",
            "The time since the last success for this zone, in intervals of its collector.",
            "After three intervals the zone's series end.",
            zone.OLDEST,
            width=6,
            unit="suffix: intervals",
            decimals=1,
            steps=truth.STALE,
            trend=False,
        ),
    ),
)


def _of_dns(title: str, width: int) -> Panel:
    """Take a panel of the DNS page: there it is of all zones chosen, here of one."""
    return replace(next(panel for panel in dns_page.PAGE.panels if panel.title == title), width=width, height=8)


_QUERIES = Row(
    "Queries",
    (
        _of_dns("Queries against the same time before", 12),
        _of_dns("Today against the last 30 days", 12),
        _of_dns("Queries a day", 10),
        Panel(
            title="Record types, 30 days",
            shows="Queries of the platform's window by record type, the 15 most asked for.",
            act="Much ANY, TXT or unassigned types (TYPE and a number) is most often a scan or an amplification"
            " attempt.",
            queries=(dns.RECORD_TYPES, zone.RECORD_TYPE_SHARES),
            view=table(
                Column("Type", label="record_type", width=90),
                Column("Queries"),
                Column("Share", unit="percentunit", decimals=1),
                sort="Queries",
            ),
            width=7,
        ),
        _of_dns("Routing", 7),
    ),
)

_RECORDS = Row(
    "Records and polls",
    (
        Panel(
            title="Scans",
            shows="The zone's latest scan of records: its state, when it began, how long it took, what it found.",
            act="A failed scan is started again at the platform; one that is open for an hour is stuck.",
            queries=(dns.SCAN_CREATED, dns.SCAN_DURATION, dns.SCAN_RECORDS, dns.SCAN_PROXIED, dns.SCAN_STATE),
            view=table(
                replace(columns.ACCOUNT, width=90),
                Column("Domain", label="domain"),
                Column("State", label="status", words=SCAN_STATES, width=95),
                Column("Created", unit="dateTimeFromNow", width=120),
                Column("Took", unit="s", width=90),
                Column("Records", width=90),
                Column("Proxied", width=90),
                sort="Created",
            ),
            width=24,
            height=6,
            none="The zone was never scanned.",
        ),
        Panel(
            title="Polls",
            shows="Whether the last poll of each collector of the zone went well.",
            act="One collector: a permission, or that part of the platform. Both: the zone was deleted, or the account"
            " does not answer.",
            queries=(zone.POLLS,),
            view=Timeline(),
            width=12,
            height=8,
            words=UP_OR_DOWN,
        ),
        Panel(
            title="Records by type",
            shows="Records that the latest scan found, by type.",
            act="After an unexpected step, compare the zone with its source.",
            queries=(dns.RECORDS_OVER_TIME,),
            width=12,
        ),
    ),
)

PAGE = Page(
    uid=links.ZONE,
    title="Edge platform / Zone",
    about="One DNS zone: its queries against its own past, record types, routing, scans and polls. Choose it above.",
    variables=(variables.JOB, variables.ACCOUNTS, replace(variables.ZONES, single=True)),
    rows=(_NOW, _QUERIES, _RECORDS),
    marks=marks.ON_EVERY_PAGE,
    ranked=True,
)
