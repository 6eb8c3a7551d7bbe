"""DNS: queries of zones, and scans of their records."""

from dashboards.generator import annotations, columns, links, variables
from dashboards.generator.colours import PLAIN, Colour, Thresholds, red_from
from dashboards.generator.intervals import DAY, HISTORY
from dashboards.generator.page import QUERIES, BarGauge, Column, Page, Query, Stat, Table, TimeSeries
from dashboards.generator.pages.dns_scans import SCANS, SCANS_FAILED, TABLE_ROWS, ZONES
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import top, total
from dashboards.generator.selectors import AT_END, age, increase

_DAY = ZONES.gauge("edge_dns_day_queries")
_WINDOW = ZONES.gauge("edge_dns_window_queries")
# The window has 31 or 32 buckets including today; without today it has about 30 closed days.
_USUAL = f"({_WINDOW} - {_DAY}) / 30"
_USUAL_OF_ALL = f"(sum({_WINDOW}) - sum({_DAY})) / 30"
# Days are in UTC. In the first hour of a day its fraction is too small to divide by.
_DAY_FRACTION = "scalar(clamp_min(vector((time() % 86400) / 86400), 1 / 24))"


def _closed_days(increase_over: str) -> str:
    """Return the total of each closed day: the last value of the day's gauge, or else the backfilled counter."""
    counted = total(increase("edge_dns_queries_total", *ZONES.chosen, over=increase_over))
    return f"(max_over_time(sum({_DAY})[1d:1h]) or {counted})"


# The band reads one sample an hour, because all samples of 30 days would be slow.
_DAYS_OF_BAND = _closed_days("1d:1h")
# Ratios of very little traffic say nothing.
_BUSY = f"({_USUAL} > 100)"
# Traffic depends on the hour, so the day so far is compared with the same time yesterday and a week ago. If Prometheus
# has neither, it is compared with the usual day in proportion to the elapsed time.
_YESTERDAY = ZONES.gauge("edge_dns_day_queries", at=" offset 1d")
_LAST_WEEK = ZONES.gauge("edge_dns_day_queries", at=" offset 1w")
_BY_NOW = f"(({_YESTERDAY} + {_LAST_WEEK}) / 2 or {_LAST_WEEK} or {_YESTERDAY} or {_USUAL} * {_DAY_FRACTION})"
_BY_NOW_OF_ALL = (
    f"(sum({_YESTERDAY}) + sum({_LAST_WEEK})) / 2 or sum({_LAST_WEEK}) or sum({_YESTERDAY})"
    f" or {_USUAL_OF_ALL} * {_DAY_FRACTION}"
)
_AGAINST_USUAL = f"({_DAY} / ({_BY_NOW} > 0) and {_BUSY})"
_BUSIEST = top(ZONES.gauge("edge_dns_day_queries", at=AT_END))
_SHOWN = top(_DAY, TABLE_ROWS)
RATE = Query(total(ZONES.rate("edge_dns_queries_total")), "queries")
TODAY = Query(total(_DAY), "today so far")
USUAL_BY_NOW = Query(_BY_NOW_OF_ALL, "usual by this time")
RECORD_TYPES = Query(top(total(ZONES.gauge("edge_dns_window_record_queries"), "record_type"), 15), "{{record_type}}")
# The factor to the usual, up or down: 3 for three times of it and for a third. A silent zone ranks first.
_DISTANCE = top(f"clamp_max(exp(abs(ln({_AGAINST_USUAL}))), 1000)")

# A day is out of line when it runs at less than half or more than double of the usual.
OUT_OF_LINE = Thresholds(Colour.BAD, ((0.5, Colour.WARN), (0.7, Colour.GOOD), (1.5, Colour.WARN), (2.0, Colour.BAD)))

_NOW = row(
    "Now",
    (5, 5, 5, 5, 4),
    panel(
        "Queries a second",
        "DNS queries a second of the zones chosen, over the last four polls.",
        "Compare with the same time a day and a week before, below.",
        Stat(trend=True, unit=QUERIES),
        RATE,
    ),
    panel(
        "Today so far",
        "Queries of the UTC day that has begun.",
        "Compare with the band of the last 30 days, below.",
        Stat(),
        TODAY,
    ),
    panel(
        "Last 30 days",
        "TotalQueriesServed of the platform's sliding window: it falls as old days leave.",
        "It changes slowly; a step is a zone that was added or removed.",
        Stat(),
        Query(total(_WINDOW), "30 days"),
    ),
    panel(
        "Statistics out of date",
        "Zones whose newest day in the platform's chart is older than yesterday.",
        "The platform no longer updates the statistics of these zones, and their counters do not change."
        " Report it to the platform if it lasts for more than a day.",
        Stat(of=("dns_statistics",), steps=red_from(1)),
        Query(total(f"{age('edge_dns_day_start_timestamp_seconds', *ZONES.chosen)} > bool 2 * 86400"), "zones"),
    ),
    panel(
        "Scans failed",
        "Zones whose latest scan of records ended as Failed.",
        "The table of scans that need a look names them; start the scan again at the platform.",
        Stat(of=("dns_record_scans",), steps=red_from(1)),
        SCANS_FAILED,
    ),
)

