"""A small platform's month as samples: healthy for long, then with every kind of trouble at once.

Two exporters serve all of it, as they do while shards change hands: a value that both serve must be counted once.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dashboards.generator.queries.subject import PARTS
from tests.dashboards.families import HEALTH, OTHERS, platform_families

Labels = Mapping[str, str]

# Noon of the fifteenth of a month of 28 days: 14.5 days into it.
END = datetime(2026, 2, 15, 12, tzinfo=UTC)
HEALTHY_UNTIL = END - timedelta(minutes=50)
BEGIN = END - timedelta(hours=5)
HISTORY = END - timedelta(days=32)
INSTANCES = ("exporter-0:9877", "exporter-1:9877")

# Queries a second of each zone.
ZONES = (
    ({"account": "main", "zone_id": "101", "domain": "a.example"}, 1.0),
    ({"account": "main", "zone_id": "102", "domain": "b.example"}, 2.0),
    ({"account": "eu", "zone_id": "201", "domain": "c.example"}, 3.0),
)
RATE = {labels["zone_id"]: rate for labels, rate in ZONES}
COST = {"7": 29.0, "8": 14.5}

_ALERT: Labels = dict.fromkeys(
    ("alertname", "severity", "area", "account", *(label for part in PARTS for label in part.labels)), ""
)
_SCAN_FAILED = {"alertname": "EdgeDnsScanFailed", "severity": "critical", "area": "dns", "zone_id": "101"}


def alert(**labels: str) -> Labels:
    """Return the labels of an alert; missing ones are empty."""
    return {**_ALERT, **labels}


THINGS: tuple[tuple[Labels, ...], ...] = (
    (alert(**_SCAN_FAILED, account="main", domain="a.example"),),
    tuple(labels for labels, _ in ZONES),
    (
        {"account": "main", "script_id": "7", "script": "router"},
        {"account": "eu", "script_id": "8", "script": "cart"},
    ),
    (
        {"account": "main", "shield_zone_id": "3", "rate_limit_id": "55", "rate_limit": "login"},
        {"account": "eu", "shield_zone_id": "4", "rate_limit_id": "56", "rate_limit": "search"},
    ),
    ({"account": "main", "shield_zone_id": "3", "access_list_id": "11", "access_list": "office"},),
    ({"account": "main", "shield_zone_id": "3", "rule_id": "21", "rule": "no-bots"},),
    ({"account": "main", "shield_zone_id": "3"}, {"account": "eu", "shield_zone_id": "4"}),
    ({"account": "main", "registry_id": "dockerhub", "image_namespace": "library", "image": "nginx"},),
    ({"account": "main", "query": "prod"},),
    (
        {"account": "main", "collector": "dns_statistics", "target": "dns_zone/101", "name": "a.example"},
        {"account": "eu", "collector": "dns_statistics", "target": "dns_zone/201", "name": "c.example"},
        {"account": "", "collector": "database", "target": "database/orders", "name": "orders"},
    ),
    ({"database": "orders", "query": "orders_open"},),
    ({"database": "orders"},),
    ({"account": "main"}, {"account": "eu"}),
    ({},),
)
# A healthy thing has the first value of an enum; a label that is not here has its own name as its value.
VALUES: Mapping[str, tuple[str, ...]] = {
    "alertstate": ("firing", "pending"),
    "action": ("logged", "challenged", "blocked"),
    "check": ("request_schema", "authorization"),
    "code": ("200", "404"),
    "collector": ("dns_statistics", "database"),
    "enabled": ("true", "false"),
    "operation": ("GET /dnszone/{id}/statistics", "GET /search"),
    "engine": ("waf", "ddos"),
    "feature": ("realtime_threat_intelligence", "whitelabel_response_pages"),
    "level": ("medium", "off"),
    # Limits of an API guardian, and of an account's budget.
    "limit": (
        *("endpoints", "fields_per_type", "nesting_depth", "schema_nodes", "regex_length"),
        *("requests_per_second", "max_in_flight"),
    ),
    "mode": ("block", "log"),
    "protection": ("waf", "blocking"),
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
}
ONE_HOT = {
    "edge_dns_record_scan_status": "status",
    "edge_shield_bot_detection_sensitivity": "level",
    "edge_shield_zone_ddos_sensitivity": "level",
    "edge_shield_zone_execution_mode": "mode",
}
BUCKETS = ("0.1", "1", "+Inf")
# Counters of problems begin at 0 with the process.
COUNTED_TROUBLES = {
    *("edge_api_request_failures_total", "edge_api_retries_total"),
    *("edge_exporter_collector_missed_runs_total", "edge_exporter_ledger_corrections_total"),
    "edge_exporter_task_failures_total",
}
# Counters that begin with their first event do not exist while all is well.
TROUBLES = {
    *("ALERTS", "ALERTS_FOR_STATE", "edge_api_unexpected_values_total"),
    *("edge_exporter_series_dropped", "edge_exporter_failing_targets"),
}
# Families that are compared with their past.
DAILY = {
    *("edge_dns_day_queries", "edge_dns_day_start_timestamp_seconds", "edge_dns_window_queries"),
    *("edge_dns_queries_total", "edge_dns_routed_queries_total", "edge_script_monthly_cost_dollars"),
    *("edge_target_up", "zone:edge_dns_queries:rate1h", "account:edge_dns_queries:rate1h"),
}


def sample(family: str, labels: Labels, moment: datetime) -> float | None:
    """Return the value of a series at a time; None if it has none."""
    trouble = moment > HEALTHY_UNTIL
    at = moment.timestamp()
    running = (moment - HISTORY).total_seconds()
    # Statistics are as old as the last poll, so just after midnight they are those of the old day.
    polled = at - 120 - (at - 120) % 300
    midnight = polled - polled % 86400
    appears = family == "edge_target_up" and labels["target"] == "dns_zone/201"
    if (family in TROUBLES and not trouble) or (appears and moment < BEGIN):
        return None
    if family in COUNTED_TROUBLES:
        return max(0.0, at - HEALTHY_UNTIL.timestamp()) / 60
    if hot := ONE_HOT.get(family):
        failed = hot == "status" and trouble and labels["zone_id"] == "101"
        return float(labels[hot] == ("failed" if failed else VALUES[hot][0]))
    rate, restarted = RATE.get(labels.get("zone_id", ""), 0.0), END - timedelta(minutes=20) if trouble else BEGIN
    special = {
        "edge_dns_day_queries": rate * (polled - midnight),
        "edge_dns_day_start_timestamp_seconds": midnight,
        "edge_dns_window_queries": rate * (30 * 86400 + polled - midnight),
        "edge_dns_queries_total": rate * running,
        "edge_dns_routed_queries_total": rate * running / 2,
        "zone:edge_dns_queries:rate1h": rate,
        "edge_dns_record_scan_found": float(not (trouble and labels.get("zone_id") == "201")),
        "edge_dns_record_scan_created_timestamp_seconds": midnight - 600,
        "edge_script_monthly_cost_dollars": COST.get(labels.get("script_id", ""), 0.0),
        "edge_script_monthly_requests": 1e6,
        "edge_script_monthly_budget_dollars": 40.0,
        "edge_shield_zone_learning_mode": float(trouble or labels.get("shield_zone_id") == "4"),
        "edge_shield_zone_learning_mode_until_timestamp_seconds": at + 86400,
        # As many in 15 minutes as in its counters.
        "edge_shield_rate_limit_window_breaches_overall": 28 * 96 * 45.0,
        "edge_target_up": float(not (trouble and labels.get("target") == "dns_zone/101")),
        "edge_target_last_success_timestamp_seconds": at - 60,
        "edge_target_removed_timestamp_seconds": at - 3600 if trouble else None,
        "edge_targets": {"up": 2.0, "failing": float(trouble), "pending": float(trouble)}.get(labels.get("state", "")),
        "edge_exporter_clock_offset_seconds": -0.4,
        "edge_exporter_shard_held": float(not trouble),
        "edge_dns_statistics_changed_timestamp_seconds": polled,
        "edge_window_mismatched_targets": float(trouble),
        "edge_exporter_ledger_set_aside_timestamp_seconds": midnight if trouble else 0.0,
        "edge_exporter_config_last_reload_success_timestamp_seconds": restarted.timestamp(),
        "process_start_time_seconds": restarted.timestamp(),
        "process_max_fds": 1024.0,
    }
    if family in special:
        return special[family]
    if family.endswith(("_total", "_bucket", "_sum", "_count")):
        return running / 60
    return midnight if family.endswith("_timestamp_seconds") else 1.0


def renamed(labels: dict[str, str], moment: datetime) -> dict[str, str]:
    """Labels that change with the problems: a release, and the content of an access list."""
    if moment > HEALTHY_UNTIL:
        return {**labels, **{name: "2" for name in ("release_id", "checksum") if name in labels}}
    return labels


@dataclass(frozen=True, slots=True)
class Scene:
    """The served series, and since when.

    Attributes:
        things: the resources, by kind; a family belongs to the first kind whose labels it has.
        values: the values of all other labels.
        sample: returns a series' value at a moment, if it has one.
        renamed: its labels at that moment.
        buckets: the bounds of the histogram.
        instances: the exporters, each of which serves all of it.
        begin: the time from which every family has samples, each minute.
        history: the time from which families that are compared with their past have samples, every five minutes.
    """

    things: tuple[tuple[Labels, ...], ...]
    values: Mapping[str, tuple[str, ...]]
    sample: Callable[[str, Labels, datetime], float | None]
    renamed: Callable[[dict[str, str], datetime], dict[str, str]]
    buckets: tuple[str, ...]
    instances: tuple[str, ...]
    begin: datetime
    history: datetime = HISTORY


SMALL = Scene(THINGS, VALUES, sample, renamed, BUCKETS, INSTANCES, BEGIN)


def series_of(labels: frozenset[str], scene: Scene) -> Iterator[dict[str, str]]:
    """Return all label sets of a family: those of the resources with the most of its labels, with every other value."""
    for thing in next(things for things in scene.things if set(things[0]) <= labels):
        more = sorted(labels - thing.keys())
        for values in itertools.product(*(scene.values.get(name, (name,)) for name in more)):
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


def openmetrics(scene: Scene = SMALL) -> Iterator[str]:
    """Yield the lines of the month for `promtool tsdb create-blocks-from openmetrics`."""
    lately = list(spaced(scene.begin, END, timedelta(minutes=1)))
    for name, labels in families():
        moments = list(spaced(scene.history, scene.begin, timedelta(minutes=5))) if name in DAILY else []
        for series in series_of(labels, scene):
            yield from lines(name, series, moments + lately, scene)
    known = HEALTH["edge_api_request_duration_seconds"]
    for series in series_of(known.labels, scene):
        for bucket in scene.buckets:
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
    """Yield a series for each instance; series that rules record have none."""
    recorded = name.startswith("ALERTS") or ":" in name
    for number, instance in enumerate(scene.instances[:1] if recorded else scene.instances):
        shard = {"shard": str(number)} if "shard" in series and not recorded else {}
        own = {"job": "edge", **({} if recorded else {"instance": instance, "pod": instance[:10]})}
        renamed: dict[str, str] | None = None
        text = ""
        for moment in moments:
            value = scene.sample(name, series, moment)
            if value is None:
                continue
            if (now := scene.renamed(series, moment)) != renamed:
                renamed = now
                labels = {**own, **now, **shard}
                text = ",".join(f'{key}="{value}"' for key, value in labels.items() if value)
            yield f"{name}{{{text}}} {value!r} {moment.timestamp():.0f}\n"
