"""Defines the value of every series of the pictures' platform at every time: a month of normal traffic."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.dashboards.families import platform_families
from tests.dashboards.world import END, HISTORY, ONE_HOT, Labels
from tests.pictures.holdings import INTERVALS, LABELS, LIMITS, RECORD_TYPES, SCRIPTS, SHIELDS, ZONES
from tests.pictures.traffic import DAY, HOUR, flow, share

MOMENT = END - timedelta(minutes=35)
TROUBLE = (MOMENT - timedelta(minutes=25)).timestamp()
BEGIN = END - timedelta(hours=50)
RELEASED = (MOMENT - timedelta(hours=9)).timestamp()
BEGUN = HISTORY.timestamp()
NEVER_SCANNED = "104"

Value = Callable[[Labels, float], float | None]
# What comes from one time to another.
Count = Callable[[Labels, float, float], float]

_MEANS = {zone: mean for _, zone, _, mean in ZONES}
_MEANS |= {script: mean for _, script, _, mean, _, _ in SCRIPTS}
_MEANS |= {limit: mean for _, _, limit, _, mean in LIMITS}
_PARTS = {"smart": 0.3, "normal": 0.7, "logged": 0.5, "challenged": 0.2, "blocked": 0.3, **RECORD_TYPES}
_CPU = {script: cpu for _, script, _, _, cpu, _ in SCRIPTS}
_BUDGETS = {script: budget for _, script, _, _, _, budget in SCRIPTS}
_PLATFORM = platform_families()


def _traffic(of: Labels, begin: float, end: float) -> float:
    """Return the queries of a zone, the requests of a script or the breaches of a rate limit."""
    thing = next(of[label] for label in ("zone_id", "script_id", "rate_limit_id") if label in of)
    part = math.prod(_PARTS.get(text, 1.0) for text in of.values())
    return float(round(part * _MEANS[thing] * flow(thing, begin, end)))


def _cpu(of: Labels, begin: float, end: float) -> float:
    return _traffic(of, begin, end) * _CPU[of["script_id"]]


def _cost(of: Labels, begin: float, end: float) -> float:
    return 0.2e-6 * _traffic(of, begin, end) + 2e-5 * _cpu(of, begin, end)


def _midnight(at: float) -> float:
    return at - at % DAY


def _month(at: float) -> float:
    return datetime.fromtimestamp(at, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()


# By a part of a family's name: what it counts, and since when.
_COUNTED: dict[str, Count] = {
    **dict.fromkeys(("queries", "breaches", "requests"), _traffic),
    "cpu_seconds": _cpu,
    "cost_dollars": _cost,
}
_SINCE: dict[str, Callable[[float], float]] = {
    "_day_": _midnight,
    "_window_breaches": lambda at: at - 28 * DAY,
    "_window_": lambda at: _midnight(at) - 30 * DAY,
    "_monthly_": _month,
    "_total": lambda _: BEGUN,
}


def _about(level: float) -> Callable[[Labels, float], float]:
    """Return a value from about a level to twice as much, which differs from one thing to another."""

    def value(of: Labels, at: float) -> float:
        thing = " ".join(of.values())
        return level * share(thing, 1, 2) * (0.7 + 0.3 * flow(thing, at - 60, at) / 60)

    return value


def _calls(of: Labels, at: float) -> float:
    return share(of["account"] + of["operation"], 0.005, 0.07) * (at - BEGUN)


def _call_duration(of: Labels) -> float:
    """Return how long the middle call takes."""
    return share(of["account"] + of["operation"], 0.08, 0.3)


def _days_ago(of: Labels, _: float) -> float:
    return END.timestamp() - share(" ".join(of.values()), 3, 40) * DAY


_SERIES: dict[str, float | Value] = {
    # Accounts and the exporter.
    "edge_api_budget_requests_per_second": 1.0,
    "edge_api_capacity_requests_per_second": lambda of, _: {"requests_per_second": 1.0, "max_in_flight": 64.0}.get(
        of["limit"]
    ),
    "edge_api_demand_requests_per_second": lambda of, _: share(of["account"], 0.3, 0.5),
    "edge_api_request_duration_seconds_bucket": lambda of, at: (
        _calls(of, at) / (1 + (_call_duration(of) / float(of["le"])) ** 3)
    ),
    "edge_api_request_duration_seconds_count": _calls,
    "edge_api_request_duration_seconds_sum": lambda of, at: _calls(of, at) * _call_duration(of),
    "edge_api_request_failures_total": 0.0,
    "edge_api_requests_total": _calls,
    "edge_api_retries_total": 0.0,
    "edge_api_throttled_seconds_total": lambda _, at: 0.003 * (at - BEGUN),
    "edge_exporter_absent_families": lambda of, _: 6.0 if of["collector"] == "dns_record_scans" else None,
    "edge_exporter_collector_duration_seconds": _about(0.3),
    "edge_exporter_collector_interval_seconds": lambda of, _: INTERVALS[of["collector"]],
    "edge_exporter_config_last_reload_success_timestamp_seconds": BEGIN.timestamp() + 30 * HOUR,
    "edge_exporter_config_last_reload_successful": 1.0,
    "edge_exporter_clock_offset_seconds": -0.4,
    "edge_exporter_task_failures_total": 0.0,
    "edge_window_mismatched_targets": 0.0,
    "edge_exporter_ledger_set_aside_timestamp_seconds": 0.0,
    "edge_exporter_loop_lag_seconds_count": lambda _, at: 10 * (at - BEGUN),
    "edge_exporter_loop_lag_seconds_sum": lambda _, at: 0.02 * (at - BEGUN),
    "edge_exporter_render_duration_seconds": _about(0.003),
    "edge_exporter_script_budget_unmatched": 0.0,
    "edge_exporter_series": 1312.0,
    "edge_target_removed_timestamp_seconds": lambda _of, _at: None,
    "edge_targets": 0.0,
    "edge_target_last_success_timestamp_seconds": lambda of, at: (
        at - (at + share(of["target"], 0, 900)) % INTERVALS[of["collector"]]
    ),
    "process_cpu_seconds_total": lambda _, at: 0.021 * (at - BEGUN),
    "process_max_fds": 1024.0,
    "process_open_fds": _about(41),
    "process_resident_memory_bytes": _about(9e7),
    "process_start_time_seconds": BEGIN.timestamp() + 26 * HOUR,
    "scrape_duration_seconds": _about(0.004),
    "account:edge_dns_queries:rate1h": 50.0,
    "zone:edge_dns_queries:rate1h": lambda of, at: _traffic(of, at - HOUR, at) / HOUR,
    "script:edge_script_requests:rate2h": lambda of, at: _traffic(of, at - 2 * HOUR, at) / (2 * HOUR),
    "rate_limit_action:edge_shield_rate_limit_breaches:rate15m": lambda of, at: _traffic(of, at - 900, at) / 900,
    # Zones.
    "edge_dns_day_start_timestamp_seconds": lambda _, at: _midnight(at),
    "edge_dns_statistics_changed_timestamp_seconds": lambda of, at: at - (at + share(of["zone_id"], 0, 300)) % 300,
    "edge_dns_record_scan_completed_timestamp_seconds": lambda of, at: (
        _days_ago(of, at) + share(of["zone_id"], 25, 260)
    ),
    # Scripts.
    "edge_script_deleted": 0.0,
    "edge_script_last_modified_timestamp_seconds": lambda of, at: (
        RELEASED if of["script"] == "router" and at > RELEASED else _days_ago(of, at)
    ),
    "edge_script_monthly_budget_dollars": lambda of, _: _BUDGETS[of["script_id"]],
    # Shield zones.
    "edge_shield_api_guardian_endpoints": 60.0,
    "edge_shield_api_guardian_limit": 250.0,
    "edge_shield_zone_learning_mode": lambda of, _: float(of["shield_zone_id"] == "5"),
    "edge_shield_zone_learning_mode_until_timestamp_seconds": END.timestamp() + 1.6 * DAY,
    "edge_shield_zone_rules_limit": 50.0,
    "edge_shield_zones": lambda of, _: float(sum(account == of["account"] for account, _, _ in SHIELDS)),
    # Databases.
    "edge_database_orders_open": lambda of, at: float(round(_about(41)(of, at))),
    "edge_database_query_duration_seconds": _about(0.04),
    "edge_database_query_interval_seconds": 60.0,
}


def value_of(family: str, labels: Labels, at: float) -> float | None:
    """Return the value of a series at a time; None if it has none."""
    if family.startswith("edge_dns_record_scan_") and labels["zone_id"] == NEVER_SCANNED:
        return 0.0 if family.endswith("_found") else None
    if family in _SERIES:
        value = _SERIES[family]
        return value(labels, at) if callable(value) else value
    if count := next((count for part, count in _COUNTED.items() if part in family), None):
        since = next(since for part, since in _SINCE.items() if part in family)
        return count(labels, since(at), at)
    return _by_name(family, labels, at)


def _by_name(family: str, labels: Labels, at: float) -> float | None:
    """Return what the name of a family says: what is there, is on, or happened; or how many things something has."""
    if family in ONE_HOT:
        return float(labels[ONE_HOT[family]] == LABELS[ONE_HOT[family]][0])
    if family.endswith(("_info", "_up", "_enabled", "_present", "_found")) or family == "up" or ":" in family:
        return 1.0
    if family.endswith("_timestamp_seconds"):
        return _days_ago(labels, at)
    return float(round(share(" ".join((family, *labels.values())), 2, 40))) if family in _PLATFORM else None


def named(labels: dict[str, str], moment: datetime) -> dict[str, str]:
    """Return the labels of each thing, with a release of this morning."""
    is_new = labels.get("script") == "router" and "release_id" in labels and moment.timestamp() > RELEASED
    return {**labels, "release_id": "42"} if is_new else labels
