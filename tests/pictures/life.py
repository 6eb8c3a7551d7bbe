"""Defines the value of every series of the pictures' platform at every time: a month of normal traffic."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.dashboards.world import END, HISTORY, Labels
from tests.pictures.holdings import ENDPOINTS, LIMITS, POLLED, RECORD_TYPES, RECORDS, SCRIPTS, SHIELDS, ZONES
from tests.pictures.traffic import DAY, HOUR, flow, noise, share, spread, surge

MOMENT = END - timedelta(minutes=35)
TROUBLE = (MOMENT - timedelta(minutes=25)).timestamp()
BEGIN = END - timedelta(hours=50)
RELEASED = (MOMENT - timedelta(hours=9)).timestamp()
BEGUN = HISTORY.timestamp()
# The end of the world's time, and an attack on passwords last night.
LAST, ATTACK = END.timestamp(), TROUBLE - 9.5 * HOUR

Value = Callable[[Labels, float], float | None]
# What comes from one time to another.
Count = Callable[[Labels, float, float], float]


def _of(label: str, **values: float) -> Value:
    """Return the value of a label's text."""
    return lambda of, _: values.get(of[label])


def _rising(rate: float) -> Value:
    """Return a total that rises evenly."""
    return lambda _, at: rate * (at - BEGUN)


def _around(level: float, part: float, label: str = "", every: float = 1.0) -> Value:
    """Return a value that differs from its level by some part of it, in another way for each text of a label."""
    return lambda of, at: level * (1 + part * noise(of.get(label, str(level)), at - at % every))


_MEANS = {zone: mean for _, zone, _, mean in ZONES}
_SCRIPTS = {script: (mean, cpu, budget) for _, script, _, mean, cpu, budget in SCRIPTS}
_BREACHES = {limit: mean for _, _, limit, _, mean in LIMITS}
# The parts of breaches that rate limits log, challenge and block.
ACTIONS = {"logged": 0.5, "challenged": 0.2, "blocked": 0.3}
_BUDGETS = {"main": 1.0, "eu": 0.5}


def _queries(of: Labels, begin: float, end: float) -> float:
    zone = of["zone_id"]
    smart = share(f"smart {zone}", 0.1, 0.5)
    parts = {"smart": smart, "normal": 1 - smart, **RECORD_TYPES}
    return parts.get(of.get("routing", of.get("record_type", "")), 1.0) * flow(f"zone {zone}", _MEANS[zone], begin, end)


def _requests(of: Labels, begin: float, end: float) -> float:
    script = of["script_id"]
    return flow(f"script {script}", _SCRIPTS[script][0], begin, end)


def _cpu(of: Labels, begin: float, end: float) -> float:
    # The release made the router slower.
    slower = 0.6 * _requests(of, max(begin, RELEASED), end) if of["script_id"] == "7" and end > RELEASED else 0.0
    return (_requests(of, begin, end) + slower) * _SCRIPTS[of["script_id"]][1]


def _cost(of: Labels, begin: float, end: float) -> float:
    return 0.2e-6 * _requests(of, begin, end) + 2e-5 * _cpu(of, begin, end)


def _breaches(of: Labels, begin: float, end: float) -> float:
    mean = _BREACHES[of["rate_limit_id"]]
    attack = 6 * mean * surge(ATTACK, 2400, begin, end) if of["rate_limit"] == "login" else 0.0
    every = int(flow(f"limit {of['rate_limit_id']}", mean, begin, end) + attack)
    return float(int(ACTIONS.get(of.get("action", ""), 1) * every))


def _midnight(at: float) -> float:
    return at - at % DAY


