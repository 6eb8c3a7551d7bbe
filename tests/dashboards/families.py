"""The families that dashboards may use: those of the collectors, and those of the program's own telemetry."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from prometheus_client import CollectorRegistry

from dashboards.generator.queries.subject import PARTS
from exporter.collectors.catalogue import CATALOGUE
from exporter.exposition.store import HEALTH as OF_TARGETS
from exporter.metric import Kind
from exporter.telemetry import Telemetry
from tests.platform.kinds_of_errors import KINDS_OF_ERRORS

# Labels that the scrape adds.
SCRAPE_LABELS = frozenset({"job", "instance", "pod"})

# A user's own query named N is the family edge_database_N.
USERS_FAMILY = "edge_database_.+"


@dataclass(frozen=True, slots=True)
class Known:
    """A family that a query may name.

    Attributes:
        polled_every: the default interval of the collector, 0 for the program's own metrics.
        of_process: whether each process counts separately, so that processes are summed.
    """

    labels: frozenset[str]
    counter: bool = False
    histogram: bool = False
    polled_every: float = 0
    of_process: bool = False


def _own(*labels: str, counter: bool = False) -> Known:
    return Known(frozenset(labels), counter=counter, of_process=True)


def _exporters() -> dict[str, Known]:
    """Return the health families of targets, which replicas share, and the telemetry of a process."""
    known = {info.name: Known(frozenset(info.labels)) for info in OF_TARGETS}
    for info in Telemetry(CollectorRegistry(), "0").families():
        counter, histogram = (info.kind is kind for kind in (Kind.COUNTER, Kind.HISTOGRAM))
        # Replicas also share the budgets of scripts, which are in the configuration, and the removed targets.
        shared = info.name.startswith(("edge_script_", "edge_target_"))
        known[info.name] = Known(frozenset(info.labels), counter, histogram, of_process=not shared)
    return known


HEALTH: Mapping[str, Known] = MappingProxyType(_exporters())

_OF_ALERTS = ("alertname", "severity", "area", "account", *(label for part in PARTS for label in part.labels))

# Families of the client library, of Prometheus's scrapes and of its rules.
OTHERS: Mapping[str, Known] = MappingProxyType(
    {
        "process_cpu_seconds_total": _own(counter=True),
        **{f"process_{name}": _own() for name in ("max_fds", "open_fds")},
        **{f"process_{name}": _own() for name in ("resident_memory_bytes", "start_time_seconds")},
        **{name: _own() for name in ("scrape_duration_seconds", "scrape_samples_scraped", "up")},
        "ALERTS": _own("alertstate", *_OF_ALERTS),
        "ALERTS_FOR_STATE": _own(*_OF_ALERTS),
        "account:edge_up:answering": _own("account"),
        "account:edge_dns_queries:rate1h": _own("account"),
        "zone:edge_dns_queries:rate1h": _own("account", "zone_id", "domain"),
        "script:edge_script_requests:rate2h": _own("account", "script_id", "script"),
        "rate_limit_action:edge_shield_rate_limit_breaches:rate15m": _own(
            "account", "shield_zone_id", "rate_limit_id", "rate_limit", "action"
        ),
        "shield_zone_protection:edge_shield_zone:on": _own("account", "shield_zone_id", "protection", "engine"),
    }
)


def platform_families() -> dict[str, Known]:
    """Return every family of the catalogue."""
    return {
        info.name: Known(frozenset(info.labels), counter=info.kind.value == "counter", polled_every=collector.interval)
        for collector in CATALOGUE
        for info in collector.families
    }


def known_families() -> dict[str, Known]:
    """Return every family that a query may name."""
    return {**platform_families(), **HEALTH, **OTHERS}


def family_of(name: str) -> str:
    """Return the family of a series; the series of a histogram have suffixes."""
    for suffix in ("_bucket", "_sum", "_count"):
        stem = name.removesuffix(suffix)
        if stem != name and stem in HEALTH and HEALTH[stem].histogram:
            return stem
    return name


def reasons() -> set[str]:
    """Return the value of the label `reason` of every error of a call."""
    return {kind.reason for kind in KINDS_OF_ERRORS}
