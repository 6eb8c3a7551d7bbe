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


_SENSITIVITY = {"3": "high", "4": "medium", "5": "low"}
SHIELDED: dict[str, Labelled] = {
    "edge_shield_zones": lambda labels, _: 1.0 if labels["account"] == "main" else 2.0,
    "edge_shield_zone_info": lambda *_: 1.0,
    "edge_shield_zone_waf_enabled": lambda *_: 1.0,
    "edge_shield_zone_learning_mode": lambda labels, _: float(labels["shield_zone_id"] == "5"),
    "edge_shield_zone_learning_mode_until_timestamp_seconds": lambda labels, _: (
        END.timestamp() + 1.6 * DAY if labels["shield_zone_id"] == "5" else None
    ),
    "edge_shield_zone_execution_mode": lambda labels, _: float(
        labels["mode"] == ("log" if labels["shield_zone_id"] == "5" and labels["engine"] == "waf" else "block")
    ),
    "edge_shield_zone_ddos_sensitivity": lambda labels, _: float(
        labels["level"] == _SENSITIVITY[labels["shield_zone_id"]]
    ),
    "edge_shield_zone_waf_rules": lambda labels, _: (
        {"custom": 6.0, "disabled": 11.0, "log_only": 24.0}[labels["state"]] - float(labels["shield_zone_id"])
    ),
    "edge_shield_zone_rules_limit": lambda labels, _: 5.0 if labels["rule_kind"] == "rate_limit" else 10.0,
    "edge_shield_zone_feature_enabled": lambda labels, _: float(
        spread(labels["feature"] + labels["shield_zone_id"]) > 0.45
    ),
    "edge_shield_api_guardian_enabled": lambda *_: 1.0,
    "edge_shield_api_guardian_info": lambda *_: 1.0,
    "edge_shield_api_guardian_limit": lambda labels, _: {
        "endpoints": 250.0,
        "fields_per_type": 100.0,
        "nesting_depth": 8.0,
        "schema_nodes": 4000.0,
        "regex_length": 256.0,
    }.get(labels["limit"]),
    "edge_shield_api_guardian_endpoints": lambda labels, _: float(
        round((150 if labels["enabled"] == "true" else 22) * share(f"api {labels['shield_zone_id']}", 0.4, 1.3))
    ),
    "edge_shield_api_guardian_endpoint_checks": lambda labels, _: float(
        round(150 * share(f"api {labels['shield_zone_id']}", 0.4, 1.3) * share(labels["check"], 0.3, 1))
    ),
    "edge_shield_api_guardian_updated_timestamp_seconds": lambda *_: END.timestamp() - 4 * DAY,
    "edge_shield_bot_detection_sensitivity": lambda labels, _: float(
        labels["level"] == _SENSITIVITY[labels["shield_zone_id"]]
    ),
    "edge_shield_bot_detection_complex_fingerprint_enabled": lambda labels, _: float(labels["shield_zone_id"] != "5"),
    "edge_shield_access_list_entries": lambda labels, _: 14.0 if labels["access_list_id"] == "11" else 212.0,
    "edge_shield_access_list_last_modified_timestamp_seconds": lambda labels, _: (
        END.timestamp() - share(labels["access_list"], 2, 30) * DAY
    ),
    "edge_shield_access_list_info": lambda *_: 1.0,
    "edge_shield_waf_custom_rule_info": lambda *_: 1.0,
    "edge_shield_waf_custom_rule_conditions": lambda labels, _: 1.0 if labels["rule_id"] == "21" else 3.0,
    "edge_shield_waf_plan_rules": lambda labels, _: float(round(share(labels["ruleset"], 20, 160))),
}
REST: dict[str, Labelled] = {
    "edge_container_image_tags": lambda labels, _: 1140.0 if labels["image"] == "nginx" else 610.0,
    "edge_container_image_tag_present": lambda *_: 1.0,
    "edge_search_results": lambda labels, _: 12.0 if labels["query"] == "prod" else 7.0,
    "edge_resources": lambda labels, _: {"dns": 5.0, "cdn": 7.0, "script": 2.0, "storage": 3.0}[
        labels["resource_type"]
    ],
    "edge_database_up": lambda *_: 1.0,
    "edge_database_query_duration_seconds": lambda labels, at: (
        share(labels["query"], 0.01, 0.08) * (1 + 0.3 * noise(labels["query"], at))
    ),
    "edge_database_query_rows": lambda labels, _: {"orders_open": 3.0, "carts_stale": 1.0, "payments_failed": 2.0}[
        labels["query"]
    ],
    "edge_database_query_interval_seconds": lambda *_: 60.0,
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
EXPORTER: dict[str, Labelled] = {
    "edge_up": lambda *_: 1.0,
    "edge_target_up": lambda *_: 1.0,
    "edge_target_last_success_timestamp_seconds": lambda labels, at: (
        at - (at + spread(labels["target"]) * 900) % POLLED[labels["collector"]][0]
    ),
    "edge_api_requests_total": _by_code,
    "edge_api_request_failures_total": lambda *_: 0.0,
    "edge_api_retries_total": lambda *_: 0.0,
    "edge_api_request_duration_seconds_sum": lambda labels, at: _calls(labels, at) * ENDPOINTS[labels["operation"]][1],
    "edge_api_request_duration_seconds_count": _calls,
    "edge_api_request_duration_seconds_bucket": _bucket,
    "edge_api_throttled_seconds_total": lambda labels, at: (
        0.002 * (at - HISTORY.timestamp()) * (2 if labels["account"] == "main" else 1)
    ),
    "edge_api_budget_requests_per_second": lambda labels, _: 1.0 if labels["account"] == "main" else 0.5,
    "edge_api_capacity_requests_per_second": lambda labels, _: {
        "requests_per_second": 1.0 if labels["account"] == "main" else 0.5,
        "max_in_flight": 64.0,
    }.get(labels["limit"]),
    "edge_api_demand_requests_per_second": lambda labels, _: 0.33 if labels["account"] == "main" else 0.21,
    "edge_exporter_build_info": lambda *_: 1.0,
    "edge_exporter_config_last_reload_successful": lambda *_: 1.0,
    "edge_exporter_config_last_reload_success_timestamp_seconds": lambda *_: BEGIN.timestamp() + 30 * HOUR,
    "edge_exporter_collector_interval_seconds": lambda labels, _: float(POLLED[labels["collector"]][0]),
    "edge_exporter_collector_duration_seconds": lambda labels, at: (
        POLLED[labels["collector"]][1] * (1 + 0.2 * noise(labels["collector"], at - at % 300))
    ),
    "edge_exporter_shard_info": lambda *_: 1.0,
    "edge_exporter_script_budget_unmatched": lambda *_: 0.0,
    "edge_exporter_absent_families": lambda labels, _: ABSENT.get((labels["collector"], labels["cause"])),
    "edge_exporter_series": lambda *_: 1312.0,
    "edge_exporter_render_duration_seconds": lambda _, at: 0.0031 * (1 + 0.3 * noise("render", at)),
    "edge_exporter_ledger_up": lambda *_: 1.0,
    "edge_exporter_ledger_set_aside_timestamp_seconds": lambda *_: 0.0,
    "process_cpu_seconds_total": lambda _, at: 0.021 * (at - HISTORY.timestamp()),
    "process_max_fds": lambda *_: 1024.0,
    "process_open_fds": lambda _, at: 41.0 + round(2 * noise("files", at)),
    "process_resident_memory_bytes": lambda _, at: 9.1e7 + 1.5e6 * noise("memory", at),
    "process_start_time_seconds": lambda *_: BEGIN.timestamp() + 26 * HOUR,
    "edge_exporter_loop_lag_seconds_sum": lambda _, at: 0.02 * (at - HISTORY.timestamp()),
    "edge_exporter_loop_lag_seconds_count": lambda _, at: 10 * (at - HISTORY.timestamp()),
    "account:edge_up:answering": lambda *_: 1.0,
    "shield_zone:edge_shield_zone_waf_enabled:max": lambda *_: 1.0,
    "shield_zone_engine:edge_shield_zone_execution_mode:block": lambda *_: 1.0,
    "scrape_duration_seconds": lambda _, at: 0.0042 * (1 + 0.3 * noise("scrape", at)),
    "scrape_samples_scraped": lambda *_: 1346.0,
    "up": lambda *_: 1.0,
}
