"""Exporter: its instances, calls of the platform, schedule and process."""

from dataclasses import replace

from dashboards.generator import links, variables
from dashboards.generator.colours import UP_OR_DOWN, Colour, Word, red_from, warn_from, warn_then_red
from dashboards.generator.columns import moment, share
from dashboards.generator.page import Column, Page, Query, Table, TimeSeries
from dashboards.generator.panels import panel, row
from dashboards.generator.promql import among, count, highest, top, total
from dashboards.generator.queries.figures import staleness
from dashboards.generator.selectors import ACCOUNT, AT_END, INSTANCE, gauge, own_rate, series

_API = (ACCOUNT, INSTANCE)


def _of_exporters(expr: str) -> str:
    """Keep the series of exporters: a job may scrape other programs, too, and All selects every job."""
    return among(expr, series("edge_exporter_build_info", INSTANCE), "job", "instance")


def _by_instance(name: str) -> str:
    return highest(series(name, INSTANCE), "instance")


def _rate(name: str, *by: str) -> str:
    return total(own_rate(name, *_API), *by)


_LATELY = f"last_over_time({series('edge_exporter_build_info', INSTANCE)}[1d])"
_FILES = f"{series('process_open_fds', INSTANCE)} / {series('process_max_fds', INSTANCE)}"
_SET_ASIDE = replace(
    moment("Set aside", _by_instance("edge_exporter_ledger_set_aside_timestamp_seconds")),
    steps=red_from(1),
    words=(Word("0", "never", Colour.GOOD),),
)

_INSTANCES = row(
    "Instances",
    (24,),
    panel(
        "Instances",
        "Every exporter that Prometheus scraped within the day: its shard, whether its newest configuration is in"
        " force, whether its counters can be saved, and when an unusable state file was set aside.",
        "DOWN: read the last lines of its log. REFUSED: `edge-exporter check --config FILE` names the faults. Counters"
        " DOWN: the log says why. Set aside: keep the renamed file; the log says what is wrong with it.",
        Table(sort="Shard", ascending=True, none="No exporter was scraped within the day."),
        Column("Instance", label="instance", width=150),
        # An exporter that is down has no build information now, but it had within the day.
        Column(
            "Scrape",
            highest(among(series("up", INSTANCE), _LATELY, "job", "instance"), "instance"),
            words=UP_OR_DOWN,
            width=85,
        ),
        Column("Shard", label="shard", width=75),
        Column("Of", label="shards", width=70),
        Column("Version", label="version", width=90),
        Column(
            "Configuration",
            _by_instance("edge_exporter_config_last_reload_successful"),
            words=(Word("1", "in force", Colour.GOOD), Word("0", "REFUSED", Colour.BAD)),
            width=140,
        ),
        Column("Counters", _by_instance("edge_exporter_ledger_up"), words=UP_OR_DOWN, width=100),
        Column("Series", _by_instance("edge_exporter_series"), width=85),
        share("Open files", highest(_of_exporters(_FILES), "instance"), width=115),
        moment("Started", highest(_of_exporters(series("process_start_time_seconds", INSTANCE)), "instance")),
        moment("Configured", _by_instance("edge_exporter_config_last_reload_success_timestamp_seconds")),
        _SET_ASIDE,
        Query(highest(series("edge_exporter_shard_info", INSTANCE), "instance", "shard", "shards")),
        Query(highest(series("edge_exporter_build_info", INSTANCE), "instance", "version")),
    ),
)

_DEMAND, _BUDGET = "edge_api_demand_requests_per_second", "edge_api_budget_requests_per_second"
_DURATION = "edge_api_request_duration_seconds"
_LATENCY = _rate(f"{_DURATION}_bucket", "le")
_FAILURES = _rate("edge_api_request_failures_total", "account", "operation", "reason")
_MOST_CALLED = top(_rate("edge_api_requests_total", "operation"), 20)
_MEAN_DURATION = f"{_rate(f'{_DURATION}_sum', 'operation')} / {_rate(f'{_DURATION}_count', 'operation')}"
_RETRIES = _rate("edge_api_retries_total", "operation")
# Of many accounts, those that need the largest share of their budget.
_DEMAND_AT_END, _BUDGET_AT_END = (total(series(name, *_API, at=AT_END), "account") for name in (_DEMAND, _BUDGET))
_TIGHTEST = top(f"({_DEMAND_AT_END} / {_BUDGET_AT_END})")


def _of_tightest(expr: str, legend: str) -> Query:
    return Query(among(expr, _TIGHTEST, "account"), legend)


