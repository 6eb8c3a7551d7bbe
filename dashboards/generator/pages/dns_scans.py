"""The DNS page's row of record scans."""

from dashboards.generator import columns
from dashboards.generator.page import (
    PLAIN,
    STATUS_PAINT,
    Bars,
    Colour,
    Column,
    Lines,
    Panel,
    Row,
    Word,
    table,
    warn_from,
    warn_then_red,
)
from dashboards.generator.queries import dns as queries
from dashboards.generator.tables import figure

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
            title="Scans by state",
            shows="The latest scan of each zone, by its state.",
            act="The next table lists failed ones. Scans that stay pending or in progress are stuck at the platform.",
            queries=(queries.SCANS_BY_STATE,),
            view=Lines(stack=True, painted=STATUS_PAINT),
            width=9,
        ),
        figure(
            "Unscanned",
            "Zones of which the platform has no scan of records.",
            "Start a scan at the platform, or leave it: a zone without a scan is not broken.",
            queries.NEVER_SCANNED,
            of=("dns_record_scans",),
            width=3,
            steps=warn_from(1),
        ),
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
            width=12,
            none="No scan failed, and none is stuck.",
        ),
        figure(
            "Longest open",
            "How long the oldest scan has been pending or in progress.",
            "Past an hour it is most likely stuck: it is listed above.",
            queries.LONGEST_OPEN_SCAN,
            of=("dns_record_scans",),
            unit="s",
            width=3,
            steps=warn_then_red(1800, 3600),
        ),
        Panel(
            title="Scan duration",
            shows="How long the latest scan of a zone took, from its creation to its completion; the longest.",
            act="A zone whose scans grow longer has many records, or slow name servers.",
            queries=(queries.SCAN_DURATIONS,),
            unit="s",
        ),
        Panel(
            title="Records found",
            shows="Records that the latest scans found, by type, over all zones chosen.",
            act="A step down is a zone whose records went, or a scan that found less than the one before.",
            queries=(queries.RECORDS_OVER_TIME,),
            view=Lines(stack=True),
        ),
        Panel(
            title="Records by type",
            shows="Records that the latest scans found, by type.",
            act="Types named unknown and a number are newer than this exporter.",
            queries=(queries.RECORDS_BY_TYPE,),
            view=Bars(),
            width=5,
            steps=PLAIN,
        ),
        figure(
            "Proxied records",
            "Records found by the latest scans that the platform proxies.",
            "A fall takes protection off what was proxied: compare with the zone's records at the platform.",
            queries.PROXIED_RECORDS,
            trend=True,
            height=8,
            width=3,
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
            width=16,
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
    ),
)
