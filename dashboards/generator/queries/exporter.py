"""Defines queries for the exporter itself: budget, failures, latency, staleness, cost and shards.

Each process counts its own work, so these counters are summed over processes.
"""

from dashboards.generator.page import Query
from dashboards.generator.promql import (
    ACCOUNT,
    AT_END,
    INSTANCE,
    age,
    among,
    count,
    highest,
    lowest,
    milliseconds,
    own_rate,
    series,
    top,
    total,
)

API = (ACCOUNT, INSTANCE)
TABLE_ROWS = 100

# These counters begin at 0 with the process; series of events that never happened are left out.
_HAPPENED = " > 0"
_A_FAILURE = "a platform call fails"
_FAILURES = total(own_rate("edge_api_request_failures_total", *API), "account", "operation", "reason")

_BUILD = series("edge_exporter_build_info", INSTANCE)
_LATELY = f"last_over_time({_BUILD}[1d])"
_LATENCY = total(own_rate("edge_api_request_duration_seconds_bucket", *API), "le")
_INTERVAL = highest(series("edge_exporter_collector_interval_seconds", INSTANCE), "collector")


def _of_exporters(expr: str) -> str:
    # A job may scrape other programs too, and All selects every job: only exporters have build information.
    return among(expr, _BUILD, "job", "instance")


# An exporter that is down has no build information now, but it had within the day.
INSTANCES_DOWN = Query(total(f"({among(series('up', INSTANCE), _LATELY, 'job', 'instance')}) == bool 0"), "instances")
RELOAD_OK = Query(lowest(series("edge_exporter_config_last_reload_successful", INSTANCE)), "reload")
LEDGER_UP = Query(lowest(series("edge_exporter_ledger_up", INSTANCE)), "ledger")
SERIES_TOTAL = Query(total(series("edge_exporter_series", INSTANCE)), "series")

_CAPACITY_AT_END = series("edge_api_capacity_requests_per_second", *API, at=AT_END)
# Of many accounts, those that need the largest share of their budget.
_TIGHTEST = top(
    f"({total(series('edge_api_demand_requests_per_second', *API, at=AT_END), 'account')}"
    f" / {total(f'min without (limit) ({_CAPACITY_AT_END})', 'account')})"
)
_IN_FLIGHT = total(series("edge_api_capacity_requests_per_second", *API, 'limit="max_in_flight"'), "account", "limit")
_BUDGET = total(series("edge_api_budget_requests_per_second", *API), "account")
_LIMITS = f'({_IN_FLIGHT} or label_replace({_BUDGET}, "limit", "requests_per_second", "", ""))'
ALLOWED = Query(
    among(f"bottomk by (account) (1, {_LIMITS})", _TIGHTEST, "account"), "{{account}}: allowed by {{limit}}"
)
DEMAND = Query(
    among(total(series("edge_api_demand_requests_per_second", *API), "account"), _TIGHTEST, "account"),
    "{{account}}: asked for",
)
REQUESTS = Query(
    among(total(own_rate("edge_api_requests_total", *API), "account"), _TIGHTEST, "account"), "{{account}}: made"
)
THROTTLED = Query(
    among(total(own_rate("edge_api_throttled_seconds_total", *API), "account"), _TIGHTEST, "account"), "{{account}}"
)
REQUESTS_BY_CODE = Query(total(own_rate("edge_api_requests_total", *API), "code"), "{{code}}")
CALLS = Query(top(total(own_rate("edge_api_requests_total", *API), "operation"), 20))
FAILURES_BY_ENDPOINT = Query(top(f"({_FAILURES}{_HAPPENED})", TABLE_ROWS), quiet=_A_FAILURE)
RETRIES = Query(total(own_rate("edge_api_retries_total", *API), "operation"))
UNEXPECTED = Query(
    top(total(f"increase({series('edge_api_unexpected_values_total', *API)}[$__range])", "operation", "field"), 50),
    quiet="the platform sends a value that the interface document does not list",
)

