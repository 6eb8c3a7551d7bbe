"""Defines incidents on the small platform, each as changes of a calm hour, and all that can be wrong at once."""

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta

from tests.dashboards.scene import END, HISTORY, NO_ALERT, TROUBLE, Labels, Scene, calm
from tests.rules.rule_files import load_alerts

BEGUN = TROUBLE.timestamp()
# The alerts of an incident fire this many seconds after it began.
PATIENCE = 600

# What a value is without the incident, what it was when the incident began, and the seconds since → what it is.
Changed = Callable[[float, float, float], float | None]
# The families, as a regular expression; the labels of the series; their value.
Change = tuple[str, Labels, float | Changed | None]


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident, which begins at `TROUBLE`.

    Attributes:
        changes: the values of series from then on; the first that applies to a series.
        finds: the finding in the Overview's table, with its subject.
        alerts: the alerts that fire, by their labels.
    """

    changes: tuple[Change, ...] = ()
    finds: AbstractSet[tuple[str, str]] = frozenset()
    alerts: tuple[Labels, ...] = ()

    def value(self, family: str, labels: Labels, at: float) -> float | None:
        """Return the value of a series at a time."""
        value = calm(family, labels, at)
        if at <= BEGUN:
            return value
        for pattern, chosen, change in self.changes:
            if re.fullmatch(pattern, family) and chosen.items() <= labels.items():
                if not callable(change):
                    return change
                return None if value is None else change(value, calm(family, labels, BEGUN) or 0.0, at - BEGUN)
        return value


def _grown(factor: float) -> Changed:
    """Let a series grow by this factor of its calm growth since the incident began."""
    return lambda usual, begun, _: begun + factor * (usual - begun)


def _burst(usual: float, _begun: float, since: float) -> float:
    return usual + since // 8


def _begins(_usual: float, _begun: float, since: float) -> float:
    """Let a counter that was 0 rise by one a minute."""
    return since / 60


_held = _grown(0)
# No target has a team.
_RULES = {rule.name: {name: rule.labels[name] for name in ("severity", "area")} for rule in load_alerts()}


def _alert(alertname: str, **labels: str) -> Labels:
    return {**NO_ALERT, "alertname": alertname, **_RULES[alertname], **labels}


_EU = {"account": "eu"}
_LIMIT = {**_EU, "shield_zone_id": "4", "pull_zone": "shop-eu", "rate_limit_id": "56", "rate_limit": "api"}
_STALE = {"target": "query/orders/carts_stale"}
CALM = Incident()
# Alerts are given where they are shown: in the usual trouble, and where there are very many.
INCIDENTS: dict[str, Incident] = {
    "a burst on one rate limit (api of shield zone 4, eu)": Incident(
        (
            ("edge_shield_rate_limit_(day_breaches|breaches_total)", {"rate_limit_id": "56"}, _burst),
            ("rate_limit_action:.*", {"rate_limit_id": "56"}, lambda usual, _, since: usual + min(since / 900, 1) / 8),
        ),
        {("Burst on a rate limit", "shield zone shop-eu · rate limit api")},
        (_alert("EdgeRateLimitBlocking", **_LIMIT, action="blocked"),),
    ),
    "traffic of one zone halved (shop-eu.example)": Incident(
        (("edge_dns_(day|window|queries|routed)_.*(queries|total)", {"zone_id": "201"}, _grown(0.5)),),
        {("Traffic has fallen", "zone shop-eu.example")},
    ),
    "statistics stand still (eu)": Incident(
        (
            ("edge_dns_statistics_changed_timestamp_seconds", _EU, _held),
            ("edge_dns_(day|window|queries|routed)_.*(queries|total)", _EU, _held),
        ),
        {("Statistics do not change", "account eu")},
    ),
    "WAF switched off (shop-eu, zone 4)": Incident(
        (("edge_shield_zone_waf_enabled", {"shield_zone_id": "4"}, 0.0),),
        {("WAF switched off", "shield zone shop-eu")},
    ),
    "the platform is slow (both accounts)": Incident(
        (("edge_api_request_duration_seconds_sum", {}, _grown(12)),),
        {("Platform slow", f"account {account}") for account in ("main", "eu")},
    ),
    "an image's tag vanished (nginx:latest)": Incident(
        (("edge_container_image_tag_present", {"image": "nginx", "tag": "latest"}, 0.0),),
        {("Image tag missing", "image nginx · tag latest · of library · in dockerhub")},
    ),
    "the key is refused (eu)": Incident(
        (
            ("edge_up|edge_target_up|account:edge_up:answering", _EU, 0.0),
            ("edge_target_last_success_timestamp_seconds", _EU, _held),
            ("edge_api_request_failures_total", _EU, lambda _usual, _begun, since: since / 20),
            ("edge_api_requests_total", _EU, _held),
            ("edge_(dns|shield|script|container).*", _EU, lambda usual, _, since: None if since > 900 else usual),
        ),
        {("Key refused", "account eu")},
        (
            _alert("EdgeCredentialRefused", **_EU),
            _alert("EdgeAccountDown", **_EU),
            *(
                _alert("EdgeTargetFailing", **_EU, collector="dns_statistics", target=f"dns_zone/{number}")
                for number in range(2001, 2128)
            ),
        ),
    ),
    "a scan failed (shop-eu.example)": Incident(
        (
            ("edge_dns_record_scan_status", {"zone_id": "201", "status": "failed"}, 1.0),
            ("edge_dns_record_scan_status", {"zone_id": "201"}, 0.0),
        ),
        {("Record scan failed", "zone shop-eu.example")},
        (_alert("EdgeDnsScanFailed", **_EU, zone_id="201", domain="shop-eu.example"),),
    ),
    "a script over its budget (cart, eu)": Incident(
        (("edge_script_monthly_cost_dollars", {"script_id": "8"}, 45.0),),
        {("Script over budget", "script cart")},
    ),
    "the exporter is down": Incident(
        (("up", {}, 0.0), (".*", {}, None)),
        {("Exporter down", "exporter exporter-0:9877"), ("Exporter or shard missing", "")},
    ),
    "a database query fails (carts_stale of orders)": Incident(
        (("edge_target_up", _STALE, 0.0), (".*", _STALE, _held)),
        {("Database query fails", "database orders · query carts_stale")},
        (_alert("EdgeDatabaseQueryFailing", database="orders", **_STALE, name="carts_stale"),),
    ),
}


# Everything that a query can wait for.
ALL_AT_ONCE = Incident(
    (
        ("edge_api_(request_failures|retries|unexpected_values)_total", {}, _begins),
        ("edge_exporter_(collector_missed_runs|ledger_corrections|task_failures)_total", {}, _begins),
        ("edge_exporter_(series_dropped|failing_targets)|edge_window_mismatched_targets", {}, 1.0),
        ("edge_exporter_shard_held", {}, 0.0),
        ("edge_exporter_ledger_set_aside_timestamp_seconds", {}, END.timestamp() - 43200),
        ("edge_dns_record_scan_status", {"zone_id": "101", "status": "failed"}, 1.0),
        ("edge_dns_record_scan_status", {"zone_id": "101"}, 0.0),
        ("edge_dns_record_scan_found", {"zone_id": "201"}, 0.0),
        ("edge_target_up", {"target": "dns_zone/101"}, 0.0),
        ("edge_target_removed_timestamp_seconds", {}, END.timestamp() - 3600),
    ),
    alerts=(_alert("EdgeAccountDown", **_EU), _alert("EdgeDnsScanFailed", account="main", zone_id="101")),
)


def scene(
    incident: Incident = CALM,
    *,
    rules: bool = True,
    instances: tuple[str, ...] = ("exporter-0:9877",),
    lasts: timedelta = timedelta(hours=50),
    history: timedelta = END - HISTORY,
) -> Scene:
    """Return the platform with an incident at its end, and with its alerts if rules are loaded."""
    begin = END - lasts

    def value(family: str, labels: Labels, at: float) -> float | None:
        if family.startswith("ALERTS"):
            since = begin.timestamp() if labels["alertname"] == "EdgeWatchdog" else BEGUN + PATIENCE
            shown = since if family == "ALERTS_FOR_STATE" else 1.0
            return shown if rules and at > since else None
        if not rules and ":" in family:
            return None
        # One target appeared within the day.
        if family == "edge_target_up" and labels["target"] == "dns_zone/201" and at < begin.timestamp():
            return None
        return incident.value(family, labels, at)

    alerts = (_alert("EdgeWatchdog"), *incident.alerts)
    return Scene(value, alerts, instances, begin, END - history)


def usual_trouble() -> Scene:
    """For the pictures in the documents: a burst, a failed scan and a failing query at once."""
    chosen = [INCIDENTS[name] for name in INCIDENTS if name.startswith(("a burst", "a scan", "a database"))]
    changes = tuple(change for incident in chosen for change in incident.changes)
    return scene(Incident(changes, alerts=tuple(fired for incident in chosen for fired in incident.alerts)))