_CALLS = row(
    "Platform API",
    (12, 12, 12, 12, 12, 12),
    panel(
        "API budget",
        "Calls a second by account: allowed by the budget, asked for by targets and intervals, and made. Only the"
        " accounts that need the largest share of their budget.",
        "If more calls are asked for than allowed, targets are polled less often than configured. Raise"
        " requests_per_second if the platform allows it, lengthen intervals, or poll fewer targets.",
        TimeSeries(unit="reqps", dashed=(".+: asked for", ".+: allowed")),
        _of_tightest(_rate("edge_api_requests_total", "account"), "{{account}}: made"),
        _of_tightest(total(series(_DEMAND, *_API), "account"), "{{account}}: asked for"),
        _of_tightest(total(series(_BUDGET, *_API), "account"), "{{account}}: allowed"),
    ),
    panel(
        "Failed calls by reason",
        "Platform calls that failed, by reason.",
        "`unauthorized`, `forbidden` and `credential`: the key. `rate_limited`: the budget. `timeout`, `refused` and"
        " `name`: the network. `not_json` and `wrong_shape`: an answer that could not be read.",
        TimeSeries(unit="reqps", none="No call failed.", stack=True),
        # These counters begin at 0 with the process; series of events that never happened are left out.
        Query(
            f"{_rate('edge_api_request_failures_total', 'reason')} > 0",
            "{{reason}}",
            quiet="a platform call fails",
        ),
    ),
    panel(
        "Failures now",
        "Failed calls a second by account, operation and reason; at most 100.",
        "If one operation is `forbidden`, the key lacks a permission. If all operations of an account fail, look at its"
        " key and at the network.",
        Table(sort="Failures", none="No call failed."),
        Column("Account", label="account", width=90),
        Column("Operation", label="operation"),
        Column("Reason", label="reason", width=120),
        Column(
            "Failures",
            Query(top(f"({_FAILURES} > 0)", 100), quiet="a platform call fails"),
            unit="reqps",
            steps=red_from(0.001),
            width=110,
        ),
    ),
    panel(
        "Operations",
        "Calls a second, their mean duration, and retries a second; the 20 operations with the most calls.",
        "To save calls, lengthen the interval of the collector with the most calls. If calls are slow, max_in_flight"
        " must be at least calls a second times duration.",
        Table(sort="Calls"),
        Column("Operation", label="operation"),
        Column("Calls", _MOST_CALLED, unit="reqps", width=115),
        Column("Duration", among(_MEAN_DURATION, _MOST_CALLED, "operation"), unit="s", width=115),
        Column(
            "Retries",
            among(_RETRIES, _MOST_CALLED, "operation"),
            unit="reqps",
            steps=warn_from(0.001),
            width=115,
        ),
    ),
    panel(
        "Latency by share",
        "The time within which half, 90 % and 99 % of the calls were answered.",
        "If 99 % is near the configured timeout, calls fail at times: raise the timeout.",
        TimeSeries(unit="s"),
        Query(f"histogram_quantile(0.5, {_LATENCY})", "half of the calls"),
        Query(f"histogram_quantile(0.9, {_LATENCY})", "90 %"),
        Query(f"histogram_quantile(0.99, {_LATENCY})", "99 %"),
    ),
    panel(
        "Scrapes",
        "How long a scrape of each instance took, and how long the last rendering of /metrics took.",
        "The exporter sends rendered bytes: if a scrape takes long, check the network and the CPU limit.",
        TimeSeries(unit="s", steps=warn_then_red(2, 8)),
        Query(_of_exporters(series("scrape_duration_seconds", INSTANCE)), "{{instance}}: scrape"),
        Query(series("edge_exporter_render_duration_seconds", INSTANCE), "{{instance}}: rendering"),
    ),
)

_INTERVAL = highest(series("edge_exporter_collector_interval_seconds", INSTANCE), "collector")


def _chosen(name: str, by: tuple[str, ...]) -> str:
    return series(name, *(_API if "account" in by else (INSTANCE,)))


def _now(name: str, *by: str) -> str:
    return total(_chosen(name, by), *by)


def _in_time_range(name: str, *by: str) -> str:
    return total(f"increase({_chosen(name, by)}[$__range])", *by)


