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
from exporter.platform.wire import Counted, Integer, Moment, NonNegative, PascalWire, bucket_time, enum_of

SCAN_STATUS: Mapping[int, str] = {0: "pending", 1: "in_progress", 2: "completed", 3: "failed"}

# The record types of a scan. The statistics number record types differently, by their RR codes.
SCAN_RECORD_TYPE: Mapping[int, str] = {
    0: "A", 1: "AAAA", 2: "CNAME", 3: "TXT", 4: "MX", 5: "Redirect", 6: "Flatten", 7: "PullZone", 8: "SRV",
    9: "CAA", 10: "PTR", 11: "Script", 12: "NS", 13: "SVCB", 14: "HTTPS", 15: "TLSA", 16: "SOA",
}  # fmt: skip

Chart = dict[str, Counted | None] | None

DAY = timedelta(days=1)
SHORTEST_MONTH = timedelta(days=28)


class Buckets(NamedTuple):
    """The buckets of a chart, summed by UTC day.

    Attributes:
        sums: the ordinal of a day → its count, without buckets whose key is not a date or whose value is null. None if
            there is no chart, or none of its buckets can be read: it is then not known which days have a count.
        has_unreadable_keys: whether a bucket has a key that is not a date.
        width: the days between two buckets, if the distance is regular and more than one day; else 0. The platform may
            also have omitted days without a count.
    """

    sums: dict[int, float] | None
    has_unreadable_keys: bool = False
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


# The keys of most zones are the same. Without the cache, reading them would take 5 % of a poll.
@lru_cache(maxsize=256)
def _read_keys(keys: tuple[str, ...]) -> tuple[tuple[int | None, ...], float]:
    """Return the ordinal of each key's day (None if the key is not a date), and the width of the buckets."""
    moments = [bucket_time(key) for key in keys]
    ordinals = tuple(None if moment is None else moment.toordinal() for moment in moments)
    return ordinals, _width([moment for moment in moments if moment is not None])


def _width(moments: list[datetime]) -> float:
    """Return `Buckets.width` of buckets that begin at these times."""
    gaps = [later - earlier for earlier, later in pairwise(sorted(moments))]
    if len(gaps) < 2:  # noqa: PLR2004 - one distance alone may be an omitted day
        return 0
    shortest = min(gaps)
    # Months have different lengths.
    is_regular = shortest >= SHORTEST_MONTH or len(set(gaps)) == 1
    return shortest / DAY if shortest > DAY and is_regular else 0


class DnsZoneStatistics(PascalWire):
    """The answer of `GET /dnszone/{id}/statistics`; the keys of the charts are as received."""

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
            WrongShape: the buckets are longer than a day, and omit no day, because they add up to the total.
        """
        queries, *others = self.charts.values()
        is_whole = queries.sums is not None and sum(queries.sums.values()) == self.total_queries_served
        if queries.width and is_whole and all(chart.width == queries.width for chart in others):
            raise WrongShape(f"the charts have no counts of days: their buckets are {queries.width:g} days long")
        return (chart.sums for chart in (queries, *others))

    @model_validator(mode="after")
    def _report_unreadable_keys(self, info: ValidationInfo) -> Self:
        # The context is the set of unexpected values that `exporter.platform.http.responses.payload` collects.
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
    # The zone was never scanned, or does not exist; only the statistics show which.
    absent=frozenset({404}),
)


async def statistics(caller: Caller, zone_id: int) -> Answer[DnsZoneStatistics]:
    """Return the query statistics of a zone; raises PlatformError, and NotFound if the zone does not exist."""
    return await caller.call(Request(STATISTICS, path={"id": zone_id}))