LATENCY_HALF = Query(f"histogram_quantile(0.5, {_LATENCY})", "half of the calls")
LATENCY_NINE_TENTHS = Query(f"histogram_quantile(0.9, {_LATENCY})", "90 %")
LATENCY_MOST = Query(f"histogram_quantile(0.99, {_LATENCY})", "99 %")
MEAN_DURATION = Query(
    f"{total(own_rate('edge_api_request_duration_seconds_sum', *API), 'operation')}"
    f" / {total(own_rate('edge_api_request_duration_seconds_count', *API), 'operation')}"
)

STALENESS = Query(
    f"{highest(age('edge_target_last_success_timestamp_seconds', ACCOUNT), 'collector')} / on (collector) {_INTERVAL}",
    "{{collector}}",
)
INTERVALS = Query(_INTERVAL)
DURATIONS = Query(highest(series("edge_exporter_collector_duration_seconds", INSTANCE), "collector"))
MISSED_RUNS = Query(total(own_rate("edge_exporter_collector_missed_runs_total", INSTANCE), "collector"))

SCRAPE_DURATION = Query(_of_exporters(series("scrape_duration_seconds", INSTANCE)), "{{instance}}: scrape")
RENDER_DURATION = Query(series("edge_exporter_render_duration_seconds", INSTANCE), "{{instance}}: build")
DROPPED_BY_FAMILY = Query(
    top(total(f"{series('edge_exporter_series_dropped', INSTANCE)} > 0", "family"), 20),
    "{{family}}",
    quiet="a metric has more label values than series.max_label_values",
)

SHARDS = Query(highest(series("edge_exporter_shard_info", INSTANCE), "instance", "shard", "shards"))
SHARDS_HELD = Query(count(f"{highest(series('edge_exporter_shard_held'), 'shard')} == 1"), "held")
SHARDS_PRESENT = Query(count(count(series("edge_exporter_shard_info"), "shards", "shard"), "shards"), "of {{shards}}")
SHARD_VERSION = Query(highest(_BUILD, "instance", "version"))
RELOADED = Query(
    milliseconds(highest(series("edge_exporter_config_last_reload_success_timestamp_seconds", INSTANCE), "instance"))
)
STARTED = Query(milliseconds(highest(_of_exporters(series("process_start_time_seconds", INSTANCE)), "instance")))
SET_ASIDE = Query(
    milliseconds(highest(series("edge_exporter_ledger_set_aside_timestamp_seconds", INSTANCE), "instance"))
)
CORRECTIONS = Query(
    total(own_rate("edge_exporter_ledger_corrections_total", INSTANCE), "family") + _HAPPENED,
    "{{family}}",
    quiet="the platform takes back what it had counted",
)

MEMORY = Query(_of_exporters(series("process_resident_memory_bytes", INSTANCE)), "{{instance}}")
CPU = Query(_of_exporters(own_rate("process_cpu_seconds_total", INSTANCE)), "{{instance}}")
FILES = Query(
    _of_exporters(f"{series('process_open_fds', INSTANCE)} / {series('process_max_fds', INSTANCE)}"), "{{instance}}"
)
LOOP_LAG = Query(
    f"{own_rate('edge_exporter_loop_lag_seconds_sum', INSTANCE)}"
    f" / {own_rate('edge_exporter_loop_lag_seconds_count', INSTANCE)}",
    "{{instance}}",
)
TASK_FAILURES = Query(
    total(own_rate("edge_exporter_task_failures_total", INSTANCE), "task") + _HAPPENED,
    "{{task}}",
    quiet="the exporter's own work fails",
)
CLOCK_OFFSET = Query(series("edge_exporter_clock_offset_seconds", ACCOUNT, INSTANCE), "{{instance}}: {{account}}")
RESTARTS = Query(
    _of_exporters(f"(time() - {series('process_start_time_seconds', INSTANCE)}) < 60"), quiet="the exporter is started"
)
MISSING = Query(total(series("edge_exporter_absent_families", INSTANCE), "collector", "cause"))
