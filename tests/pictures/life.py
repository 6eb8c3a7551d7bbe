"""Defines the value of every series of the pictures' platform at every time: a month of normal traffic."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from tests.dashboards.world import END, HISTORY, Labels
from tests.pictures.holdings import ENDPOINTS, LIMITS, POLLED, RECORD_TYPES, RECORDS, SCRIPTS, SHIELDS, ZONES
from tests.pictures.traffic import DAY, Flow, month_begin, noise, spread

MOMENT = END - timedelta(minutes=35)
TROUBLE = (MOMENT - timedelta(minutes=25)).timestamp()
BEGIN = END - timedelta(hours=50)
HOUR = 3600.0
RELEASED = (MOMENT - timedelta(hours=9)).timestamp()
BEGUN = HISTORY.timestamp()

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


def _calls(labels: Labels, at: float) -> float:
    return ENDPOINTS[labels["operation"]][0] * (at - BEGUN)


def _by_code(labels: Labels, at: float) -> float | None:
    never_scanned = labels["operation"].endswith("/scan") and labels["account"] == "eu"
    share_of = {"200": 1.0, "404": 1 / 9 if never_scanned else 0.0}.get(labels["code"])
    return _calls(labels, at) * share_of if share_of else None


def _bucket(labels: Labels, at: float) -> float:
    return _calls(labels, at) / (1 + (ENDPOINTS[labels["operation"]][1] / float(labels["le"])) ** 3)


_ABSENT = {("dns_record_scans", "never_scanned"): 6.0, ("dns_statistics", "no_value"): 2.0}
_COUNTS = (
    *("edge_shield_api_guardian_endpoints", "edge_shield_api_guardian_endpoint_checks"),
    *("edge_shield_zone_waf_rules", "edge_shield_waf_custom_rule_conditions", "edge_shield_waf_plan_rules"),
    *("edge_shield_access_list_entries", "edge_container_image_tags", "edge_search_results", "edge_resources"),
    *("edge_database_query_rows", "edge_script_variables", "edge_script_linked_pull_zones"),
)


def _count(labels: Labels, _: float) -> float:
    """Return how many things something has, which differs from one to another."""
    return float(round(share(" ".join(labels.values()), 2, 40)))


def burst(at: float) -> float:
    """Return the factor of breaches during an attack on passwords last night."""
    return 1 + 6 * math.exp(-(((at - TROUBLE + 9.5 * HOUR) / 2400) ** 2))


_QUERIES = {zone: Flow(f"zone {zone}", mean) for _, zone, _, mean in ZONES}
_REQUESTS = {script: Flow(f"script {script}", mean) for _, script, _, mean, *_ in SCRIPTS}
_BREACHES = {
    limit: Flow(f"limit {limit}", mean, burst if name == "login" else None) for _, _, limit, name, mean in LIMITS
}
_CPU = {script: seconds for _, script, _, _, seconds, _ in SCRIPTS}
_BUDGET = {script: dollars for _, script, *_, dollars in SCRIPTS}


def _polled(at: float) -> float:
    # Just after midnight the count is still that of the old day.
    return at - 150 - (at - 150) % 300


def _midnight(at: float) -> float:
    return _polled(at) - _polled(at) % DAY


def _queries(since: Callable[[float], float]) -> Labelled:
    return lambda labels, at: _QUERIES[labels["zone_id"]].between(since(at), _polled(at))


_DNS = {
    "edge_dns_day_{}queries": _queries(_midnight),
    "edge_dns_window_{}queries": _queries(lambda at: _midnight(at) - 30 * DAY),
    "edge_dns_{}queries_total": _queries(lambda _: BEGUN),
}


def _routed(queries: Labelled) -> Labelled:
    def value(labels: Labels, at: float) -> float:
        smart = share(f"smart {labels['zone_id']}", 0.1, 0.5)
        return (queries(labels, at) or 0.0) * (smart if labels["routing"] == "smart" else 1 - smart)

    return value


def _created(labels: Labels, at: float) -> float | None:
    zone = labels["zone_id"]
    begin = END.timestamp() - share(f"scan {zone}", 3, 60) * HOUR
    return None if zone == "204" else begin if at > begin else begin - 7 * DAY


def _completed(labels: Labels, at: float) -> float | None:
    begin = _created(labels, at)
    return begin and begin + share(f"took {labels['zone_id']} {begin}", 25, 260)


def _if_scanned(value: Callable[[Labels], float]) -> Labelled:
    return lambda labels, at: _created(labels, at) and value(labels)


def _requests(labels: Labels, begin: float, at: float) -> float:
    return _REQUESTS[labels["script_id"]].between(begin, at)


def _cpu(labels: Labels, begin: float, at: float) -> float:
    # The release made the router slower.
    slower = 0.6 * _requests(labels, max(begin, RELEASED), at) if labels["script_id"] == "7" and at > RELEASED else 0.0
    return (_requests(labels, begin, at) + slower) * _CPU[labels["script_id"]]


def _cost(labels: Labels, begin: float, at: float) -> float:
    return 0.2e-6 * _requests(labels, begin, at) + 2e-5 * _cpu(labels, begin, at)


def _polled_script(of: Callable[[Labels, float, float], float], since: Callable[[float], float]) -> Labelled:
    return lambda labels, at: of(labels, since(at), at - at % 900)


def _modified(labels: Labels, at: float) -> float:
    is_released = labels["script_id"] == "7" and at > RELEASED
    return RELEASED if is_released else END.timestamp() - share(f"modified {labels['script_id']}", 3, 40) * DAY


def _breaches(since: Callable[[float], float]) -> Labelled:
    def value(labels: Labels, at: float) -> float:
        every = int(_BREACHES[labels["rate_limit_id"]].between(since(at), at - at % 60))
        part = {"logged": 0.5, "challenged": 0.2, "blocked": 0.3}[labels["action"]] if "action" in labels else 1
        return float(int(part * every))

    return value


_FIGURES = {"cost_dollars": _cost, "requests": _requests, "cpu_seconds": _cpu}
_SERIES: dict[str, float | Labelled] = {
    **dict.fromkeys(_COUNTS, _count),
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
    "edge_database_query_duration_seconds": lambda labels, at: (
        share(labels["query"], 0.01, 0.08) * (1 + 0.3 * noise(labels["query"], at))
    ),
    "edge_database_query_interval_seconds": 60.0,
    "edge_database_orders_open": lambda labels, at: float(
        round({"eu": 64, "us": 41, "asia": 17}[labels["region"]] * (1 + 0.2 * noise(labels["region"], at)))
    ),
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
        0.002 * (at - BEGUN) * (2 if labels["account"] == "main" else 1)
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
    "edge_exporter_absent_families": lambda labels, _: _ABSENT.get((labels["collector"], labels["cause"])),
    "edge_exporter_series": 1312.0,
    "edge_exporter_render_duration_seconds": lambda _, at: 0.0031 * (1 + 0.3 * noise("render", at)),
    "edge_exporter_ledger_set_aside_timestamp_seconds": 0.0,
    "process_cpu_seconds_total": lambda _, at: 0.021 * (at - BEGUN),
    "process_max_fds": 1024.0,
    "process_open_fds": lambda _, at: 41.0 + round(2 * noise("files", at)),
    "process_resident_memory_bytes": lambda _, at: 9.1e7 + 1.5e6 * noise("memory", at),
    "process_start_time_seconds": BEGIN.timestamp() + 26 * HOUR,
    "edge_exporter_loop_lag_seconds_sum": lambda _, at: 0.02 * (at - BEGUN),
    "edge_exporter_loop_lag_seconds_count": lambda _, at: 10 * (at - BEGUN),
    "scrape_duration_seconds": lambda _, at: 0.0042 * (1 + 0.3 * noise("scrape", at)),
    "scrape_samples_scraped": 1346.0,
    "edge_dns_day_start_timestamp_seconds": lambda _, at: _midnight(at),
    **{name.format(""): queries for name, queries in _DNS.items()},
    **{name.format("routed_"): _routed(queries) for name, queries in _DNS.items()},
    "edge_dns_window_record_queries": lambda labels, at: (
        (_DNS["edge_dns_window_{}queries"](labels, at) or 0.0) * RECORD_TYPES[labels["record_type"]]
    ),
    "edge_dns_record_scan_status": _if_scanned(lambda labels: float(labels["status"] == "completed")),
    "edge_dns_record_scan_found": lambda labels, at: float(_created(labels, at) is not None),
    "edge_dns_record_scan_created_timestamp_seconds": _created,
    "edge_dns_record_scan_completed_timestamp_seconds": _completed,
    "edge_dns_record_scan_records": _if_scanned(
        lambda labels: round(RECORDS[labels["record_type"]] * share(f"{labels['zone_id']} records", 0.5, 2))
    ),
    "edge_dns_record_scan_proxied_records": _if_scanned(lambda _: 9.0),
    "edge_dns_record_scan_info": _if_scanned(lambda _: 1.0),
    **{f"edge_script_monthly_{name}": _polled_script(of, month_begin) for name, of in _FIGURES.items()},
    **{f"edge_script_{name}_total": _polled_script(of, lambda _: BEGUN) for name, of in _FIGURES.items()},
    "edge_script_last_modified_timestamp_seconds": _modified,
    "edge_script_deleted": 0.0,
    "edge_script_monthly_budget_dollars": lambda labels, _: _BUDGET[labels["script_id"]],
    "edge_shield_rate_limit_window_breaches_overall": _breaches(lambda at: at - 28 * DAY),
    "edge_shield_rate_limit_window_breaches": _breaches(lambda at: at - 28 * DAY),
    "edge_shield_rate_limit_day_breaches": _breaches(lambda at: at - at % DAY),
    "edge_shield_rate_limit_breaches_total": _breaches(lambda _: BEGUN),
}


def value_of(family: str, labels: Labels, at: float) -> float | None:
    """Return the value of a series at a time; None if it has none."""
    # What is, is on, or is recorded as such.
    is_usual = family.endswith(("_info", "_up", "_enabled", "_present")) or family == "up" or ":" in family
    found = _SERIES.get(family, 1.0 if is_usual else None)
    return found(labels, at) if callable(found) else found


_PULL_ZONES = {zone: name for _, zone, name in SHIELDS}


def named(labels: dict[str, str], moment: datetime) -> dict[str, str]:
    """Return the labels of each thing, with a release of this morning."""
    own: dict[str, str] = {}
    if "pull_zone_id" in labels:
        zone = labels["shield_zone_id"]
        own = {"pull_zone": _PULL_ZONES[zone], "pull_zone_id": f"90{zone}"}
        own["plan"] = "enterprise" if zone == "4" else "business"
    if "default_hostname" in labels:
        script = labels["script"]
        own = {
            "default_hostname": f"{script}.example",
            "system_hostname": f"{script}.edge.example",
            "repository": f"acme/{script}",
            "release_id": "42" if script == "router" and moment.timestamp() > RELEASED else "41",
        }
    if "job_id" in labels:
        own = {"job_id": f"{int(spread(labels['zone_id']) * 2**32):08x}"}
    return {**labels, **own}
