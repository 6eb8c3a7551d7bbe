"""DNS zones: query statistics and record scans (interface document, DnsZoneStatistics and DnsRecordScanJob).

The charts of the statistics are read by UTC day.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Annotated, NamedTuple, Self

from pydantic import TypeAdapter, ValidationInfo, model_validator
from pydantic.alias_generators import to_pascal

from exporter.platform.errors import WrongShape
from exporter.platform.operation import Answer, Caller, Operation, Parameter, Request
from exporter.platform.wire import Counted, Integer, Moment, NonNegative, PascalWire, bucket_time, known_as

SCAN_STATUS: Mapping[int, str] = {0: "pending", 1: "in_progress", 2: "completed", 3: "failed"}

# The record types of a scan, which is another enum than the RR codes of the statistics.
SCAN_RECORD_TYPE: Mapping[int, str] = dict(
    enumerate(
        (
            *("A", "AAAA", "CNAME", "TXT", "MX", "Redirect", "Flatten", "PullZone", "SRV"),
            *("CAA", "PTR", "Script", "NS", "SVCB", "HTTPS", "TLSA", "SOA"),
        )
    )
)

Chart = dict[str, Counted | None] | None

DAY = timedelta(days=1)
SHORTEST_MONTH = timedelta(days=28)


class Buckets(NamedTuple):
    """The buckets of a chart, summed by UTC day.

    Attributes:
        sums: the ordinal of a day → its count. Buckets whose key is not a date, or whose value is null, are left out.
            None if there is no chart, or if none of its buckets can be read.
        has_other_keys: whether there is a key that is not a date.
        width: the distance of the buckets in days, if it is regularly more than one; else 0. The days between may
            have been left out as days without a count.
    """

    sums: dict[int, float] | None
    has_other_keys: bool = False
    width: float = 0

    @classmethod
    def of(cls, chart: Mapping[str, float | None] | None) -> "Buckets":
        """Read a chart."""
        if not chart:
            return cls(None if chart is None else {})
        ordinals, width = _read_keys(tuple(chart))
        days: dict[int, float] = {}
        for day, value in zip(ordinals, chart.values(), strict=True):
            if day is not None and value is not None:
                days[day] = days.get(day, 0) + value
        return cls(days or None, None in ordinals, width)


# Most zones have the same keys: read each time, they would take 5 % of a poll.
@lru_cache(maxsize=256)
def _read_keys(keys: tuple[str, ...]) -> tuple[tuple[int | None, ...], float]:
    """Return the ordinal of each key's day, None for one that is not a date, and the width of the buckets."""
    moments = [bucket_time(key) for key in keys]
    ordinals = tuple(None if moment is None else moment.toordinal() for moment in moments)
    return ordinals, _width([moment for moment in moments if moment is not None])


def _width(moments: list[datetime]) -> float:
    """Return the distance of the buckets in days, if it is regularly more than one; else 0."""
    gaps = [later - earlier for earlier, later in pairwise(sorted(moments))]
    if len(gaps) < 2:  # noqa: PLR2004 - one gap shows no regularity
        return 0
    shortest = min(gaps)
    # Buckets of months have different lengths.
    is_regular = shortest >= SHORTEST_MONTH or len(set(gaps)) == 1
    return shortest / DAY if shortest > DAY and is_regular else 0


class DnsZoneStatistics(PascalWire):
    """The answer of `GET /dnszone/{id}/statistics`; the charts' keys are not converted."""

    total_queries_served: NonNegative = None
    queries_served_chart: Chart = None
    normal_queries_served_chart: Chart = None
    smart_queries_served_chart: Chart = None
    queries_by_type_chart: Chart = None

    @cached_property
    def charts(self) -> Mapping[str, Buckets]:
        """The charts of daily counts, by the names of their fields."""
        fields = ("queries_served_chart", "normal_queries_served_chart", "smart_queries_served_chart")
        return {field: Buckets.of(getattr(self, field)) for field in fields}

    def counts_by_day(self) -> Iterator[Mapping[int, float] | None]:
        """Return the counts of each chart by day, in the order of `charts`.

        Raises:
            WrongShape: all charts have longer buckets, whose sum is the total, so that the count of a day is not known.
        """
        queries, *others = self.charts.values()
        is_whole = queries.sums is not None and sum(queries.sums.values()) == self.total_queries_served
        if queries.width and is_whole and all(chart.width == queries.width for chart in others):
            long = f"the charts' buckets are {queries.width:g} days long"
            raise WrongShape(f"{long}, so that the count of a day is not known")
        return (chart.sums for chart in (queries, *others))

    @model_validator(mode="after")
    def _report_other_keys(self, info: ValidationInfo) -> Self:
        if info.context is not None:
            info.context.update(to_pascal(field) for field, buckets in self.charts.items() if buckets.has_other_keys)
        return self


class ScanRecord(PascalWire):
    """A record that a scan found."""

    name: str | None = None
    type: Annotated[Integer, known_as("Records.Type", SCAN_RECORD_TYPE)] = None
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
    status: Annotated[Integer, known_as("Status", SCAN_STATUS)] = None
    created_at: Moment = None
    completed_at: Moment = None
    records: list[ScanRecord] | None = None
    error: str | None = None


STATISTICS = Operation(
    name="dns_statistics",
    path="/dnszone/{id}/statistics",
    help="Query statistics of a DNS zone, by default of the last 30 days.",
    answer=TypeAdapter(DnsZoneStatistics),
    parameters=(
        Parameter("id", "path", "integer", "DNS zone id (int64)."),
        Parameter(
            "dateFrom", "query", "date-time", "First moment of the window; used only with dateTo.", required=False
        ),
        Parameter("dateTo", "query", "date-time", "Last moment of the window.", required=False),
    ),
)

RECORD_SCAN = Operation(
    name="dns_record_scan",
    path="/dnszone/{zoneId}/records/scan",
    help="The latest record scan of a DNS zone.",
    answer=TypeAdapter[DnsRecordScanJob | None](DnsRecordScanJob),
    parameters=(Parameter("zoneId", "path", "integer", "DNS zone id."),),
    # Never scanned, or no such zone: only the statistics show which.
    absent=frozenset({404}),
)


async def statistics(caller: Caller, zone_id: int) -> Answer[DnsZoneStatistics]:
    """Return the query statistics of a zone; raises PlatformError, and NotFound if the zone does not exist."""
    return await caller.call(Request(STATISTICS, path={"id": zone_id}))
