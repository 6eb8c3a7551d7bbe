"""DNS: queries of zones, and scans of their records."""

from dashboards.generator import columns, links, variables
from dashboards.generator.colours import Colour, Thresholds, Word, warn_then_red
from dashboards.generator.intervals import DAY, HISTORY
from dashboards.generator.page import QUERIES, Column, Page, Query, Stat, Table, Tile, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import top, total
from dashboards.generator.queries.figures import SILENT, old_data
from dashboards.generator.selectors import ACCOUNT, AT_END, ZONE, age, increase
from dashboards.generator.target_series import TargetSeries

ZONES = TargetSeries((ACCOUNT, ZONE), ("account", "zone_id"), ("account", "zone_id", "domain"))
TABLE_ROWS = 100
_DAY = ZONES.gauge("edge_dns_day_queries")
_WINDOW = ZONES.gauge("edge_dns_window_queries")
# The window has 31 or 32 buckets including today; without today it has about 30 closed days.
_USUAL = f"({_WINDOW} - {_DAY}) / 30"
# Days are in UTC. In the first hour of a day its fraction is too small to divide by.
_DAY_FRACTION = "scalar(clamp_min(vector((time() % 86400) / 86400), 1 / 24))"


# The total of a closed day: the highest value of the day's gauge, or else the backfilled counter.
_COUNTED = total(increase("edge_dns_queries_total", *ZONES.chosen, over="1d"))
_CLOSED_DAY = f"(max_over_time(sum({_DAY})[1d:1h]) or {_COUNTED})"
# Ratios of very little traffic are meaningless.
_BUSY = f"({_USUAL} > 100)"
# Traffic depends on the hour, so the day so far is compared with the same time yesterday and a week ago. If Prometheus
# has neither, it is compared with the usual day in proportion to the elapsed time.
_YESTERDAY = ZONES.gauge("edge_dns_day_queries", at=" offset 1d")
_LAST_WEEK = ZONES.gauge("edge_dns_day_queries", at=" offset 1w")
_BY_NOW = f"(({_YESTERDAY} + {_LAST_WEEK}) / 2 or {_LAST_WEEK} or {_YESTERDAY} or {_USUAL} * {_DAY_FRACTION})"
_AGAINST_USUAL = f"({_DAY} / ({_BY_NOW} > 0) and {_BUSY})"
_BUSIEST = top(ZONES.gauge("edge_dns_day_queries", at=AT_END))
_SHOWN = top(_DAY, TABLE_ROWS)
_TYPES = ZONES.gauge("edge_dns_window_record_queries")
_RATE = ZONES.rate("edge_dns_queries_total")
_ROUTED = ZONES.rate("edge_dns_routed_queries_total")

# Red below half of the usual, and from double of it on.
_OUT_OF_LINE = Thresholds(Colour.BAD, ((0.5, Colour.WARN), (0.7, Colour.GOOD), (1.5, Colour.WARN), (2.0, Colour.BAD)))

_NOW = row(
    "Now",
    (8, 8, 8),
    panel(
        "Queries a second",
        "DNS queries a second of the chosen zones, over at least the last four polls.",
        "Compare with the same time a day and a week before, in the graph below.",
        Stat(unit=QUERIES),
        total(_RATE),
    ),
    panel(
        "Today so far",
        "Queries of the current UTC day.",
        "Compare with the days before, in the bars below: the day is not over.",
        Stat(),
        total(_DAY),
    ),
    panel(
        "Statistics out of date",
        "Zones whose newest day in the platform's chart is older than yesterday; their counters do not change.",
        "Report it to the platform if it lasts for more than a day.",
        Tile(unknown=(SILENT, old_data("dns_statistics"))),
        total(f"{age('edge_dns_day_start_timestamp_seconds', *ZONES.chosen)} > bool 2 * 86400"),
    ),
)

_QUERIES = row(
    "Queries",
    (12, 12, 10, 7, 7, 24),
    panel(
        "Queries against the same time before",
        "Queries a second now, a day before and a week before. `edge-exporter backfill` can load an earlier past.",
        "If all zones drop at once, the cause is most often upstream: a registrar, an expired delegation, a resolver."
        " If one record type rises, it is most often a faulty client.",
        TimeSeries(unit=QUERIES, dashed=("a day before", "a week before")),
        Query(total(_RATE), "queries"),
        *(
            Query(
                total(ZONES.rate("edge_dns_queries_total", at=f" offset {offset}")),
                f"a {unit} before",
                step=HISTORY,
                quiet=f"Prometheus has held the counters for a {unit}",
            )
            for offset, unit in (("1d", "day"), ("1w", "week"))
        ),
    ),
    panel(
        "Top zones",
        "Queries a second of the zones with the most queries today. The choice Top sets how many.",
        "Click a zone in the table of zones to see it alone.",
        TimeSeries(unit=QUERIES),
        Query(ZONES.among(ZONES.total(_RATE), _BUSIEST), "{{domain}} ({{zone_id}})"),
    ),
    panel(
        "Queries a day",
        "The total of each of the last 30 closed UTC days, for any time range; each bar is at the day's end.",
        "`edge-exporter backfill` can load the days before the exporter's first. On a day that is missing later,"
        " nothing was scraped.",
        TimeSeries(since="30d", bars=True),
        Query(_CLOSED_DAY, "queries", step=DAY),
    ),
    panel(
        "Record types, 30 days",
        "Queries of the platform's window of 30 days by record type; the 15 with the most.",
        "Many queries of ANY, TXT or unnamed types (`other`) are most often a scan or an amplification attempt.",
        Table(sort="Queries"),
        Column("Type", label="record_type", width=90),
        Column("Queries", top(total(_TYPES, "record_type"), 15)),
        Column(
            "Share",
            f"{top(total(_TYPES, 'record_type'), 15)} / on () group_left () sum({_TYPES})",
            unit="percentunit",
            decimals=1,
        ),
    ),
    panel(
        "Routing",
        "Queries by routing: a second, in the UTC day so far, and in the platform's window of 30 days.",
        "Compare the share of smart routing today with that of the 30 days.",
        Table(sort="30 days"),
        Column("Routing", label="routing"),
        Column("Now", total(_ROUTED, "routing"), unit=QUERIES, width=130),
        Column("Today", total(ZONES.gauge("edge_dns_day_routed_queries"), "routing")),
        Column("30 days", total(ZONES.gauge("edge_dns_window_routed_queries"), "routing")),
    ),
    panel(
        "Zones",
        "Zones with the most queries today; at most 100. Usual day: the mean of the window without today. Pace: today"
        " compared with this time yesterday and a week ago or, without these, with the elapsed part of a usual day.",
        "Look at a busy zone whose pace is far from 100 %. Early in the UTC day the pace is inexact.",
        Table(sort="Today", height=10),
        *columns.OF_ZONE,
        Column("Today", ZONES.highest(_SHOWN)),
        Column("Usual day", ZONES.ranked(_USUAL, _SHOWN)),
        Column("Pace", ZONES.ranked(_AGAINST_USUAL, _SHOWN), unit="percentunit", decimals=0, steps=_OUT_OF_LINE),
        Column("30 days", ZONES.ranked(_WINDOW, _SHOWN)),
        Column("Now", ZONES.among(ZONES.total(_RATE), _SHOWN), unit=QUERIES),
        columns.moment("Changed", ZONES.ranked(ZONES.gauge("edge_dns_statistics_changed_timestamp_seconds"), _SHOWN)),
    ),
)

