"""DNS zones: query statistics and record scans (interface document, DnsZoneStatistics and DnsRecordScanJob)."""

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Self

from pydantic import TypeAdapter, ValidationInfo, model_validator
from pydantic.alias_generators import to_pascal

from exporter.platform.api.charts import Buckets
from exporter.platform.errors import WrongShape
from exporter.platform.operation import Answer, Caller, Operation, Parameter, Request
from exporter.platform.wire import Counted, Integer, Moment, NonNegative, PascalWire, enum_of

SCAN_STATUS: Mapping[int, str] = {0: "pending", 1: "in_progress", 2: "completed", 3: "failed"}

# The record types of a scan, by number. The statistics use other numbers: the RR codes of the types.
SCAN_RECORD_TYPE: Mapping[int, str] = {
    0: "A", 1: "AAAA", 2: "CNAME", 3: "TXT", 4: "MX", 5: "Redirect", 6: "Flatten", 7: "PullZone", 8: "SRV",
    9: "CAA", 10: "PTR", 11: "Script", 12: "NS", 13: "SVCB", 14: "HTTPS", 15: "TLSA", 16: "SOA",
}  # fmt: skip

Chart = dict[str, Counted | None] | None


class DnsZoneStatistics(PascalWire):
    """The answer of `GET /dnszone/{id}/statistics`; the keys of the charts are as received."""

    total_queries_served: NonNegative = None
    queries_served_chart: Chart = None
    normal_queries_served_chart: Chart = None
    smart_queries_served_chart: Chart = None
    queries_by_type_chart: Chart = None

    @cached_property
    def charts(self) -> Mapping[str, Buckets]:
        """Name of a field → the buckets of its chart, for the charts with dates as keys."""
        fields = ("queries_served_chart", "normal_queries_served_chart", "smart_queries_served_chart")
        return {field: Buckets.of(getattr(self, field)) for field in fields}

    def counts_by_day(self) -> list[Mapping[int, float] | None]:
        """Return the counts of each chart by day (`Buckets.sums`), in the order of `charts`.

        Raises:
            WrongShape: the buckets are longer than a day. They are if all charts have the same width above 0, and the
                chart of all queries adds up to the total: then no day is missing between its buckets.
        """
        charts = list(self.charts.values())
        queries = self.charts["queries_served_chart"]
        have_equal_widths = queries.width > 0 and all(chart.width == queries.width for chart in charts)
        is_no_day_missing = queries.sums is not None and sum(queries.sums.values()) == self.total_queries_served
        if have_equal_widths and is_no_day_missing:
            raise WrongShape(f"the charts have no counts of days: their buckets are {queries.width:g} days long")
        return [chart.sums for chart in charts]

    @model_validator(mode="after")
    def _report_unreadable_keys(self, info: ValidationInfo) -> Self:
        if info.context is not None:
            unreadable = (field for field, buckets in self.charts.items() if buckets.has_unreadable_keys)
            info.context.update(map(to_pascal, unreadable))
        return self


class ScanRecord(PascalWire):
    """A record that a scan found."""

    name: str | None = None
    type: Annotated[Integer, enum_of("Records.Type", SCAN_RECORD_TYPE)] = None
    ttl: Integer = None
    value: str | None = None
    priority: Integer = None
    weight: Integer = None
    port: Integer = None
    is_proxied: bool | None = None


class DnsRecordScanJob(PascalWire):
    """The answer of `GET /dnszone/{zoneId}/records/scan`: the latest scan."""

    job_id: str | None = None
    zone_id: Integer = None
    domain: str | None = None
    account_id: str | None = None
    status: Annotated[Integer, enum_of("Status", SCAN_STATUS)] = None
    created_at: Moment = None
    completed_at: Moment = None
    records: list[ScanRecord] | None = None
    error: str | None = None


STATISTICS = Operation(
    name="dns_statistics",
    path="/dnszone/{id}/statistics",
    help="Statistics of the queries to a DNS zone, by default of the last 30 days.",
    answer=TypeAdapter(DnsZoneStatistics),
    parameters=(
        Parameter("id", "path", "integer", "DNS zone id (int64)."),
        Parameter("dateFrom", "query", "date-time", "First moment of the window; only with dateTo.", required=False),
        Parameter("dateTo", "query", "date-time", "Last moment of the window; only with dateFrom.", required=False),
    ),
)

RECORD_SCAN = Operation(
    name="dns_record_scan",
    path="/dnszone/{zoneId}/records/scan",
    help="The latest record scan of a DNS zone.",
    answer=TypeAdapter[DnsRecordScanJob | None](DnsRecordScanJob),
    parameters=(Parameter("zoneId", "path", "integer", "DNS zone id."),),
    # The zone was never scanned, or does not exist: a 404 may mean either.
    absent=frozenset({404}),
)


async def read_statistics(caller: Caller, zone_id: int) -> Answer[DnsZoneStatistics]:
    """Return the query statistics of a zone.

    Raises:
        PlatformError: there is no usable answer; `NotFound` if the zone does not exist.
    """
    return await caller.call(Request(STATISTICS, path={"id": zone_id}))
