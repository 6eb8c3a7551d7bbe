"""The DNS page's row of record scans."""

from dashboards.generator import columns
from dashboards.generator.colours import Colour, Word, warn_then_red
from dashboards.generator.page import Column, Query, Table
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import top, total
from dashboards.generator.selectors import ACCOUNT, ZONE, age
from dashboards.generator.things import Things

ZONES = Things((ACCOUNT, ZONE), ("account", "zone_id"), ("account", "zone_id", "domain"))
TABLE_ROWS = 100
_STATUS = ZONES.gauge("edge_dns_record_scan_status")
_FOUND = ZONES.gauge("edge_dns_record_scan_found")
_CREATED = ZONES.gauge("edge_dns_record_scan_created_timestamp_seconds")
_COMPLETED = ZONES.gauge("edge_dns_record_scan_completed_timestamp_seconds")
_FAILED = ZONES.gauge("edge_dns_record_scan_status", 'status="failed"')
_OPEN = ZONES.gauge("edge_dns_record_scan_status", 'status=~"pending|in_progress"')
_SINCE_CREATED = age("edge_dns_record_scan_created_timestamp_seconds", *ZONES.chosen)
_OPEN_FOR = f"({_SINCE_CREATED} and on (account, zone_id) ({_OPEN} == 1))"
_FAILED_FOR = f"({_SINCE_CREATED} and on (account, zone_id) ({_FAILED} == 1))"
_TROUBLED_FOR = top(f"({_FAILED_FOR} or {_OPEN_FOR} > 3600)", TABLE_ROWS)
SCANS_FAILED = Query(total(_FAILED), "failed")
_DURATION = f"({_COMPLETED} - {_CREATED})"
_NEWEST = top(_CREATED, TABLE_ROWS)
SCAN_STATE = ZONES.ranked(f"{_STATUS} == 1", _NEWEST, "status")
SCAN_CREATED = ZONES.highest(_NEWEST)
SCAN_DURATION = ZONES.ranked(_DURATION, _NEWEST)
SCAN_RECORDS = ZONES.among(ZONES.total(ZONES.gauge("edge_dns_record_scan_records")), _NEWEST)
SCAN_PROXIED = ZONES.ranked(ZONES.gauge("edge_dns_record_scan_proxied_records"), _NEWEST)

SCAN_STATES = (
    Word("pending", "pending", Colour.INFO),
    Word("in_progress", "in progress", Colour.INFO),
    Word("completed", "completed", Colour.GOOD),
    Word("failed", "FAILED", Colour.BAD),
    Word("unknown", "unknown", Colour.WARN),
)

SCANS = row(
    "Record scans",
    (16, 8, 24),
    panel(
        "Scans that need a look",
        "Scans that failed, and scans that have been open for more than an hour; at most 100.",
        "Start a failed scan again at the platform. If it fails again, look at the zone's name servers: a scan"
        " asks them. A stuck scan is the platform's; report it with the job id from the table below.",
        Table(sort="Age", none="No scan failed, and none is stuck."),
        *columns.OF_ZONE,
        Column("State", label="status", words=SCAN_STATES, width=100),
        Column(
            "Age",
            Query(ZONES.highest(_TROUBLED_FOR), quiet="a scan ends as Failed, or stays open for an hour"),
            unit="s",
            steps=warn_then_red(0, 86400),
        ),
        Query(
            ZONES.ranked(f"{_STATUS} == 1", _TROUBLED_FOR, "status"),
            quiet="a scan ends as Failed, or stays open for an hour",
        ),
    ),
    panel(
        "Never scanned",
        "Zones of which the platform has no scan of records; at most 100.",
        "Start a scan at the platform where one is wanted.",
        Table(sort="Domain", ascending=True, none="Every zone was scanned."),
        *columns.OF_ZONE,
        Query(ZONES.highest(top(f"({_FOUND} == 0)", TABLE_ROWS)), quiet="a zone is listed that was never scanned"),
    ),
    panel(
        "Latest scans",
        "The scans that were created last; at most 100.",
        "Read the state with the age: completed and old is healthy, pending and old is stuck.",
        Table(sort="Created"),
        *columns.OF_ZONE,
        Column("State", label="status", words=SCAN_STATES, width=100),
        columns.moment("Created", SCAN_CREATED, width=115),
        Column("Took", SCAN_DURATION, unit="s", width=85),
        Column("Records", SCAN_RECORDS, width=90),
        Column("Proxied", SCAN_PROXIED, width=90),
        Column("Job", label="job_id", width=95),
        Query(SCAN_STATE),
        Query(ZONES.ranked(ZONES.gauge("edge_dns_record_scan_info"), _NEWEST, "job_id")),
    ),
)