_STATUS = ZONES.gauge("edge_dns_record_scan_status")
_NEVER = f'label_replace({ZONES.gauge("edge_dns_record_scan_found")} == 0, "status", "never", "", "")'
_CREATED = ZONES.gauge("edge_dns_record_scan_created_timestamp_seconds")
_COMPLETED = ZONES.gauge("edge_dns_record_scan_completed_timestamp_seconds")
_FAILED = ZONES.gauge("edge_dns_record_scan_status", 'status="failed"')
_OPEN = ZONES.gauge("edge_dns_record_scan_status", 'status=~"pending|in_progress"')
_SINCE_CREATED = age("edge_dns_record_scan_created_timestamp_seconds", *ZONES.chosen)
_OPEN_FOR = f"({_SINCE_CREATED} and on (account, zone_id) ({_OPEN} == 1))"
_FAILED_FOR = f"({_SINCE_CREATED} and on (account, zone_id) ({_FAILED} == 1))"
_TROUBLED_FOR = top(f"({_FAILED_FOR} or {_OPEN_FOR} > 3600)", TABLE_ROWS)
_TROUBLED = "a scan ends as Failed, or stays open for an hour"
_NEWEST = top(_CREATED, TABLE_ROWS)

_STATE = Column(
    "State",
    label="status",
    words=(
        Word("pending", "pending", Colour.INFO),
        Word("in_progress", "in progress", Colour.INFO),
        Word("completed", "completed", Colour.GOOD),
        Word("failed", "FAILED", Colour.BAD),
        Word("unknown", "unknown", Colour.WARN),
        Word("never", "never scanned", Colour.QUIET),
    ),
    width=120,
)

_SCANS = row(
    "Record scans",
    (24, 24),
    panel(
        "Scans that need a look",
        "Scans that failed or have been open for over an hour, and zones that were never scanned; at most 100 of each.",
        "Start a failed scan again on the platform. If it fails again, look at the zone's name servers."
        " Report a scan that does not end to the platform, with the job id from the table below.",
        Table(sort="Age", height=6, none="No scan failed or is open for long, and every zone was scanned."),
        *columns.OF_ZONE,
        _STATE,
        Column("Age", Query(ZONES.highest(_TROUBLED_FOR), quiet=_TROUBLED), unit="s", steps=warn_then_red(0, 86400)),
        Query(ZONES.ranked(f"{_STATUS} == 1", _TROUBLED_FOR, "status"), quiet=_TROUBLED),
        Query(ZONES.highest(top(_NEVER, TABLE_ROWS), "status"), quiet="a zone is listed that was never scanned"),
    ),
    panel(
        "Latest scans",
        "The scans that were created last; at most 100.",
        "Report a scan that is pending or in progress for over an hour to the platform, with its job id.",
        Table(sort="Created", none="No zone was scanned."),
        *columns.OF_ZONE,
        _STATE,
        columns.moment("Created", ZONES.highest(_NEWEST), width=115),
        Column("Took", ZONES.ranked(f"({_COMPLETED} - {_CREATED})", _NEWEST), unit="s", width=85),
        Column("Records", ZONES.among(ZONES.total(ZONES.gauge("edge_dns_record_scan_records")), _NEWEST), width=90),
        Column("Proxied", ZONES.ranked(ZONES.gauge("edge_dns_record_scan_proxied_records"), _NEWEST), width=90),
        Column("Job", label="job_id", width=95),
        Query(ZONES.ranked(f"{_STATUS} == 1", _NEWEST, "status")),
        Query(ZONES.ranked(ZONES.gauge("edge_dns_record_scan_info"), _NEWEST, "job_id")),
    ),
)

PAGE = Page(
    uid=links.DNS,
    title="Edge platform / DNS",
    about="Queries by zone, record type and routing, today against the usual day, and the scans of records.",
    variables=(variables.JOB, variables.ACCOUNTS, variables.ZONES),
    rows=(_NOW, _QUERIES, _SCANS),
)
