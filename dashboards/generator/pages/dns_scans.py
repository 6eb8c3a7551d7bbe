"""The DNS page's row of record scans."""

from dashboards.generator import columns
from dashboards.generator.page import (
    Colour,
    Column,
    Panel,
    Row,
    Word,
    table,
    warn_then_red,
)
from dashboards.generator.queries import dns as queries

SCAN_STATES = (
    Word("pending", "pending", Colour.INFO),
    Word("in_progress", "in progress", Colour.INFO),
    Word("completed", "completed", Colour.GOOD),
    Word("failed", "FAILED", Colour.BAD),
    Word("unknown", "unknown", Colour.WARN),
)

SCANS = Row(
    "Record scans",
    (
        Panel(
            title="Scans that need a look",
            shows="Scans that failed, and scans that have been open for more than an hour; at most 100.",
            act="Start a failed scan again at the platform. If it fails again, look at the zone's name servers: a scan"
            " asks them. A stuck scan is the platform's; report it with the job id from the table below.",
            queries=(queries.TROUBLED_SINCE, queries.TROUBLED_SCANS),
            view=table(
                columns.ACCOUNT,
                columns.ZONE_ID,
                columns.DOMAIN,
                Column("State", label="status", words=SCAN_STATES, width=100),
                Column("Age", unit="s", steps=warn_then_red(0, 86400)),
                sort="Age",
            ),
            width=16,
            none="No scan failed, and none is stuck.",
        ),
        Panel(
            title="Never scanned",
            shows="Zones of which the platform has no scan of records; at most 100.",
            act="Start a scan at the platform where one is wanted.",
            queries=(queries.UNSCANNED_ZONES,),
            view=table(
                columns.ACCOUNT,
                columns.ZONE_ID,
                columns.DOMAIN,
                sort="Domain",
                ascending=True,
            ),
            none="Every zone was scanned.",
        ),
        Panel(
            title="Latest scans",
            shows="The scans that were created last; at most 100.",
            act="Read the state with the age: completed and old is healthy, pending and old is stuck.",
            queries=(
                queries.SCAN_CREATED,
                queries.SCAN_DURATION,
                queries.SCAN_RECORDS,
                queries.SCAN_PROXIED,
                queries.SCAN_STATE,
                queries.SCAN_JOB,
            ),
            view=table(
                columns.ACCOUNT,
                columns.ZONE_ID,
                columns.DOMAIN,
                Column("State", label="status", words=SCAN_STATES, width=100),
                Column("Created", unit="dateTimeFromNow", width=115),
                Column("Took", unit="s", width=85),
                Column("Records", width=90),
                Column("Proxied", width=90),
                Column("Job", label="job_id", width=95),
                sort="Created",
            ),
            width=24,
        ),
    ),
)