def _month(at: float) -> float:
    return datetime.fromtimestamp(at, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()


def _begun(_: float) -> float:
    return BEGUN


def _counted(count: Count, collector: str, since: Callable[[float], float], *families: str) -> dict[str, Value]:
    """Return families of what a collector has counted since a time, at its last poll."""
    every = POLLED[collector][0]
    return dict.fromkeys(families, lambda of, at: count(of, since(at - at % every), at - at % every))


def _scanned(of: Labels, at: float) -> float | None:
    begin = LAST - share(f"scan {of['zone_id']}", 3, 60) * HOUR
    return None if of["zone_id"] == "204" else begin if at > begin else begin - 7 * DAY


def _if_scanned(value: Callable[[Labels], float]) -> Value:
    return lambda of, at: _scanned(of, at) and value(of)


def _released(of: Labels, at: float) -> float:
    is_new = of["script_id"] == "7" and at > RELEASED
    return RELEASED if is_new else LAST - share(f"modified {of['script_id']}", 3, 40) * DAY


def _calls(of: Labels, at: float) -> float:
    return ENDPOINTS[of["operation"]][0] * (at - BEGUN)


def _by_code(of: Labels, at: float) -> float | None:
    never_scanned = of["operation"].endswith("/scan") and of["account"] == "eu"
    part = {"200": 1.0, "404": 1 / 9 if never_scanned else 0.0}.get(of["code"])
    return _calls(of, at) * part if part else None


def _sensitive(of: Labels, _: float) -> float:
    return float(of["level"] == {"3": "high", "4": "medium", "5": "low"}[of["shield_zone_id"]])


def _number(of: Labels, _: float) -> float:
    """Return how many things something has, which differs from one to another."""
    return float(round(share(" ".join(of.values()), 2, 40)))


_DNS_WINDOW = tuple(f"edge_dns_window_{kind}queries" for kind in ("", "routed_", "record_"))
_BREACHES_WINDOW = tuple(f"edge_shield_rate_limit_window_breaches{kind}" for kind in ("", "_overall"))
_ABSENT = {("dns_record_scans", "never_scanned"): 6.0, ("dns_statistics", "no_value"): 2.0}
_SERIES: dict[str, float | Value] = {
    # Accounts and the exporter.
    "edge_api_budget_requests_per_second": _of("account", **_BUDGETS),
    "edge_api_capacity_requests_per_second": lambda of, _: {
        "requests_per_second": _BUDGETS[of["account"]],
        "max_in_flight": 64.0,
    }.get(of["limit"]),
    "edge_api_demand_requests_per_second": _of("account", main=0.33, eu=0.21),
    "edge_api_request_duration_seconds_bucket": lambda of, at: (
        _calls(of, at) / (1 + (ENDPOINTS[of["operation"]][1] / float(of["le"])) ** 3)
    ),
    "edge_api_request_duration_seconds_count": _calls,
    "edge_api_request_duration_seconds_sum": lambda of, at: _calls(of, at) * ENDPOINTS[of["operation"]][1],
    "edge_api_request_failures_total": 0.0,
    "edge_api_requests_total": _by_code,
    "edge_api_retries_total": 0.0,
    "edge_api_throttled_seconds_total": _rising(0.003),
    "edge_exporter_absent_families": lambda of, _: _ABSENT.get((of["collector"], of["cause"])),
    "edge_exporter_collector_duration_seconds": lambda of, at: _around(
        POLLED[of["collector"]][1], 0.2, "collector", 300
    )(of, at),
    "edge_exporter_collector_interval_seconds": lambda of, _: float(POLLED[of["collector"]][0]),
    "edge_exporter_config_last_reload_success_timestamp_seconds": BEGIN.timestamp() + 30 * HOUR,
    "edge_exporter_config_last_reload_successful": 1.0,
    "edge_exporter_ledger_set_aside_timestamp_seconds": 0.0,
    "edge_exporter_loop_lag_seconds_count": _rising(10),
    "edge_exporter_loop_lag_seconds_sum": _rising(0.02),
    "edge_exporter_render_duration_seconds": _around(0.0031, 0.3),
    "edge_exporter_script_budget_unmatched": 0.0,
    "edge_exporter_series": 1312.0,
    "edge_target_last_success_timestamp_seconds": lambda of, at: (
        at - (at + spread(of["target"]) * 900) % POLLED[of["collector"]][0]
    ),
    "process_cpu_seconds_total": _rising(0.021),
    "process_max_fds": 1024.0,
    "process_open_fds": lambda _, at: 41.0 + round(2 * noise("files", at)),
    "process_resident_memory_bytes": _around(9.1e7, 0.016),
    "process_start_time_seconds": BEGIN.timestamp() + 26 * HOUR,
    "scrape_duration_seconds": _around(0.0042, 0.3),
    "scrape_samples_scraped": 1346.0,
    # Zones.
    **_counted(_queries, "dns_statistics", _midnight, "edge_dns_day_queries", "edge_dns_day_routed_queries"),
    **_counted(_queries, "dns_statistics", lambda at: _midnight(at) - 30 * DAY, *_DNS_WINDOW),
    **_counted(_queries, "dns_statistics", _begun, "edge_dns_queries_total", "edge_dns_routed_queries_total"),
    "edge_dns_day_start_timestamp_seconds": lambda _, at: _midnight(at - at % POLLED["dns_statistics"][0]),
    "edge_dns_record_scan_completed_timestamp_seconds": lambda of, at: (
        (begin := _scanned(of, at)) and begin + share(f"took {of['zone_id']} {begin}", 25, 260)
    ),
    "edge_dns_record_scan_created_timestamp_seconds": _scanned,
    "edge_dns_record_scan_found": lambda of, at: float(_scanned(of, at) is not None),
    "edge_dns_record_scan_info": _if_scanned(lambda _: 1.0),
    "edge_dns_record_scan_proxied_records": _if_scanned(lambda _: 9.0),
    "edge_dns_record_scan_records": _if_scanned(
        lambda of: round(RECORDS[of["record_type"]] * share(f"{of['zone_id']} records", 0.5, 2))
    ),
    "edge_dns_record_scan_status": _if_scanned(lambda of: float(of["status"] == "completed")),
    # Scripts.
    **{
        family: value
        for name, count in (("cost_dollars", _cost), ("requests", _requests), ("cpu_seconds", _cpu))
        for since, template in ((_month, "edge_script_monthly_{}"), (_begun, "edge_script_{}_total"))
        for family, value in _counted(count, "scripts", since, template.format(name)).items()
    },
    "edge_script_deleted": 0.0,
    "edge_script_last_modified_timestamp_seconds": _released,
    "edge_script_monthly_budget_dollars": lambda of, _: _SCRIPTS[of["script_id"]][2],
    # Shield zones.
    **_counted(_breaches, "shield_rate_limits", lambda at: at - 28 * DAY, *_BREACHES_WINDOW),
    **_counted(_breaches, "shield_rate_limits", _midnight, "edge_shield_rate_limit_day_breaches"),
    **_counted(_breaches, "shield_rate_limits", _begun, "edge_shield_rate_limit_breaches_total"),
    "edge_shield_access_list_last_modified_timestamp_seconds": lambda of, _: (
        LAST - share(of["access_list"], 2, 30) * DAY
    ),
    "edge_shield_api_guardian_limit": _of(
        "limit", endpoints=250.0, fields_per_type=100.0, nesting_depth=8.0, schema_nodes=4000.0, regex_length=256.0
    ),
    "edge_shield_api_guardian_updated_timestamp_seconds": LAST - 4 * DAY,
    "edge_shield_bot_detection_complex_fingerprint_enabled": _of("shield_zone_id", **{"3": 1.0, "4": 1.0, "5": 0.0}),
    "edge_shield_bot_detection_sensitivity": _sensitive,
    "edge_shield_zone_ddos_sensitivity": _sensitive,
    "edge_shield_zone_execution_mode": lambda of, _: float(
        of["mode"] == ("log" if of["shield_zone_id"] == "5" and of["engine"] == "waf" else "block")
    ),
    "edge_shield_zone_feature_enabled": lambda of, _: float(spread(of["feature"] + of["shield_zone_id"]) > 0.45),
    "edge_shield_zone_learning_mode": _of("shield_zone_id", **{"3": 0.0, "4": 0.0, "5": 1.0}),
    "edge_shield_zone_learning_mode_until_timestamp_seconds": _of("shield_zone_id", **{"5": LAST + 1.6 * DAY}),
    "edge_shield_zone_rules_limit": _of("rule_kind", rate_limit=5.0, custom_waf=10.0),
    "edge_shield_zones": _of("account", main=1.0, eu=2.0),
    # Databases.
    "edge_database_orders_open": lambda of, at: float(
        round({"eu": 64, "us": 41, "asia": 17}[of["region"]] * (1 + 0.2 * noise(of["region"], at)))
    ),
    "edge_database_query_duration_seconds": _around(0.04, 0.3, "query"),
    "edge_database_query_interval_seconds": 60.0,
    **dict.fromkeys(
        (
            *("edge_shield_api_guardian_endpoints", "edge_shield_api_guardian_endpoint_checks"),
            *("edge_shield_zone_waf_rules", "edge_shield_waf_custom_rule_conditions", "edge_shield_waf_plan_rules"),
            *("edge_shield_access_list_entries", "edge_container_image_tags", "edge_search_results", "edge_resources"),
            *("edge_database_query_rows", "edge_script_variables", "edge_script_linked_pull_zones"),
        ),
        _number,
    ),
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
        plan = "enterprise" if zone == "4" else "business"
        own = {"pull_zone": _PULL_ZONES[zone], "pull_zone_id": f"90{zone}", "plan": plan}
    if "default_hostname" in labels:
        script, is_new = labels["script"], labels["script"] == "router" and moment.timestamp() > RELEASED
        hosts = {"default_hostname": f"{script}.example", "system_hostname": f"{script}.edge.example"}
        own = {**hosts, "repository": f"acme/{script}", "release_id": "42" if is_new else "41"}
    if "job_id" in labels:
        own = {"job_id": f"{int(spread(labels['zone_id']) * 2**32):08x}"}
    return {**labels, **own}
