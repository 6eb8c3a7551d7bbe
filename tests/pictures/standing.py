"""Defines values that seldom change on the platform of the pictures: settings, limits, the exporter's metrics."""

import math
from collections.abc import Callable
from datetime import timedelta

from tests.dashboards.world import END, HISTORY, Labels
from tests.pictures.holdings import ENDPOINTS, POLLED
from tests.pictures.traffic import DAY, noise, spread

MOMENT = END - timedelta(minutes=35)
TROUBLE = (MOMENT - timedelta(minutes=25)).timestamp()
BEGIN = END - timedelta(hours=50)
HOUR = 3600.0

Labelled = Callable[[Labels, float], float | None]


def share(key: str, least: float, most: float) -> float:
    """Return a number in a range, always the same for a name."""
    return least + (most - least) * spread(key)


def _sensitive(labels: Labels, _: float) -> float:
    return float(labels["level"] == {"3": "high", "4": "medium", "5": "low"}[labels["shield_zone_id"]])


def _of(label: str, **values: float) -> Labelled:
    """Return the value of a label's text."""
    return lambda labels, _: values.get(labels[label])


_BUDGETS = {"main": 1.0, "eu": 0.5}
_SHIELDED: dict[str, float | Labelled] = {
    "edge_shield_zones": _of("account", main=1.0, eu=2.0),
    "edge_shield_zone_learning_mode": lambda labels, _: float(labels["shield_zone_id"] == "5"),
    "edge_shield_zone_learning_mode_until_timestamp_seconds": lambda labels, _: (
        END.timestamp() + 1.6 * DAY if labels["shield_zone_id"] == "5" else None
    ),
    "edge_shield_zone_execution_mode": lambda labels, _: float(
        labels["mode"] == ("log" if labels["shield_zone_id"] == "5" and labels["engine"] == "waf" else "block")
    ),
    "edge_shield_zone_ddos_sensitivity": _sensitive,
    "edge_shield_zone_rules_limit": _of("rule_kind", rate_limit=5.0, custom_waf=10.0),
    "edge_shield_zone_feature_enabled": lambda labels, _: float(
        spread(labels["feature"] + labels["shield_zone_id"]) > 0.45
    ),
    "edge_shield_api_guardian_limit": _of(
        "limit", endpoints=250.0, fields_per_type=100.0, nesting_depth=8.0, schema_nodes=4000.0, regex_length=256.0
    ),
    "edge_shield_api_guardian_updated_timestamp_seconds": END.timestamp() - 4 * DAY,
    "edge_shield_bot_detection_sensitivity": _sensitive,
    "edge_shield_bot_detection_complex_fingerprint_enabled": lambda labels, _: float(labels["shield_zone_id"] != "5"),
    "edge_shield_access_list_last_modified_timestamp_seconds": lambda labels, _: (
        END.timestamp() - share(labels["access_list"], 2, 30) * DAY
    ),
}
_REST: dict[str, float | Labelled] = {
    "edge_database_query_duration_seconds": lambda labels, at: (
        share(labels["query"], 0.01, 0.08) * (1 + 0.3 * noise(labels["query"], at))
    ),
    "edge_database_query_interval_seconds": 60.0,
    "edge_database_orders_open": lambda labels, at: float(
        round({"eu": 64, "us": 41, "asia": 17}[labels["region"]] * (1 + 0.2 * noise(labels["region"], at)))
    ),
}


def _calls(labels: Labels, at: float) -> float:
    return ENDPOINTS[labels["operation"]][0] * (at - HISTORY.timestamp())


def _by_code(labels: Labels, at: float) -> float | None:
    never_scanned = labels["operation"].endswith("/scan") and labels["account"] == "eu"
    if labels["code"] == "401":
        return None
    if labels["code"] == "404":
        return _calls(labels, at) / 9 if never_scanned else None
    return _calls(labels, at)


def _bucket(labels: Labels, at: float) -> float:
    middle = ENDPOINTS[labels["operation"]][1]
    bound = float(labels["le"].replace("+Inf", "inf"))
    return _calls(labels, at) * (1 / (1 + (middle / bound) ** 3) if math.isfinite(bound) else 1.0)