_QUERIES = row(
    "Queries",
    (12, 12, 12, 12, 10, 7, 7, 24),
    panel(
        "Queries against the same time before",
        "Queries a second now, and those of the hour that ended a day before and a week before. The"
        " comparisons need that much of history in Prometheus; `edge-exporter backfill` brings it from the"
        " platform's charts, where every hour is its day's mean.",
        "A drop of all zones at once is most often upstream: a registrar, an expired delegation, a resolver."
        " A rise of one record type is most often a faulty client.",
        TimeSeries(unit=QUERIES, dashed=("a day before", "a week before")),
        RATE,
        Query(
            total(ZONES.rate("edge_dns_queries_total", at=" offset 1d")),
            "a day before",
            step=HISTORY,
            quiet="Prometheus has held the counters for a day",
        ),
        Query(
            total(ZONES.rate("edge_dns_queries_total", at=" offset 1w")),
            "a week before",
            step=HISTORY,
            quiet="Prometheus has held the counters for a week",
        ),
    ),
    panel(
        "Today against the last 30 days",
        "Queries of the UTC day so far, the lowest and highest closed day of the last 30, their mean, and"
        " what was there by this time yesterday and a week ago. The band is as wide as Prometheus's history;"
        " without any it is the mean that the platform gives.",
        "Far below what is usual by this time: compare zones in the table below. Above the band: look for the"
        " zone that surges, and whether its answers are cached with a TTL that is too short.",
        TimeSeries(
            dashed=("usual by this time", "lowest of 30 days", "highest of 30 days", "mean of 30 days"),
            band=("lowest of 30 days", "highest of 30 days"),
        ),
        TODAY,
        USUAL_BY_NOW,
        # If Prometheus has no closed day yet, the band is the mean of the platform's window.
        Query(f"min_over_time({_DAYS_OF_BAND}[30d:1d]) or {_USUAL_OF_ALL}", "lowest of 30 days"),
        Query(f"max_over_time({_DAYS_OF_BAND}[30d:1d]) or {_USUAL_OF_ALL}", "highest of 30 days"),
        Query(_USUAL_OF_ALL, "mean of 30 days"),
    ),
    panel(
        "Top zones",
        "Queries a second of the zones with the most queries today; how many is chosen at the top.",
        "Click a zone in the table next to it to see it alone.",
        TimeSeries(unit=QUERIES),
        Query(ZONES.among(ZONES.total(ZONES.rate("edge_dns_queries_total")), _BUSIEST), "{{domain}} ({{zone_id}})"),
    ),
    panel(
        "Zones furthest from usual",
        "Today's queries against those by the same time yesterday and a week ago, for zones of more than 100"
        " queries a day; the furthest off first, up or down.",
        "Below half: check the zone's delegation and its name servers at the registrar. Above double: look at"
        " its record types, and who asks.",
        Table(sort="Off by"),
        columns.DOMAIN,
        Column("Account", label="account", width=90),
        Column("Zone", label="zone_id", hidden=True),
        Column("Off by", ZONES.highest(_DISTANCE), unit="suffix: times", decimals=1, width=115),
        Column(
            "Pace", ZONES.ranked(_AGAINST_USUAL, _DISTANCE), unit="percentunit", decimals=0, steps=OUT_OF_LINE, width=75
        ),
    ),
    panel(
        "Queries a day",
        "The total of each closed UTC day of the last 30, whatever the time range; each bar is at the day's end.",
        "Days before the exporter's first are brought by `edge-exporter backfill`. A day that is missing later"
        " is one on which Prometheus did not run.",
        TimeSeries(since="30d", bars=True),
        Query(_closed_days("1d"), "queries", step=DAY),
    ),
    panel(
        "Record types, 30 days",
        "Queries of the platform's window by record type, the 15 most asked for.",
        "Much ANY, TXT or unassigned types (TYPE and a number) is most often a scan or an amplification attempt.",
        BarGauge(steps=PLAIN),
        RECORD_TYPES,
    ),
    panel(
        "Routing",
        "Queries a second, of the UTC day so far, and of the platform's window of 30 days, by routing.",
        "Smart routing is charged for: compare its share of today with that of the 30 days.",
        Table(sort="30 days"),
        Column("Routing", label="routing"),
        Column(
            "Now",
            Query(total(ZONES.rate("edge_dns_routed_queries_total"), "routing"), "{{routing}}"),
            unit=QUERIES,
            width=130,
        ),
        Column("Today", Query(total(ZONES.gauge("edge_dns_day_routed_queries"), "routing"), "{{routing}}")),
        Column("30 days", Query(total(ZONES.gauge("edge_dns_window_routed_queries"), "routing"), "{{routing}}")),
    ),
    panel(
        "Zones",
        "Zones with the most queries today; at most 100. The usual day is the mean of the platform's window"
        " without today; the pace is today against the same time of yesterday and of a week ago or, where"
        " Prometheus holds neither, against the share of the day that is over.",
        "A pace far from 100 % on a busy zone is worth a look; early in the UTC day it is rough.",
        Table(sort="Today", height=10),
        *columns.OF_ZONE,
        Column("Today", ZONES.highest(_SHOWN)),
        Column("Usual day", ZONES.ranked(_USUAL, _SHOWN)),
        Column("Pace", ZONES.ranked(_AGAINST_USUAL, _SHOWN), unit="percentunit", decimals=0, steps=OUT_OF_LINE),
        Column("30 days", ZONES.ranked(_WINDOW, _SHOWN)),
        Column("Now", ZONES.among(ZONES.total(ZONES.rate("edge_dns_queries_total")), _SHOWN), unit=QUERIES),
        columns.moment("Changed", ZONES.ranked(ZONES.gauge("edge_dns_statistics_changed_timestamp_seconds"), _SHOWN)),
    ),
)

PAGE = Page(
    uid=links.DNS,
    title="Edge platform / DNS",
    about="Queries by zone, record type and routing, today against the last 30 days, and the scans of records.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.ZONES),
    rows=(_NOW, _QUERIES, SCANS),
    ranked=True,
    annotations=annotations.ON_EVERY_PAGE,
)
