"""A small platform's month as samples, with traffic by the hour of the day.

Several exporters may serve all of it, as they do while shards change hands: a value that all serve is counted once.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dashboards.generator.queries.subject import PARTS
from exporter.collectors.catalogue import CATALOGUE
from tests.dashboards.families import HEALTH, OTHERS, platform_families

Labels = Mapping[str, str]
# The value of a series at a time in seconds; None if it has none.
Value = Callable[[str, Labels, float], float | None]

# Noon of the fifteenth of a month of 28 days: 14.5 days into it.
END = datetime(2026, 2, 15, 12, tzinfo=UTC)
TROUBLE = END - timedelta(minutes=25)
HISTORY = END - timedelta(days=32)
HOUR, DAY = 3600.0, 86_400.0

# What each thing does a second on average, by its id: queries, breaches, requests, and dollars of a script.
MEAN = {"101": 10.0, "102": 20.0, "201": 30.0, "55": 0.05, "56": 0.02, "7": 50.0, "8": 30.0}
COST = {"7": 2 / DAY, "8": 1 / DAY}
SHARES = {"A": 0.7, "AAAA": 0.3, "normal": 0.7, "smart": 0.3, "logged": 0.5, "challenged": 0.2, "blocked": 0.3}

NO_ALERT: Labels = dict.fromkeys(
    ("alertname", "severity", "area", "account", *(label for part in PARTS for label in part.labels)), ""
)
_MAIN, _EU = {"account": "main"}, {"account": "eu"}
_SHIELDS = ({**_MAIN, "shield_zone_id": "3"}, {**_EU, "shield_zone_id": "4"})
# A family belongs to the first kind of things whose labels it has.
THINGS: tuple[tuple[Labels, ...], ...] = (
    (
        {**_MAIN, "zone_id": "101", "domain": "shop.example"},
        {**_MAIN, "zone_id": "102", "domain": "api.example"},
        {**_EU, "zone_id": "201", "domain": "shop-eu.example"},
    ),
    ({**_MAIN, "script_id": "7", "script": "router"}, {**_EU, "script_id": "8", "script": "cart"}),
    (
        {**_SHIELDS[0], "rate_limit_id": "55", "rate_limit": "login"},
        {**_SHIELDS[1], "rate_limit_id": "56", "rate_limit": "api"},
    ),
    ({**_SHIELDS[0], "access_list_id": "11", "access_list": "office"},),
    ({**_SHIELDS[0], "rule_id": "21", "rule": "no-bots"},),
    ({**_SHIELDS[0], "pull_zone": "shop"}, {**_SHIELDS[1], "pull_zone": "shop-eu"}),
    _SHIELDS,
    ({**_MAIN, "registry_id": "dockerhub", "image_namespace": "library", "image": "nginx"},),
    ({**_MAIN, "query": "prod"},),
    (
        {**_MAIN, "collector": "dns_statistics", "target": "dns_zone/101", "name": "shop.example"},
        {**_EU, "collector": "dns_statistics", "target": "dns_zone/201", "name": "shop-eu.example"},
        {**_EU, "collector": "shield_rate_limits", "target": "rate_limit/56", "name": "api"},
        {**_EU, "collector": "shield_zones", "target": "account/eu", "name": "eu"},
        {"account": "", "collector": "database", "target": "database/orders", "name": "orders"},
        {"account": "", "collector": "database_queries", "target": "query/orders/carts_stale", "name": "carts_stale"},
    ),
    ({"database": "orders", "query": "orders_open"},),
    ({"database": "orders"},),
    (_MAIN, _EU),
    ({},),
)
INTERVALS = {collector.name: collector.interval for collector in CATALOGUE}
# The first value of an enum is the calm one; a label that is not here has its own name as its value.
VALUES: Mapping[str, tuple[str, ...]] = {
    "alertstate": ("firing",),
    "action": ("logged", "challenged", "blocked"),
    "check": ("request_schema", "authorization"),
    "code": ("200", "404"),
    "collector": tuple(INTERVALS),
    "enabled": ("true", "false"),
    "operation": ("GET /dnszone/{id}/statistics", "GET /search"),
    "engine": ("waf", "ddos"),
    "feature": ("realtime_threat_intelligence", "whitelabel_response_pages"),
    "level": ("medium", "off"),
    # Limits of an API guardian.
    "limit": ("endpoints", "fields_per_type", "nesting_depth", "schema_nodes", "regex_length"),
    "mode": ("block", "log"),
    "protection": ("waf", "blocking"),
    "reason": ("unauthorized",),
    "record_type": ("A", "AAAA"),
    "required": ("true", "false"),
    "resource_type": ("dns", "script"),
    "routing": ("normal", "smart"),
    "rule_kind": ("rate_limit", "custom_waf"),
    "shard": ("0",),
    "shards": ("2",),
    "signal": ("ip_address", "browser_fingerprint"),
    "state": ("custom", "disabled", "log_only", "up", "failing", "pending"),
    "status": ("completed", "pending", "in_progress", "failed", "unknown"),
    "tag": ("stable", "latest"),
}
ONE_HOT = {
    "edge_dns_record_scan_status": "status",
    "edge_shield_bot_detection_sensitivity": "level",
    "edge_shield_zone_ddos_sensitivity": "level",
    "edge_shield_zone_execution_mode": "mode",
}
BUCKETS = {"0.1": 0.4, "1": 0.95, "+Inf": 1.0}
# Counters of problems are 0 while all is well.
QUIET_COUNTERS = {
    *("edge_api_request_failures_total", "edge_api_retries_total", "edge_api_unexpected_values_total"),
    *("edge_exporter_collector_missed_runs_total", "edge_exporter_ledger_corrections_total"),
    "edge_exporter_task_failures_total",
}
# Families that are compared with their past.
DAILY = {
    *("edge_dns_day_queries", "edge_dns_day_start_timestamp_seconds", "edge_dns_window_queries"),
    *("edge_dns_queries_total", "edge_dns_routed_queries_total", "edge_script_monthly_cost_dollars"),
    *("edge_target_up", "zone:edge_dns_queries:rate1h", "account:edge_dns_queries:rate1h"),
}
_SET: Mapping[str, float | Callable[[Labels, float], float | None] | None] = {
    "account:edge_dns_queries:rate1h": 60.0,
    "edge_api_budget_requests_per_second": 4.0,
    "edge_api_request_duration_seconds_bucket": lambda of, at: BUCKETS[of["le"]] * (at - HISTORY.timestamp()) / 60,
    "edge_api_request_duration_seconds_sum": lambda _, at: (at - HISTORY.timestamp()) / 300,
    "edge_dns_day_start_timestamp_seconds": lambda _, at: _midnight(_polled(at)),
    "edge_dns_record_scan_created_timestamp_seconds": lambda _, at: _midnight(at) - 600,
    "edge_dns_statistics_changed_timestamp_seconds": lambda _, at: _polled(at),
    "edge_exporter_clock_offset_seconds": -0.4,
    "edge_exporter_absent_families": lambda of, _: 6.0 if of["collector"] == "dns_record_scans" else None,
    "edge_exporter_collector_interval_seconds": lambda of, _: INTERVALS[of["collector"]],
    "edge_exporter_failing_targets": 0.0,
    "edge_exporter_ledger_set_aside_timestamp_seconds": 0.0,
    "edge_exporter_script_budget_unmatched": 0.0,
    "edge_exporter_series_dropped": 0.0,
    "edge_script_deleted": 0.0,
    "edge_script_monthly_budget_dollars": 40.0,
    "edge_shield_api_guardian_limit": 4.0,
    "edge_shield_zone_learning_mode": lambda of, _: float(of["shield_zone_id"] == "4"),
    "edge_shield_zone_learning_mode_until_timestamp_seconds": lambda _, at: at + DAY,
    "edge_target_last_success_timestamp_seconds": lambda _, at: at - 60,
    "edge_target_removed_timestamp_seconds": None,
    "edge_targets": lambda of, _: float(of["state"] == "up"),
    "edge_window_mismatched_targets": 0.0,
    "process_max_fds": 1024.0,
}


def flow(begin: float, end: float) -> float:
    """Return the traffic between two times, with a mean of 1 a second: 0.5 at midnight, and 1.5 at noon."""
    turn = 2 * math.pi / DAY
    return end - begin - (math.sin(end * turn) - math.sin(begin * turn)) / 2 / turn


def _midnight(at: float) -> float:
    return at - at % DAY


def _polled(at: float) -> float:
    # Statistics are as old as the last poll, so just after midnight they are those of the old day.
    return at - 120 - (at - 120) % 300


def calm(family: str, labels: Labels, at: float) -> float | None:
    """Return the value of a series while nothing is wrong; None if it has none."""
    if family in _SET:
        value = _SET[family]
        return value(labels, at) if callable(value) else value
    if hot := ONE_HOT.get(family):
        return float(labels[hot] == VALUES[hot][0])
    if family in QUIET_COUNTERS:
        return 0.0
    thing = next((labels[name] for name in ("zone_id", "script_id", "rate_limit_id") if name in labels), "")
    if thing and any(word in family for word in ("queries", "breaches", "requests", "cpu_", "cost_")):
        return _counted(family, thing, labels, at)
    if family.endswith(("_total", "_sum", "_count")):
        return (at - HISTORY.timestamp()) / 60
    return _midnight(at) if family.endswith("_timestamp_seconds") else 1.0


def _counted(family: str, thing: str, labels: Labels, at: float) -> float:
    a_second = MEAN[thing] * math.prod(SHARES.get(text, 1.0) for text in labels.values())
    if "cost_" in family:
        a_second = COST[thing]
    if "cpu_" in family:
        a_second /= 200
    if ":" in family:
        span = {"rate15m": HOUR / 4, "rate1h": HOUR, "rate2h": 2 * HOUR}[family.rpartition(":")[2]]
        return a_second * flow(at - span, at) / span
    until, today = _polled(at), _midnight(_polled(at))
    if "_day_" in family:
        since = today
    elif "_monthly_" in family:
        since = datetime.fromtimestamp(at, UTC).replace(day=1, hour=0, minute=0, second=0).timestamp()
        until = at
    elif "_window_" in family:
        since = until - 28 * DAY if "breaches" in family else today - 30 * DAY
    else:
        since, until = HISTORY.timestamp(), at
    return a_second * flow(since, until)


@dataclass(frozen=True, slots=True)
class Scene:
    """The served series, and their time ranges.

    Attributes:
        value: returns a series' value at a moment, if it has one.
        alerts: the labels of all alerts that may fire.
        instances: the exporters, each of which serves all of it.
        begin: the time from which every family has samples, each minute.
        history: the time from which families that are compared with their past have samples, every five minutes.
    """

    value: Value
    alerts: tuple[Labels, ...]
    instances: tuple[str, ...]
    begin: datetime
    history: datetime = HISTORY


def series_of(labels: frozenset[str], scene: Scene) -> Iterator[dict[str, str]]:
    """Return all label sets of a family: those of the things with the most of its labels, with every other value."""
    for thing in next(things for things in (scene.alerts, *THINGS) if set(things[0]) <= labels):
        more = sorted(labels - thing.keys())
        for values in itertools.product(*(VALUES.get(name, (name,)) for name in more)):
            yield {**thing, **dict(zip(more, values, strict=True))}


def families() -> Iterator[tuple[str, frozenset[str]]]:
    """Return every name that a query may select, with its labels."""
    for name, known in {**platform_families(), **HEALTH, **OTHERS}.items():
        if known.histogram:
            yield f"{name}_sum", known.labels
            yield f"{name}_count", known.labels
        else:
            yield name, known.labels
    yield "edge_database_orders_open", frozenset({"database", "region"})


def openmetrics(scene: Scene) -> Iterator[str]:
    """Yield the lines of the month for `promtool tsdb create-blocks-from openmetrics`."""
    lately = list(spaced(scene.begin, END, timedelta(minutes=1)))
    for name, labels in families():
        moments = list(spaced(scene.history, scene.begin, timedelta(minutes=5))) if name in DAILY else []
        for series in series_of(labels, scene):
            yield from lines(name, series, moments + lately, scene)
    known = HEALTH["edge_api_request_duration_seconds"]
    for series in series_of(known.labels, scene):
        for bucket in BUCKETS:
            yield from lines("edge_api_request_duration_seconds_bucket", {**series, "le": bucket}, lately, scene)
    yield "# EOF\n"


def spaced(begin: datetime, end: datetime, step: timedelta) -> Iterator[datetime]:
    """Return the times from one to another."""
    while begin < end:
        yield begin
        begin += step
    if step == timedelta(minutes=1):
        yield end


def lines(name: str, series: dict[str, str], moments: list[datetime], scene: Scene) -> Iterator[str]:
    """Yield a series for each instance; series that rules record have none.

    With the trouble a script has a new release, and an access list other content.
    """
    recorded = name.startswith("ALERTS") or ":" in name
    for number, instance in enumerate(scene.instances[:1] if recorded else scene.instances):
        shard = {"shard": str(number)} if "shard" in series and not recorded else {}
        own = {"job": "edge", **({} if recorded else {"instance": instance, "pod": instance[:10]})}
        new = {label: "2" for label in ("release_id", "checksum") if label in series}
        before, after = (
            ",".join(f'{key}="{value}"' for key, value in {**own, **labels, **shard}.items() if value)
            for labels in (series, series | new)
        )
        for moment in moments:
            value = scene.value(name, series, moment.timestamp())
            if value is not None:
                text = after if moment > TROUBLE else before
                yield f"{name}{{{text}}} {value!r} {moment.timestamp():.0f}\n"