# A query that counts, a label of its results, and the text of the column What, in which `$1` is the label's value.
_KINDS = (
    (_now("edge_exporter_failing_targets", "account", "collector", "reason"), "reason", "fails: $1"),
    (_now("edge_window_mismatched_targets", "account"), "", "total differs from its days"),
    (_now("edge_exporter_absent_families", "collector", "cause"), "cause", "metrics absent: $1"),
    (_now("edge_exporter_series_dropped", "family"), "family", "series left out of $1"),
    (_in_time_range("edge_api_unexpected_values_total", "account", "field"), "field", "unknown value of $1"),
    (_in_time_range("edge_exporter_ledger_corrections_total", "family"), "family", "count lowered: $1"),
    (_in_time_range("edge_exporter_task_failures_total", "task"), "task", "task failed: $1"),
    (f"1 - {highest(series('edge_exporter_shard_held', INSTANCE), 'shard')}", "shard", "no one holds shard $1"),
    (count(gauge("edge_target_labels", ACCOUNT), "account"), "", "has labels"),
    (count(gauge("edge_alert_threshold", ACCOUNT), "account", "alert"), "alert", "has a threshold: $1"),
)
_NOTICED = " or ".join(
    f'label_replace({counted} > 0, "what", "{what}", "{label}", "(.*)")' for counted, label, what in _KINDS
)

_SCHEDULE = row(
    "Schedule, and what was noticed",
    (12, 12, 24),
    panel(
        "Staleness by collector",
        "The age of the oldest values of each collector, in intervals of the collector. Database queries, which may"
        " have intervals of their own, are left out.",
        "By default, a target's series end at 3. If one collector rises, a target fails, which the Overview page names."
        " If all rise, the account does not answer, or polls come late.",
        TimeSeries(unit="none", decimals=1, steps=warn_then_red(2, 3)),
        Query(highest(staleness(), "collector"), "{{collector}}"),
    ),
    panel(
        "Collectors",
        "The effective interval of each collector, the duration of its last poll (including the wait for the budget),"
        " and the runs a second that were skipped, because the one before had not ended or the scheduler was late.",
        "If the interval is longer than configured, the budget is too small. If a poll takes nearly as long as the"
        " interval, or runs are missed for long, lengthen the interval or raise max_in_flight.",
        Table(sort="Took"),
        Column("Collector", label="collector"),
        Column("Interval", _INTERVAL, unit="s", width=110),
        Column(
            "Took",
            highest(series("edge_exporter_collector_duration_seconds", INSTANCE), "collector"),
            unit="s",
            width=110,
        ),
        Column(
            "Missed runs",
            total(own_rate("edge_exporter_collector_missed_runs_total", INSTANCE), "collector"),
            unit="ops",
            width=130,
            steps=warn_from(0.001),
        ),
    ),
    panel(
        "What the exporter noticed",
        "Now: failing targets by reason, absent metrics by cause, totals that are not the sum of their days, series"
        " left out, shards that no exporter holds, and the targets with configured labels and thresholds. Within the"
        " time range: unknown values, counts that the platform lowered, and failed tasks of the exporter.",
        "The status page names the targets; `edge-exporter explain FAMILY` says why a metric is absent. Unknown values:"
        " update the exporter. Series left out: raise series.max_label_values, or deny the family. Failed tasks:"
        " report the error in the log. Fewer labels or thresholds than expected: a pattern matches no name.",
        Table(sort="Number", none="Nothing fails or is missing."),
        Column("Account", label="account", width=110),
        Column("Collector", label="collector", width=190),
        Column("What", label="what"),
        Column("Number", highest(_NOTICED, "account", "collector", "what"), decimals=0, width=100),
    ),
)

_LAG = "edge_exporter_loop_lag_seconds"
_PROCESS = row(
    "Process",
    (8, 8, 8),
    panel(
        "Memory",
        "Resident memory of each instance.",
        "Memory depends on the number of series. If it grows without new series, report it with the version.",
        TimeSeries(unit="bytes"),
        Query(_of_exporters(series("process_resident_memory_bytes", INSTANCE)), "{{instance}}"),
    ),
    panel(
        "CPU",
        "CPU seconds a second of each instance.",
        "Near 1, one CPU is not enough: use more shards, or lengthen intervals.",
        TimeSeries(unit="s", steps=warn_then_red(0.7, 0.9), axis="per second"),
        Query(_of_exporters(own_rate("process_cpu_seconds_total", INSTANCE)), "{{instance}}"),
    ),
    panel(
        "Loop lag",
        "The mean delay of the event loop of each instance.",
        "If it stays above 0.1 s, scrapes and polls wait: use more shards, or give the exporter more CPU.",
        TimeSeries(unit="s", steps=warn_then_red(0.1, 0.5)),
        Query(f"{own_rate(f'{_LAG}_sum', INSTANCE)} / {own_rate(f'{_LAG}_count', INSTANCE)}", "{{instance}}"),
    ),
    folded=True,
)

PAGE = Page(
    uid=links.EXPORTER,
    title="Edge platform / Exporter",
    about="The exporter itself: instances and shards, API budget, failures, latency, staleness, and what it noticed.",
    variables=(variables.JOB, variables.INSTANCE, variables.ACCOUNTS),
    rows=(_INSTANCES, _CALLS, _SCHEDULE, _PROCESS),
    since="now-6h",
)
