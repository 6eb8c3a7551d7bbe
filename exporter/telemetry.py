"""The exporter's own metrics, including metrics of its calls to the platform."""

import platform as python_platform
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from exporter.metric import FamilyInfo, Kind, unit_of

_Own = TypeVar("_Own", Counter, Gauge, Histogram)
_Labels = TypeVar("_Labels", bound=tuple[str, ...])
# Upper bounds of the buckets of histograms, in seconds.
_CALL_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_LOOP_LAG_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
# Alerts count failed requests with these reasons, so their series exist from the start, with the value 0.
ALERTED_REASONS = ("unauthorized", "forbidden", "credential", "rate_limited", "server_error", "timeout", "refused")


def _declare(kind: type[_Own], registry: CollectorRegistry, family: str, help_text: str, **options: Any) -> _Own:  # noqa: ANN401
    """Create and register a metric; `family` is its name and its labels, such as `edge_up{account}`."""
    name, _, labels = family.rstrip("}").partition("{")
    options["unit"] = unit_of(name)
    return kind(name, help_text, labels.split(", ") if labels else (), registry=registry, **options)


class Telemetry:
    """The exporter's own metrics.

    Args:
        registry: the registry of these metrics; prometheus-client's global registry is not used.

    Attributes:
        set_aside_at: when an unusable state file was last renamed in this run, in unix seconds; None if never.
    """

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        # Otherwise prometheus-client would add `_created` samples to the text format, as separate families.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = registry
        self.set_aside_at: float | None = None
        gauge, counter = partial(_declare, Gauge, registry), partial(_declare, Counter, registry)
        histogram = partial(_declare, Histogram, registry)
        self.up = gauge(
            "edge_up{account}",
            "Whether the last authenticated answer is at most as old as the account's timeout plus 1.5 times the "
            "account's shortest effective interval.",
        )
        self.requests = counter(
            "edge_api_requests_total{account, operation, code}",
            "Requests to the platform by status code, including retries; the code is none if no answer came.",
        )
        self.failures = counter(
            "edge_api_request_failures_total{account, operation, reason}",
            "Failed requests, and calls that were not sent because their key cannot be used, by reason.",
        )
        self.durations = histogram(
            "edge_api_request_duration_seconds{account, operation}",
            "Time from a request to the end of the answer, or to the failure.",
            buckets=_CALL_BUCKETS,
        )
        self.retries = counter("edge_api_retries_total{account, operation}", "Retries of requests.")
        self.unexpected = counter(
            "edge_api_unexpected_values_total{account, operation, field}",
            "Good answers in which a field has unknown or unreadable values.",
        )
        self.throttled = counter(
            "edge_api_throttled_seconds_total{account}",
            "Time that calls waited for the account's request budget, or for the end of a pause.",
        )
        self.budget = gauge(
            "edge_api_budget_requests_per_second{account}",
            "Requests a second that the account's budget currently allows.",
        )
        self.demand = gauge(
            "edge_api_demand_requests_per_second{account}",
            "Requests a second that the account's targets need at the configured intervals.",
        )
        self.build = gauge("edge_exporter_build_info{version, python}", "Versions of the exporter and of Python.")
        self.reload_successful = gauge(
            "edge_exporter_config_last_reload_successful",
            "Whether the last attempt to load the configuration succeeded.",
        )
        self.reload_success_time = gauge(
            "edge_exporter_config_last_reload_success_timestamp_seconds", "When the configuration was last loaded."
        )
        self.interval = gauge(
            "edge_exporter_collector_interval_seconds{collector}",
            "Effective interval between two polls of a target, for the account with the longest one. Intervals that "
            "single queries set are left out.",
        )
        self.duration = gauge(
            "edge_exporter_collector_duration_seconds{collector}", "Duration of the collector's last poll of a target."
        )
        self.missed = counter(
            "edge_exporter_collector_missed_runs_total{collector}",
            "Intervals that passed before late polls began, and polls skipped because the previous one had not ended.",
        )
        self.shard = gauge(
            "edge_exporter_shard_info{shard, shards}",
            "The shard that this process polls, and the number of shards.",
        )
        self.shard_held = gauge(
            "edge_exporter_shard_held{shard}",
            "Whether an exporter holds the shard, according to the state database. Without a state database, only the "
            "shard of this process is shown.",
        )
        self.series = gauge("edge_exporter_series", "Exposed series of targets, without the exporter's own series.")
        self.dropped = gauge(
            "edge_exporter_series_dropped{family}",
            "Series that are currently left out because of series.max_label_values.",
        )
        self.absent = gauge(
            "edge_exporter_absent_families{collector, cause}",
            "Families that targets could have and do not have, by collector and cause, counted every minute; "
            "`edge-exporter explain` lists them.",
        )
        self.failing = gauge(
            "edge_exporter_failing_targets{account, collector, reason}",
            "Targets whose last poll by the collector failed, by reason, counted every five seconds.",
        )
        self.mismatched = gauge(
            "edge_window_mismatched_targets{account}",
            "Targets whose total (TotalQueriesServed) is not the sum of the days in the same answer "
            "(QueriesServedChart), counted every five seconds.",
        )
        self.task_failures = counter(
            "edge_exporter_task_failures_total{task}", "Failed runs of the exporter's periodic tasks."
        )
        self.loop_lag = histogram(
            "edge_exporter_loop_lag_seconds",
            "Delay of the event loop, which runs polls and answers scrapes, measured once a second.",
            buckets=_LOOP_LAG_BUCKETS,
        )
        self.render = gauge(
            "edge_exporter_render_duration_seconds",
            "Time that the last rendering of the exposition took.",
        )
        self.clock_offset = gauge(
            "edge_exporter_clock_offset_seconds{account}",
            "The platform's time in the last good answer of the account, minus this machine's time.",
        )
        self.ledger_up = gauge(
            "edge_exporter_ledger_up", "Whether the last read or write of the counters' state succeeded."
        )
        self.ledger_set_aside = gauge(
            "edge_exporter_ledger_set_aside_timestamp_seconds",
            "When an unusable state file was last renamed; 0 if none was renamed since the start.",
        )
        self.corrections = counter(
            "edge_exporter_ledger_corrections_total{family}",
            "How often the platform lowered the counted value of a day or a month; the counters do not go down.",
        )
        self.targets = gauge(
            "edge_targets{account, state}",
            "Targets by state: up, failing, or pending (not polled since the start). Counted every five seconds, once "
            "for each of a target's collectors.",
        )
        self.target_removed = gauge(
            "edge_target_removed_timestamp_seconds{account, target, name}",
            "When the target was found to be missing from the platform's list. Shown for a week, or for "
            "state.retention if that is shorter; at most the newest 1,000 of an account. Targets that the "
            "configuration excludes are not shown.",
        )
        self.script_budget = gauge(
            "edge_script_monthly_budget_dollars{account, script_id, script}",
            "The configured monthly budget of the script.",
        )
        self.script_budget_unmatched = gauge(
            "edge_exporter_script_budget_unmatched{account, script}",
            "Whether the name or id of the configured monthly budget matches no polled script.",
        )
        self.build.labels(version, python_platform.python_version()).set(1)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def families(self) -> Iterator[FamilyInfo]:
        """Yield the families of this object, even without series. Families of the process and Python are left out."""
        for family in vars(self).values():
            if isinstance(family, Counter | Gauge | Histogram):
                (described,) = family.describe()
                kind = Kind(described.type)
                name = f"{described.name}_total" if kind is Kind.COUNTER else described.name
                yield FamilyInfo(name, described.documentation, kind, described.unit, family._labelnames)  # noqa: SLF001

    def show(self, gauge: Gauge, values: Mapping[_Labels, float]) -> None:
        """Set the series of a gauge (label values → value), and remove all other series of the gauge."""
        for labels in gauge._metrics.keys() - values.keys():  # noqa: SLF001
            gauge.remove(*labels)
        for labels, value in values.items():
            gauge.labels(*labels).set(value)

    def forget(self, label: str, value: str) -> None:
        """Remove the series in which this label, such as `account`, has this value."""
        for family in vars(self).values():
            if isinstance(family, Counter | Gauge | Histogram) and label in family._labelnames:  # noqa: SLF001
                family.remove_by_labels({label: value})

    def declare_calls(self, account: str, operations: Iterable[str]) -> None:
        """Create series of an account's calls with the value 0, so that alerts see the first increase."""
        for operation in operations:
            self.retries.labels(account, operation)
            self.durations.labels(account, operation)
            for reason in ALERTED_REASONS:
                self.failures.labels(account, operation, reason)

    def declare_corrections(self, families: Iterable[FamilyInfo]) -> None:
        """Create series of corrections, with the value 0, for the counters among these families."""
        for info in families:
            if info.kind is Kind.COUNTER:
                self.corrections.labels(info.name)

    def record_set_aside(self, at: float) -> None:
        """Record that an unusable state file was renamed at this time, in unix seconds."""
        self.set_aside_at = at
        self.ledger_set_aside.set(at)