ABSENT = {("dns_record_scans", "never_scanned"): 6.0, ("dns_statistics", "no_value"): 2.0}
_EXPORTER: dict[str, float | Labelled] = {
    "edge_target_last_success_timestamp_seconds": lambda labels, at: (
        at - (at + spread(labels["target"]) * 900) % POLLED[labels["collector"]][0]
    ),
    "edge_api_requests_total": _by_code,
    "edge_api_request_failures_total": 0.0,
    "edge_api_retries_total": 0.0,
    "edge_api_request_duration_seconds_sum": lambda labels, at: _calls(labels, at) * ENDPOINTS[labels["operation"]][1],
    "edge_api_request_duration_seconds_count": _calls,
    "edge_api_request_duration_seconds_bucket": _bucket,
    "edge_api_throttled_seconds_total": lambda labels, at: (
        0.002 * (at - HISTORY.timestamp()) * (2 if labels["account"] == "main" else 1)
    ),
    "edge_api_budget_requests_per_second": _of("account", **_BUDGETS),
    "edge_api_capacity_requests_per_second": lambda labels, _: {
        "requests_per_second": _BUDGETS[labels["account"]],
        "max_in_flight": 64.0,
    }.get(labels["limit"]),
    "edge_api_demand_requests_per_second": _of("account", main=0.33, eu=0.21),
    "edge_exporter_config_last_reload_successful": 1.0,
    "edge_exporter_config_last_reload_success_timestamp_seconds": BEGIN.timestamp() + 30 * HOUR,
    "edge_exporter_collector_interval_seconds": lambda labels, _: float(POLLED[labels["collector"]][0]),
    "edge_exporter_collector_duration_seconds": lambda labels, at: (
        POLLED[labels["collector"]][1] * (1 + 0.2 * noise(labels["collector"], at - at % 300))
    ),
    "edge_exporter_script_budget_unmatched": 0.0,
    "edge_exporter_absent_families": lambda labels, _: ABSENT.get((labels["collector"], labels["cause"])),
    "edge_exporter_series": 1312.0,
    "edge_exporter_render_duration_seconds": lambda _, at: 0.0031 * (1 + 0.3 * noise("render", at)),
    "edge_exporter_ledger_set_aside_timestamp_seconds": 0.0,
    "process_cpu_seconds_total": lambda _, at: 0.021 * (at - HISTORY.timestamp()),
    "process_max_fds": 1024.0,
    "process_open_fds": lambda _, at: 41.0 + round(2 * noise("files", at)),
    "process_resident_memory_bytes": lambda _, at: 9.1e7 + 1.5e6 * noise("memory", at),
    "process_start_time_seconds": BEGIN.timestamp() + 26 * HOUR,
    "edge_exporter_loop_lag_seconds_sum": lambda _, at: 0.02 * (at - HISTORY.timestamp()),
    "edge_exporter_loop_lag_seconds_count": lambda _, at: 10 * (at - HISTORY.timestamp()),
    "scrape_duration_seconds": lambda _, at: 0.0042 * (1 + 0.3 * noise("scrape", at)),
    "scrape_samples_scraped": 1346.0,
}
_COUNTS = (
    *("edge_shield_api_guardian_endpoints", "edge_shield_api_guardian_endpoint_checks"),
    *("edge_shield_zone_waf_rules", "edge_shield_waf_custom_rule_conditions", "edge_shield_waf_plan_rules"),
    *("edge_shield_access_list_entries", "edge_container_image_tags", "edge_search_results", "edge_resources"),
    *("edge_database_query_rows", "edge_script_variables", "edge_script_linked_pull_zones"),
)


def _count(labels: Labels, _: float) -> float:
    """Return how many things something has, which differs from one to another."""
    return float(round(share(" ".join(labels.values()), 2, 40)))


STANDING = {**dict.fromkeys(_COUNTS, _count), **_SHIELDED, **_REST, **_EXPORTER}
