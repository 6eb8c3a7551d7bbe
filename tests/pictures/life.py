"""Defines the value of every series of the pictures' platform at every time: a month of normal traffic."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from tests.dashboards.world import END, HISTORY, Labels
from tests.pictures.holdings import LIMITS, RECORD_TYPES, RECORDS, SCRIPTS, SHIELDS, ZONES
from tests.pictures.standing import HOUR, MOMENT, STANDING, TROUBLE, Labelled, share
from tests.pictures.traffic import DAY, Flow, month_begin, spread

RELEASED = (MOMENT - timedelta(hours=9)).timestamp()
BEGUN = HISTORY.timestamp()


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


_today = _queries(_midnight)
_window = _queries(lambda at: _midnight(at) - 30 * DAY)
_ever = _queries(lambda _: BEGUN)


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


def _this_month(of: Callable[[Labels, float, float], float]) -> Labelled:
    return lambda labels, at: of(labels, month_begin(at), at - at % 900)


def _since_begun(of: Callable[[Labels, float, float], float]) -> Labelled:
    return lambda labels, at: of(labels, BEGUN, at - at % 900)


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
    **STANDING,
    "edge_dns_day_queries": _today,
    "edge_dns_day_start_timestamp_seconds": lambda _, at: _midnight(at),
    "edge_dns_day_routed_queries": _routed(_today),
    "edge_dns_window_queries": _window,
    "edge_dns_window_routed_queries": _routed(_window),
    "edge_dns_window_record_queries": lambda labels, at: (
        (_window(labels, at) or 0.0) * RECORD_TYPES[labels["record_type"]]
    ),
    "edge_dns_queries_total": _ever,
    "edge_dns_routed_queries_total": _routed(_ever),
    "edge_dns_record_scan_status": _if_scanned(lambda labels: float(labels["status"] == "completed")),
    "edge_dns_record_scan_found": lambda labels, at: float(_created(labels, at) is not None),
    "edge_dns_record_scan_created_timestamp_seconds": _created,
    "edge_dns_record_scan_completed_timestamp_seconds": _completed,
    "edge_dns_record_scan_records": _if_scanned(
        lambda labels: round(RECORDS[labels["record_type"]] * share(f"{labels['zone_id']} records", 0.5, 2))
    ),
    "edge_dns_record_scan_proxied_records": _if_scanned(lambda _: 9.0),
    "edge_dns_record_scan_info": _if_scanned(lambda _: 1.0),
    **{f"edge_script_monthly_{name}": _this_month(of) for name, of in _FIGURES.items()},
    **{f"edge_script_{name}_total": _since_begun(of) for name, of in _FIGURES.items()},
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
    usual = (
        1.0 if family.endswith(("_info", "_up", "_enabled", "_present")) or family == "up" or ":" in family else None
    )
    found = _SERIES.get(family, usual)
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
