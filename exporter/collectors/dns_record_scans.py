"""DNS record scans (interface document, DnsRecordScanJob)."""

from collections import Counter
from collections.abc import Mapping

from exporter.collectors.collector import TargetCollector, calling, enum_samples, identity, own_id
from exporter.metric import Metric
from exporter.platform.api import dns
from exporter.platform.api.dns import SCAN_RECORD_TYPE, SCAN_STATUS, DnsRecordScanJob
from exporter.platform.wire import timestamp

# The payload. The status 404 gives None, and is no failure: the zone was never scanned, or does not exist.
Scan = DnsRecordScanJob | None
# A scan whose fields are None, used in place of a payload that is None.
_NEVER = DnsRecordScanJob.model_construct()


def _records_by_type(scan: Scan) -> Mapping[str, int] | None:
    records = (scan or _NEVER).records
    if records is None:
        return None
    # Sorted, so that the order of the samples does not depend on the order of the records.
    types = sorted(record.type for record in records if record.type is not None)
    return Counter(SCAN_RECORD_TYPE.get(number, f"unknown_{number}") for number in types)


def _proxied_records(scan: Scan) -> int | None:
    records = (scan or _NEVER).records
    return None if records is None else sum(record.is_proxied is True for record in records)


COLLECTOR: TargetCollector[Scan] = TargetCollector(
    name="dns_record_scans",
    polls="dns_zone",
    interval=600,
    operations=(dns.RECORD_SCAN,),
    fetch=calling(dns.RECORD_SCAN, zoneId=own_id),
    labels=identity("zone_id", "domain"),
    metrics=(
        Metric(
            "edge_dns_record_scan_status",
            "State of the zone's latest record scan (Status), polled: 1 for the current status, 0 for the others.",
            labels=("status",),
            value=lambda scan: enum_samples((scan or _NEVER).status, SCAN_STATUS),
        ),
        Metric(
            "edge_dns_record_scan_found",
            "Whether the platform has a record scan of the zone, polled.",
            value=lambda scan: scan is not None,
        ),
        Metric(
            "edge_dns_record_scan_created_timestamp_seconds",
            "When the latest record scan was created (CreatedAt), polled.",
            value=lambda scan: timestamp((scan or _NEVER).created_at),
        ),
        Metric(
            "edge_dns_record_scan_completed_timestamp_seconds",
            "When the latest record scan ended (CompletedAt), polled.",
            value=lambda scan: timestamp((scan or _NEVER).completed_at),
        ),
        Metric(
            "edge_dns_record_scan_records",
            "Records that the latest scan found, by record type (Records), polled.",
            labels=("record_type",),
            value=_records_by_type,
        ),
        Metric(
            "edge_dns_record_scan_proxied_records",
            "Proxied records that the latest scan found (Records, IsProxied), polled.",
            value=_proxied_records,
        ),
        Metric(
            "edge_dns_record_scan_info",
            "The id of the latest record scan (JobId), polled.",
            labels=("job_id",),
            value=lambda scan: {scan.job_id: 1} if scan is not None and scan.job_id else None,
        ),
    ),
)
