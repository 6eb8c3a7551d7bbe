"""The catalogue: all built-in collectors, in the order in which their families are exposed."""

from collections.abc import Iterable, Iterator

from exporter.collectors import (
    container_tags,
    database,
    discovery,
    dns_record_scans,
    dns_statistics,
    scripts,
    search,
    shield_access_lists,
    shield_api_guardian,
    shield_bot_detection,
    shield_rate_limits,
    shield_waf,
    shield_zones,
)
from exporter.collectors.collector import Collector
from exporter.metric import FamilyInfo

CATALOGUE: tuple[Collector, ...] = (
    dns_statistics.COLLECTOR,
    dns_record_scans.COLLECTOR,
    scripts.COLLECTOR,
    shield_rate_limits.COLLECTOR,
    shield_zones.COLLECTOR,
    shield_api_guardian.COLLECTOR,
    shield_bot_detection.COLLECTOR,
    shield_access_lists.COLLECTOR,
    shield_waf.CUSTOM_RULES,
    shield_waf.PLANS,
    container_tags.COLLECTOR,
    search.COLLECTOR,
    discovery.COLLECTOR,
    database.COLLECTOR,
    # Without the configured queries, which `with_queries` adds.
    database.QueryCollector(()),
)


def with_queries(queries: Iterable[database.DatabaseQuery]) -> tuple[Collector, ...]:
    """Return the catalogue with the configured SQL queries."""
    return (*CATALOGUE[:-1], database.QueryCollector(queries))


def families(collectors: Iterable[Collector] = CATALOGUE) -> Iterator[FamilyInfo]:
    """Return every family of these collectors, in the order of the collectors."""
    return (info for collector in collectors for info in collector.families)
