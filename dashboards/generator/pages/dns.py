"""DNS: queries of zones, and scans of their records."""

from dashboards.generator import columns, links, marks, variables
from dashboards.generator.page import (
    PLAIN,
    Bars,
    Colour,
    Column,
    Lines,
    Page,
    Panel,
    Row,
    Steps,
    red_from,
    table,
)
from dashboards.generator.pages import dns_scans
from dashboards.generator.queries import dns as queries
from dashboards.generator.tables import figure

# A day is out of line when it runs at less than half or more than double of the usual.
OUT_OF_LINE = Steps(Colour.BAD, ((0.5, Colour.WARN), (0.7, Colour.GOOD), (1.5, Colour.WARN), (2.0, Colour.BAD)))

_NOW = Row(
    "Now",
    (
        figure(
            "Queries a second",
            "DNS queries a second of the zones chosen, over the last four polls.",
            "Compare with the same time a day and a week before, below.",
            queries.RATE,
            trend=True,
            unit="reqps",
            width=5,
        ),
        figure(
            "Today so far",
            "Queries of the UTC day that has begun.",
            "Compare with the band of the last 30 days, below.",
            queries.TODAY,
            width=5,
        ),
        figure(
            "Last 30 days",
            "TotalQueriesServed of the platform's sliding window: it falls as old days leave.",
            "It changes slowly; a step is a zone that was added or removed.",
            queries.WINDOW,
            width=5,
        ),
        figure(
            "Statistics out of date",
            "Zones whose newest day in the platform's chart is older than yesterday.",
            "The platform no longer updates the statistics of these zones, and their counters do not change."
            " Report it to the platform if it lasts for more than a day.",
            queries.OLD_CHARTS,
            of=("dns_statistics",),
            width=5,
            steps=red_from(1),
        ),
        figure(
            "Scans failed",
            "Zones whose latest scan of records ended as Failed.",
            "The table of scans that need a look names them; start the scan again at the platform.",
            queries.SCANS_FAILED,
            of=("dns_record_scans",),
            width=4,
            steps=red_from(1),
        ),
    ),
)

_QUERIES = Row(
    "Queries",
    (
        Panel(
            title="Queries against the same time before",
            shows="Queries a second now, and those of the hour that ended a day before and a week before. The"
            " comparisons need that much of history in Prometheus; `edge-exporter backfill` brings it from the"
            " platform's charts, where every hour is its day's mean.",
            act="A drop of all zones at once is most often upstream: a registrar, an expired delegation, a resolver."
            " A rise of one record type is most often a faulty client.",
            queries=(queries.RATE, queries.RATE_YESTERDAY, queries.RATE_LAST_WEEK),
            view=Lines(dashed=("a day before", "a week before")),
            unit="reqps",
            width=12,
        ),
        Panel(
            title="Today against the last 30 days",
            shows="Queries of the UTC day so far, the lowest and highest closed day of the last 30, their mean, and"
            " what was there by this time yesterday and a week ago. The band is as wide as Prometheus's history;"
            " without any it is the mean that the platform gives.",
            act="Far below what is usual by this time: compare zones in the table below. Above the band: look for the"
            " zone that surges, and whether its answers are cached with a TTL that is too short.",
            queries=(
                queries.TODAY,
                queries.USUAL_BY_NOW,
                queries.LOWEST_DAY,
                queries.HIGHEST_DAY,
                queries.MEAN_DAY,
            ),
            view=Lines(
                dashed=("usual by this time", "lowest of 30 days", "highest of 30 days", "mean of 30 days"),
                band=("lowest of 30 days", "highest of 30 days"),
            ),
            width=12,
        ),
        Panel(
            title="Top zones",
            shows="Queries a second of the zones with the most queries today; how many is chosen at the top.",
            act="Click a zone in the table next to it to see it alone.",
            queries=(queries.RATE_OF_TOP_ZONES,),
            unit="reqps",
            width=12,
        ),
        Panel(
            title="Zones furthest from usual",
            shows="Today's queries against those by the same time yesterday and a week ago, for zones of more than 100"
            " queries a day; the furthest off first, up or down.",
            act="Below half: check the zone's delegation and its name servers at the registrar. Above double: look at"
            " its record types, and who asks.",
            queries=(queries.UNUSUAL_DISTANCE, queries.UNUSUAL_ZONES),
            view=table(
                columns.DOMAIN,
                Column("Account", label="account", width=90),
                Column("Zone", label="zone_id", hidden=True),
                Column("Off by", unit="suffix: times", decimals=1, width=115),
                Column("Pace", unit="percentunit", decimals=0, steps=OUT_OF_LINE, width=75),
                sort="Off by",
            ),
            width=12,
        ),
        Panel(
            title="Queries a day",
            shows="The total of each closed UTC day of the last 30, whatever the time range; each bar is at the"
            " day's end.",
            act="Days before the exporter's first are brought by `edge-exporter backfill`. A day that is missing later"
            " is one on which Prometheus did not run.",
            queries=(queries.CLOSED_DAYS,),
            view=Lines(bars=True),
            width=10,
            since="30d",
        ),
        Panel(
            title="Record types, 30 days",
            shows="Queries of the platform's window by record type, the 15 most asked for.",
            act="Much ANY, TXT or unassigned types (TYPE and a number) is most often a scan or an amplification"
            " attempt.",
            queries=(queries.RECORD_TYPES,),
            view=Bars(),
            width=7,
            steps=PLAIN,
        ),
        Panel(
            title="Routing",
            shows="Queries a second, of the UTC day so far, and of the platform's window of 30 days, by routing.",
            act="Smart routing is charged for: compare its share of today with that of the 30 days.",
            queries=(queries.RATE_BY_ROUTING, queries.ROUTING_TODAY, queries.ROUTING_WINDOW),
            view=table(
                Column("Routing", label="routing"),
                Column("Now", unit="reqps"),
                Column("Today"),
                Column("30 days"),
                sort="30 days",
            ),
            width=7,
        ),
        Panel(
            title="Zones",
            shows="Zones with the most queries today; at most 100. The usual day is the mean of the platform's window"
            " without today; the pace is today against the same time of yesterday and of a week ago or, where"
            " Prometheus holds neither, against the share of the day that is over.",
            act="A pace far from 100 % on a busy zone is worth a look; early in the UTC day it is rough.",
            queries=(
                queries.ZONE_TODAY,
                queries.ZONE_USUAL,
                queries.ZONE_AGAINST_USUAL,
                queries.ZONE_WINDOW,
                queries.ZONE_RATE,
            ),
            view=table(
                columns.ACCOUNT,
                columns.ZONE_ID,
                columns.DOMAIN,
                Column("Today"),
                Column("Usual day"),
                Column("Pace", unit="percentunit", decimals=0, steps=OUT_OF_LINE),
                Column("30 days"),
                Column("Now", unit="reqps"),
                sort="Today",
            ),
            width=24,
            height=10,
        ),
    ),
)

PAGE = Page(
    uid=links.DNS,
    title="Edge platform / DNS",
    about="Queries by zone, record type and routing, today against the last 30 days, and the scans of records.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.ZONES),
    rows=(_NOW, _QUERIES, dns_scans.SCANS),
    ranked=True,
    marks=marks.ON_EVERY_PAGE,
)
