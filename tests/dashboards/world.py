"""A small platform's month as samples: healthy for long, then with every kind of trouble at once.

Two exporters serve all of it, as they do while shards change hands: a value that both serve must be counted once.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dashboards.generator.queries.subject import PARTS
from tests.dashboards.families import HEALTH, OTHERS, family_of, platform_families

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
    (
        {"account": "main", "zone_id": "102", "domain": "b.example"},
        2.0,
    ),
    ({"account": "eu", "zone_id": "201", "domain": "c.example"}, 3.0),
)
RATE = {labels["zone_id"]: rate for labels, rate in ZONES}
COST = {"7": 29.0, "8": 14.5}

_ALERT: Labels = {
    **dict.fromkeys(("alertname", "severity", "area", "account"), ""),
    **{label: "" for part in PARTS for label in part.labels},
}
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
# A healthy thing has the first value of an enum.
VALUES: Mapping[str, tuple[str, ...]] = {
    "alertstate": ("firing", "pending"),
    "action": ("logged", "challenged", "blocked"),
    "branch": ("main",),
    "check": ("request_schema", "authorization"),
    "checksum": ("5e88",),
    "code": ("200", "404"),
    "collector": ("dns_statistics", "database"),
    "default_hostname": ("router.example",),
    "enabled": ("true", "false"),
    "operation": ("GET /dnszone/{id}/statistics", "GET /search"),
    "engine": ("waf", "ddos"),
    "family": ("edge_dns_queries_total",),
    "feature": ("realtime_threat_intelligence", "whitelabel_response_pages"),
    "field": ("planType",),
    "generation": ("0", "1", "2"),
    "job_id": ("3f2504e0",),
    "level": ("medium", "off"),
    # Limits of an API guardian, and of an account's budget.
    "limit": (
        *("endpoints", "fields_per_type", "nesting_depth", "schema_nodes", "regex_length"),
        *("requests_per_second", "max_in_flight"),
    ),
    "mode": ("block", "log"),
    "plan": ("business",),
    "pull_zone": ("shop",),
    "pull_zone_id": ("9",),
    "reason": ("timeout",),
    "record_type": ("A", "AAAA"),
    "release_id": ("1",),
    "repository": ("acme/router",),
    "required": ("true", "false"),
    "resource_type": ("dns", "script"),
    "routing": ("normal", "smart"),
    "rule_kind": ("rate_limit", "custom_waf"),
    "ruleset": ("core",),
    "script_type": ("cdn",),
    "severity": ("critical",),
    "shard": ("0",),
    "shards": ("2",),
    "signal": ("ip_address", "browser_fingerprint"),
    "state": ("custom", "disabled", "log_only"),
    "status": ("completed", "pending", "in_progress", "failed", "unknown"),
    "system_hostname": ("r1.example",),
    "tag": ("stable",),
    "title": ("shop API",),
    "version": ("1.0.0",),
}
ONE_HOT = {
    "edge_dns_record_scan_status": "status",
    "edge_shield_bot_detection_sensitivity": "level",
    "edge_shield_zone_ddos_sensitivity": "level",
    "edge_shield_zone_execution_mode": "mode",
}
BUCKETS = ("0.1", "1", "+Inf")
# Counters of problems begin at 0 with the process.
COUNTED_TROUBLES = frozenset(
    {
        "edge_api_request_failures_total",
        "edge_api_retries_total",
        "edge_exporter_collector_missed_runs_total",
        "edge_exporter_ledger_corrections_total",
    }
)
# Counters that begin with their first event do not exist while all is well.
TROUBLES = frozenset(
    {
        "ALERTS",
        "ALERTS_FOR_STATE",
        "edge_api_unexpected_values_total",
        "edge_exporter_series_dropped",
    }
)
DAILY = frozenset(
    {
        "edge_dns_day_queries",
        "edge_dns_day_start_timestamp_seconds",
        "edge_dns_queries_total",
        "edge_dns_routed_queries_total",
        "edge_dns_window_queries",
        "edge_script_monthly_cost_dollars",
    }
)


def sample(family: str, labels: Labels, moment: datetime) -> float | None:
    """Return the value of a series at a time; None if it has none."""
    trouble = moment > HEALTHY_UNTIL
    at = moment.timestamp()
    running = (moment - HISTORY).total_seconds()
    # Statistics are as old as the last poll, so just after midnight they are those of the old day.
    polled = at - 120 - (at - 120) % 300
    midnight = polled - polled % 86400
    if family in TROUBLES and not trouble:
        return None
    if family in COUNTED_TROUBLES:
        return max(0.0, at - HEALTHY_UNTIL.timestamp()) / 60
    if hot := ONE_HOT.get(family):
        failed = hot == "status" and trouble and labels["zone_id"] == "101"
        return float(labels[hot] == ("failed" if failed else VALUES[hot][0]))
    special = {
        "edge_dns_day_queries": lambda: RATE[labels["zone_id"]] * (polled - midnight),
        "edge_dns_day_start_timestamp_seconds": lambda: midnight,
        "edge_dns_window_queries": lambda: RATE[labels["zone_id"]] * (30 * 86400 + polled - midnight),
        "edge_dns_queries_total": lambda: RATE[labels["zone_id"]] * running,
        "edge_dns_routed_queries_total": lambda: RATE[labels["zone_id"]] * running / 2,
        "edge_dns_record_scan_found": lambda: float(not (trouble and labels["zone_id"] == "201")),
        "edge_dns_record_scan_created_timestamp_seconds": lambda: midnight - 600,
        "edge_dns_record_scan_completed_timestamp_seconds": lambda: midnight,
        "edge_script_monthly_cost_dollars": lambda: COST[labels["script_id"]],
        "edge_script_monthly_requests": lambda: 1e6,
        "edge_script_monthly_budget_dollars": lambda: 40.0,
        "edge_script_last_modified_timestamp_seconds": lambda: midnight,
        "edge_shield_zone_learning_mode": lambda: float(trouble or labels["shield_zone_id"] == "4"),
        "edge_shield_zone_learning_mode_until_timestamp_seconds": lambda: at + 86400,
        # As many in 15 minutes as in its counters.
        "edge_shield_rate_limit_window_breaches_overall": lambda: 28 * 96 * 45.0,
        "edge_target_up": lambda: float(not (trouble and labels["target"] == "dns_zone/101")),
        "edge_target_last_success_timestamp_seconds": lambda: at - 60,
        "edge_exporter_shard_waiting": lambda: float(trouble),
        "edge_exporter_ledger_set_aside_timestamp_seconds": lambda: midnight if trouble else 0.0,
        "edge_exporter_config_last_reload_success_timestamp_seconds": lambda: (
            (END - timedelta(minutes=20)).timestamp() if trouble else BEGIN.timestamp()
        ),
        "process_start_time_seconds": lambda: (
            (END - timedelta(minutes=20)).timestamp() if trouble else BEGIN.timestamp()
        ),
        "process_max_fds": lambda: 1024.0,
    }.get(family_of(family))
    if special:
        return special()
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


def things_of(labels: frozenset[str], scene: Scene) -> tuple[Labels, ...]:
    """Return the resources that a family with these labels describes: those with the most of these labels."""
    return next(things for things in scene.things if set(things[0]) <= labels)


def series_of(labels: frozenset[str], scene: Scene) -> Iterator[dict[str, str]]:
    """Return all label sets of a family."""
    for thing in things_of(labels, scene):
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
    """Yield a series for each instance; series of alerts have none."""
    recorded = name.startswith("ALERTS")
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
