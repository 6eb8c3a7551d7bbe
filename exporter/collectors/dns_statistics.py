"""DNS zone statistics (interface document, DnsZoneStatistics)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from exporter.collectors.collector import Context, TargetCollector, identity
from exporter.metric import DayBuckets, LastChange, Metric
from exporter.platform.api import dns
from exporter.platform.operation import Answer
from exporter.targets.target import Target

# "Resource Record (RR) TYPEs" of the IANA registry "Domain Name System (DNS) Parameters".
MNEMONICS: Mapping[int, str] = {
    1: "A", 2: "NS", 3: "MD", 4: "MF", 5: "CNAME", 6: "SOA", 7: "MB", 8: "MG", 9: "MR", 10: "NULL",
    11: "WKS", 12: "PTR", 13: "HINFO", 14: "MINFO", 15: "MX", 16: "TXT", 17: "RP", 18: "AFSDB", 19: "X25",
    20: "ISDN", 21: "RT", 22: "NSAP", 23: "NSAP-PTR", 24: "SIG", 25: "KEY", 26: "PX", 27: "GPOS", 28: "AAAA",
    29: "LOC", 30: "NXT", 31: "EID", 32: "NIMLOC", 33: "SRV", 34: "ATMA", 35: "NAPTR", 36: "KX", 37: "CERT",
    38: "A6", 39: "DNAME", 40: "SINK", 41: "OPT", 42: "APL", 43: "DS", 44: "SSHFP", 45: "IPSECKEY", 46: "RRSIG",
    47: "NSEC", 48: "DNSKEY", 49: "DHCID", 50: "NSEC3", 51: "NSEC3PARAM", 52: "TLSA", 53: "SMIMEA", 55: "HIP",
    56: "NINFO", 57: "RKEY", 58: "TALINK", 59: "CDS", 60: "CDNSKEY", 61: "OPENPGPKEY", 62: "CSYNC", 63: "ZONEMD",
    64: "SVCB", 65: "HTTPS", 66: "DSYNC", 67: "HHIT", 68: "BRID", 99: "SPF", 100: "UINFO", 101: "UID", 102: "GID",
    103: "UNSPEC", 104: "NID", 105: "L32", 106: "L64", 107: "LP", 108: "EUI48", 109: "EUI64", 128: "NXNAME",
    249: "TKEY", 250: "TSIG", 251: "IXFR", 252: "AXFR", 253: "MAILB", 254: "MAILA", 255: "ANY", 256: "URI",
    257: "CAA", 258: "AVC", 259: "DOA", 260: "AMTRELAY", 261: "RESINFO", 262: "WALLET", 263: "CLA", 264: "IPN",
    32768: "TA", 32769: "DLV",
}  # fmt: skip

_NAMES = frozenset(MNEMONICS.values())
# The label value for record types without a mnemonic.
OTHER_TYPE = "other"
# The most digits that are read as a code. Python would refuse to convert more than 4,300.
LONGEST_CODE = 10

# The ordinal of a UTC day → the count of that day.
Days = Mapping[int, float]


@lru_cache(maxsize=1024)
def record_type(key: str) -> str:
    """Return the mnemonic of a record type, from the mnemonic or the decimal code; `other` for any other key.

    Types without a mnemonic share one series: anyone can query types that do not exist, and each would add a series.
    """
    if key in _NAMES:
        return key
    is_code = key.isascii() and key.isdigit() and len(key) <= LONGEST_CODE
    return MNEMONICS.get(int(key), OTHER_TYPE) if is_code else OTHER_TYPE


@dataclass(frozen=True, slots=True)
class ZoneTraffic:
    """The statistics of a zone; None for a total or a chart that the answer lacks, or that cannot be read.

    Attributes:
        total: the queries in the whole window.
        queries: UTC day → queries.
        routed: `normal` or `smart` → UTC day → queries with this routing.
        by_type: the result of `record_type` → queries in the whole window.
    """

    total: float | None
    queries: Days | None
    routed: Mapping[str, Days | None]
    by_type: Mapping[str, float] | None


def _newest_count(days: Days | None) -> float | None:
    return days[max(days)] if days else None


def _newest_start(days: Days | None) -> float | None:
    return datetime.fromordinal(max(days)).replace(tzinfo=UTC).timestamp() if days else None


def _by_type(chart: Mapping[str, float | None] | None) -> dict[str, float] | None:
    if chart is None:
        return None
    sums: dict[str, float] = {}
    for key, count in chart.items():
        if count is not None:
            mnemonic = record_type(key)
            sums[mnemonic] = sums.get(mnemonic, 0) + count
    # Sorted, so that the order of the samples does not depend on the order in the answer.
    return dict(sorted(sums.items()))


# How many days of a chart are compared: the newest ones with queries, which the platform may still correct.
_COMPARED_DAYS = 7


def _last_change(zone: ZoneTraffic) -> LastChange | None:
    charts = [days for days in (zone.queries, *zone.routed.values()) if days is not None]
    return LastChange.of(tuple(map(_newest_days, charts))) if charts else None


def _newest_days(days: Days) -> tuple[tuple[int, float], ...]:
    # At midnight, a day without queries enters the window, and the oldest day leaves. Neither should count as a change.
    with_queries = [(day, count) for day, count in sorted(days.items()) if count]
    return tuple(with_queries[-_COMPARED_DAYS:])


async def _fetch(context: Context, target: Target) -> Answer[ZoneTraffic]:
    answer = await dns.read_statistics(context.caller, int(target.id))
    zone = answer.value
    queries, normal, smart = zone.counts_by_day()
    traffic = ZoneTraffic(
        total=zone.total_queries_served,
        queries=queries,
        routed={"normal": normal, "smart": smart},
        by_type=_by_type(zone.queries_by_type_chart),
    )
    return Answer(traffic, answer.date)


COLLECTOR: TargetCollector[ZoneTraffic] = TargetCollector(
    name="dns_statistics",
    polls="dns_zone",
    interval=300,
    operations=(dns.STATISTICS,),
    fetch=_fetch,
    owns_target=True,
    chart=lambda zone: zone.queries,
    total=lambda zone: zone.total,
    labels=identity("zone_id", "domain"),
    metrics=(
        Metric(
            "edge_dns_window_queries",
            "Queries served in the platform's sliding window of about 30 days (TotalQueriesServed), polled.",
            value=lambda zone: zone.total,
        ),
        Metric(
            "edge_dns_window_record_queries",
            "Queries served in the sliding window by record type (QueriesByTypeChart), polled; record_type is other "
            "for all types without a name.",
            labels=("record_type",),
            value=lambda zone: zone.by_type,
        ),
        Metric(
            "edge_dns_window_routed_queries",
            "Queries served in the sliding window by routing, polled: the sums of NormalQueriesServedChart and "
            "SmartQueriesServedChart.",
            labels=("routing",),
            value=lambda zone: {
                routing: None if days is None else sum(days.values()) for routing, days in zone.routed.items()
            },
        ),
        Metric(
            "edge_dns_day_queries",
            "Queries served on the newest UTC day of QueriesServedChart, polled.",
            value=lambda zone: _newest_count(zone.queries),
        ),
        Metric(
            "edge_dns_day_routed_queries",
            "Queries served by routing on the newest UTC day of each chart (NormalQueriesServedChart, "
            "SmartQueriesServedChart), polled.",
            labels=("routing",),
            value=lambda zone: {routing: _newest_count(days) for routing, days in zone.routed.items()},
        ),
        Metric(
            "edge_dns_day_start_timestamp_seconds",
            "Start of the newest UTC day of QueriesServedChart, polled.",
            value=lambda zone: _newest_start(zone.queries),
        ),
        Metric(
            "edge_dns_statistics_changed_timestamp_seconds",
            "When the newest days of the charts (QueriesServedChart, NormalQueriesServedChart, "
            "SmartQueriesServedChart) last changed, polled.",
            counted=_last_change,
            declared=b"",
        ),
        Metric(
            "edge_dns_queries_total",
            "Queries served since the exporter first saw the zone, counted from QueriesServedChart, polled.",
            counted=lambda zone: DayBuckets.of(zone.queries),
        ),
        Metric(
            "edge_dns_routed_queries_total",
            "Queries served by routing since the exporter first saw the zone, counted from NormalQueriesServedChart "
            "and SmartQueriesServedChart, polled.",
            labels=("routing",),
            counted=lambda zone: {routing: DayBuckets.of(days) for routing, days in zone.routed.items()},
        ),
    ),
)
