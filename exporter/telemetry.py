"""The exporter's own metrics, and those of its platform calls, on an injected registry."""

import platform as python_platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Metric,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.registry import Collector

from exporter.metric import FamilyInfo, Kind

_OPERATION = ("account", "operation")
# Upper bounds of the buckets in seconds, from one step of the event loop to a very slow database.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
ALERTED_REASONS = ("unauthorized", "forbidden", "rate_limited", "server_error", "timeout", "refused")


class WithoutCreated(Collector):
    """A registry without `_created` samples, which prometheus-client adds to the text format as families, too."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Return the registry's families."""
        for metric in self._registry.collect():
            if metric.type in ("counter", "histogram", "summary"):
                metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


class Telemetry:
    """The exporter's own metrics.

    Args:
        registry: where they are registered; no global registry is used.
        version: the exporter's version.

    Attributes:
        ledger_saves: whether the last write of the counters' state succeeded.
        set_aside_at: unix seconds at which damaged state was last found in this run; None if that never happened.
    """

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        self.registry = registry
        self.ledger_saves = True
        self.set_aside_at: float | None = None
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        self.up = gauge(
            "edge_up",
            "Whether an authenticated answer of the account came within the last interval.",
            ("account",),
        )
        self.requests = counter(
            "edge_api_requests",
            "Requests to the platform by status code (none without an answer), including retries.",
            (*_OPERATION, "code"),
        )
        self.failures = counter(
            "edge_api_request_failures",
            "Requests that gave no usable answer, by reason.",
            (*_OPERATION, "reason"),
        )
        self.durations = histogram(
            "edge_api_request_duration_seconds",
            "Time from a request to the end of its answer.",
            _OPERATION,
            buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            unit="seconds",
        )
        self.retries = counter("edge_api_retries", "Retries of requests.", _OPERATION)
        self.unexpected = counter(
            "edge_api_unexpected_values",
            "Unknown values of fields in good answers.",
            (*_OPERATION, "field"),
        )
        self.throttled = counter(
            "edge_api_throttled_seconds",
            "Time that calls waited for the account's request budget.",
            ("account",),
            unit="seconds",
        )
        self.budget = gauge(
            "edge_api_budget_requests_per_second",
            "Requests a second that the account's budget currently allows.",
            ("account",),
        )
        self.capacity = gauge(
            "edge_api_capacity_requests_per_second",
            "Requests a second that each limit of the account's budget currently allows; the lower one applies. The "
            "value of max_in_flight depends on the duration of calls.",
            ("account", "limit"),
        )
        self.demand = gauge(
            "edge_api_demand_requests_per_second",
            "Requests a second that the account's targets need at the configured intervals.",
            ("account",),
        )
        self.build = gauge(
            "edge_exporter_build_info",
            "Version of the exporter and of the Python that runs it.",
            ("version", "python"),
        )
        self.build.labels(version, python_platform.python_version()).set(1)
        self.reload_successful = gauge(
            "edge_exporter_config_last_reload_successful",
            "Whether the last attempt to load the configuration succeeded.",
        )
        self.reload_success_time = gauge(
            "edge_exporter_config_last_reload_success_timestamp_seconds",
            "When the configuration was last loaded.",
            unit="seconds",
        )
        self.interval = gauge(
            "edge_exporter_collector_interval_seconds",
            "Time between two polls of a target, longer than configured if the budget does not suffice.",
            ("collector",),
            unit="seconds",
        )
        self.duration = gauge(
            "edge_exporter_collector_duration_seconds",
            "Duration of the collector's last poll of a target.",
            ("collector",),
            unit="seconds",
        )
        self.missed = counter(
            "edge_exporter_collector_missed_runs",
            "Polls that were skipped because the poll before had not ended, or because the scheduler was late.",
            ("collector",),
        )
        self.shard = gauge(
            "edge_exporter_shard_info",
            "The shards that this process polls, and the number of all shards.",
            ("shard", "shards"),
        )
        self.shard_held = gauge(
            "edge_exporter_shard_held",
            "Whether it is certain that no other exporter counts this shard; counters are served only then.",
            ("shard",),
        )
        self.shard_epoch = gauge(
            "edge_exporter_shard_epoch",
            "How often a shard has been claimed so far, by any exporter, as reported by its holder.",
            ("shard",),
        )
        self.shard_waiting = gauge(
            "edge_exporter_shard_waiting",
            "Whether the exporter can claim no shard, because another shard.total or another address of an account is "
            "in use, or its shard is.",
        )
        self.shard_takeovers = counter(
            "edge_exporter_shard_takeovers",
            "Claims of a shard's lease by this exporter, including the first.",
            ("shard",),
        )
        self.shard_losses = counter(
            "edge_exporter_shard_losses",
            "Leases of a shard that another exporter claimed while this one held them, as after a suspension.",
            ("shard",),
        )
        self.refused_rows = counter(
            "edge_exporter_ledger_refused_rows",
            "Rows of counters that were not written, because another exporter had claimed their shard.",
        )
        self.state_database = histogram(
            "edge_exporter_state_database_seconds",
            "Time of an operation of the state database, including the network.",
            ("operation",),
            buckets=_SECONDS,
            unit="seconds",
        )
        self.series = gauge(
            "edge_exporter_series",
            "Exposed series of targets, without the exporter's own.",
        )
        self.dropped = gauge(
            "edge_exporter_series_dropped",
            "Series that are left out because of the cap on the family's series.",
            ("family",),
        )
        self.absent = gauge(
            "edge_exporter_absent_families",
            "Absent families of targets, by collector and cause, counted once a minute or less often; "
            "`edge-exporter explain` names them.",
            ("collector", "cause"),
        )
        self.loop_lag = histogram(
            "edge_exporter_loop_lag_seconds",
            "Delay of the event loop, which runs all polls and scrapes, measured ten times a second.",
            buckets=_SECONDS,
            unit="seconds",
        )
        self.render = gauge(
            "edge_exporter_render_duration_seconds",
            "Time to render the changes and to join the last generation of the exposition.",
            unit="seconds",
        )
        self.ledger_up = gauge(
            "edge_exporter_ledger_up",
            "Whether the last write of the counters' state succeeded.",
        )
        # The state counts as usable until a write fails.
        self.ledger_up.set(1)
        self.ledger_set_aside = gauge(
            "edge_exporter_ledger_set_aside_timestamp_seconds",
            "When a state file that could not be used was last renamed, or was found without its journal; 0 if that "
            "never happened in this run.",
            unit="seconds",
        )
        self.corrections = counter(
            "edge_exporter_ledger_corrections",
            "Values of days or months that fell on the platform after they were counted; the counters do not fall.",
            ("family",),
        )
        self.script_budget = gauge(
            "edge_script_monthly_budget_dollars",
            "The configured monthly budget of the script.",
            ("account", "script_id", "script"),
            unit="dollars",
        )
        self.script_budget_unmatched = gauge(
            "edge_exporter_script_budget_unmatched",
            "1 for a configured monthly budget whose name or id matches no polled script.",
            ("account", "script"),
        )
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def exposed(self) -> WithoutCreated:
        """Return the registry as it is exposed."""
        return WithoutCreated(self.registry)

    def families(self) -> Iterator[FamilyInfo]:
        """Return every family of the exporter, with or without series, without those of the process and of Python."""
        for family in vars(self).values():
            if isinstance(family, Counter | Gauge | Histogram):
                described = next(iter(family.describe()))
                kind = Kind(described.type)
                name = f"{described.name}_total" if kind is Kind.COUNTER else described.name
                yield FamilyInfo(name, described.documentation, kind, described.unit, family._labelnames)  # noqa: SLF001

    def declare_accounts(self, accounts: Mapping[str, Callable[[], bool] | None]) -> None:
        """Expose the families of these accounts only.

        Args:
            accounts: account → returns whether it is up; None if another shard reports it.
        """
        for family in (self.budget, self.capacity, self.demand):
            family.clear()
        self.declare_ups(accounts)
        for account in accounts:
            self.throttled.labels(account)

    def declare_ups(self, accounts: Mapping[str, Callable[[], bool] | None]) -> None:
        """Expose whether each account is up; an account with None is reported by another process."""
        self.up.clear()
        for account, is_up in accounts.items():
            if is_up is not None:
                self.up.labels(account).set_function(is_up)

    def declare_shards(self, shards: Iterable[int], is_held: Callable[[int], bool]) -> None:
        """Start the series of the leases of shards.

        Args:
            shards: the shards that this process holds or may hold.
            is_held: returns whether it is certain that no other exporter counts a shard.
        """
        for shard in shards:
            self.shard_held.labels(str(shard)).set_function(partial(is_held, shard))
            self.shard_takeovers.labels(str(shard))
            self.shard_losses.labels(str(shard))

    def show_shards(self, total: int, held: Mapping[int, int | None]) -> None:
        """Expose which shards this process polls.

        Args:
            total: the number of shards.
            held: shard → how often its lease has been claimed; None if unknown.
        """
        self.shard.clear()
        self.shard_epoch.clear()
        for shard, epoch in held.items():
            self.shard.labels(str(shard), str(total)).set(1)
            if epoch is not None:
                self.shard_epoch.labels(str(shard)).set(epoch)

    def forget(self, label: str, value: str) -> None:
        """Remove every series of an account or a collector that is no longer polled.

        Args:
            label: `account` or `collector`.
            value: the name; that of a database with its prefix.
        """
        for family in vars(self).values():
            if isinstance(family, Counter | Gauge | Histogram) and label in family._labelnames:  # noqa: SLF001
                family.remove_by_labels({label: value})

    def declare_collectors(self, collectors: Iterable[str]) -> None:
        """Start the series of these collectors at 0, so that their first event is an increase."""
        for collector in collectors:
            self.missed.labels(collector)

    def declare_calls(self, account: str, operations: Iterable[str]) -> None:
        """Start the series of an account's calls at 0, for the failures that alerts use."""
        for operation in operations:
            self.retries.labels(account, operation)
            self.durations.labels(account, operation)
            for reason in ALERTED_REASONS:
                self.failures.labels(account, operation, reason)

    def declare_counters(self, families: Iterable[FamilyInfo]) -> None:
        """Start the corrections of every counter family at 0."""
        for info in families:
            if info.kind is Kind.COUNTER:
                self.corrections.labels(info.name)

    def corrected(self, family: str, times: int) -> None:
        """Count falls of values that a counter of the family did not follow."""
        self.corrections.labels(family).inc(times)

    def show_absent(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Expose the numbers of absent families by collector and cause, in place of the former ones."""
        self.absent.clear()
        for (collector, cause), number in counts.items():
            self.absent.labels(collector, cause).set(number)

    def committed(self) -> None:
        """Note that the counters' state was written."""
        self.ledger_saves = True
        self.ledger_up.set(1)

    def commit_failed(self) -> None:
        """Note that the counters' state could not be written."""
        self.ledger_saves = False
        self.ledger_up.set(0)

    def set_aside(self, at: float) -> None:
        """Note that damaged state was found, at unix seconds."""
        self.set_aside_at = at
        self.ledger_set_aside.set(at)
