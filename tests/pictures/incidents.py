"""Defines ten incidents on the platform of the pictures, each as changes of a calm hour."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime

from tests.dashboards.world import Labels, Scene, alert
from tests.pictures.holdings import ACCOUNTS, BOUNDS, LABELS, SCRIPTS, THINGS
from tests.pictures.life import ACTIONS, BEGIN, TROUBLE, named, value_of
from tests.rules.rule_files import load_alerts

# The alerts of an incident fire this many seconds after it began.
PATIENCE = 600


@dataclass(frozen=True, slots=True)
class Point:
    """A series at a time of an incident.

    Attributes:
        calm: its value without the incident.
        begun: its value when the incident began.
    """

    family: str
    labels: Labels
    at: float
    calm: float | None
    begun: float | None

    def grown(self, factor: float) -> float:
        """Return the value if it grows by this factor of its calm growth since the incident began."""
        begun = self.begun or 0.0
        return begun + factor * ((self.calm or 0.0) - begun)


Change = Callable[[Point], float | None]


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident, which begins at `TROUBLE`.

    Attributes:
        change: returns a series' value from then on.
        finds: the finding in the Overview's table, with its subject.
        alerts: the alerts that fire, by their labels.
    """

    change: Change
    finds: AbstractSet[tuple[str, str]] = frozenset()
    alerts: tuple[Labels, ...] = ()


def _set(family: str, value: float | None, **of: str) -> Change:
    """Set the value of the series of a family with these labels."""
    return lambda point: value if point.family == family and of.items() <= point.labels.items() else point.calm


def _burst(point: Point) -> float | None:
    if not point.family.startswith("edge_shield_rate_limit_") or point.labels["rate_limit_id"] != "58":
        return point.calm
    part = ACTIONS.get(point.labels.get("action", ""), 1)
    return (point.calm or 0.0) + float(int(0.4 * (point.at - TROUBLE) * part))


def _halved(point: Point) -> float | None:
    counted = ("edge_dns_day_", "edge_dns_queries_", "edge_dns_routed_", "edge_dns_window_")
    if point.labels.get("zone_id") != "202" or not point.family.startswith(counted) or "timestamp" in point.family:
        return point.calm
    return point.grown(0.5)


def _slow(point: Point) -> float | None:
    match point.family:
        case "edge_api_request_duration_seconds_sum":
            return point.grown(12)
        case "edge_api_request_duration_seconds_bucket":
            return point.grown(1 if float(point.labels["le"]) > 1 else 0)
        case "edge_api_capacity_requests_per_second" if point.labels["limit"] == "max_in_flight":
            return 0.4
        case "edge_exporter_collector_duration_seconds":
            return 12 * (point.calm or 0.0)
    return point.calm


def _refused(point: Point) -> float | None:
    family, labels, calls = point.family, point.labels, (point.at - TROUBLE) / 20
    if labels.get("account") != "eu" or family.startswith(("edge_api_capacity", "edge_api_budget", "edge_api_demand")):
        return point.calm
    match family:
        case "edge_up" | "edge_target_up" | "account:edge_up:answering":
            return 0.0
        case "edge_target_last_success_timestamp_seconds":
            return point.begun
        case "edge_api_request_failures_total":
            return calls if labels["reason"] == "unauthorized" else point.calm
        case "edge_api_requests_total":
            return calls if labels["code"] == "401" else point.begun
    platform = family.startswith(("edge_dns", "edge_shield", "edge_script", "edge_container"))
    # Series end after three intervals.
    return None if platform and point.at > TROUBLE + 900 else point.calm


def _down(point: Point) -> float | None:
    return point.calm if point.family.startswith("ALERTS") else 0.0 if point.family == "up" else None


def _query_failing(point: Point) -> float | None:
    if "query/orders/carts_stale" not in point.labels.values():
        return point.calm
    return 0.0 if point.family == "edge_target_up" else point.begun


def _scan_failed(point: Point) -> float | None:
    if point.family != "edge_dns_record_scan_status" or point.labels["zone_id"] != "201":
        return point.calm
    return float(point.labels["status"] == "failed")


_RULES = {rule.name: rule.labels for rule in load_alerts()}


def _alert(alertname: str, **labels: str) -> Labels:
    return alert(alertname=alertname, **_RULES[alertname], **labels)


_CART = next(budget for _, script, _, _, _, budget in SCRIPTS if script == "9")
_EU = {"account": "eu"}
_LIMIT = {**_EU, "shield_zone_id": "4", "pull_zone": "shop-eu", "rate_limit_id": "58", "rate_limit": "api"}
_STALE = {"database": "orders", "target": "query/orders/carts_stale", "name": "carts_stale"}
CALM = Incident(lambda point: point.calm)
# Alerts are given where they are shown: in the usual trouble, and where there are very many.
INCIDENTS: dict[str, Incident] = {
    "a burst on one rate limit (api of shield zone 4, eu)": Incident(
        _burst,
        {("Burst on a rate limit", "shield zone shop-eu · rate limit api")},
        (_alert("EdgeRateLimitBlocking", **_LIMIT, action="blocked"),),
    ),
    "traffic of one zone halved (login.example, eu)": Incident(_halved, {("Traffic has fallen", "zone login.example")}),
    "WAF switched off (shop-eu, zone 4)": Incident(
        _set("edge_shield_zone_waf_enabled", 0.0, shield_zone_id="4"), {("WAF switched off", "shield zone shop-eu")}
    ),
    "the platform is slow (both accounts)": Incident(
        _slow, {("Platform slow", f"account {account}") for account in ACCOUNTS}
    ),
    "an image's tag vanished (nginx:latest)": Incident(
        _set("edge_container_image_tag_present", 0.0, image="nginx", tag="latest"),
        {("Image tag missing", "image nginx · tag latest · of library · in dockerhub")},
    ),
    "the key is refused (eu)": Incident(
        _refused,
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
        _scan_failed,
        {("Record scan failed", "zone shop-eu.example")},
        (_alert("EdgeDnsScanFailed", **_EU, zone_id="201", domain="shop-eu.example"),),
    ),
    "a script over its budget (cart, eu)": Incident(
        _set("edge_script_monthly_cost_dollars", 1.12 * _CART, script_id="9"), {("Script over budget", "script cart")}
    ),
    "the exporter is down": Incident(
        _down, {("Exporter down", "exporter exporter-0:9877"), ("Exporter or shard missing", "")}
    ),
    "a database query fails (carts_stale of orders)": Incident(
        _query_failing,
        {("Database query fails", "database orders · query carts_stale")},
        (_alert("EdgeDatabaseQueryFailing", **_STALE),),
    ),
}


def scene(incident: Incident = CALM, *, rules: bool = True) -> Scene:
    """Return the platform with an incident, and with its alerts if rules are loaded."""
    things = ((_alert("EdgeWatchdog"), *incident.alerts), *THINGS)

    def sample(family: str, labels: Labels, moment: datetime) -> float | None:
        at = moment.timestamp()
        if family.startswith("ALERTS"):
            since = BEGIN.timestamp() if labels["alertname"] == "EdgeWatchdog" else TROUBLE + PATIENCE
            shown = rules and at > since and labels.get("alertstate", "firing") == "firing"
            return (since if family == "ALERTS_FOR_STATE" else 1.0) if shown else None
        if not rules and ":" in family:
            return None
        calm = value_of(family, labels, at)
        if at <= TROUBLE:
            return calm
        return incident.change(Point(family, labels, at, calm, value_of(family, labels, TROUBLE)))

    values = {**LABELS, "alertstate": ("firing", "pending")}
    return Scene(things, values, sample, named, BOUNDS, ("exporter-0:9877",), BEGIN)


def usual_trouble() -> Scene:
    """For the pictures in the documents: a burst, a failed scan and a failing query at once."""
    chosen = [INCIDENTS[name] for name in INCIDENTS if name.startswith(("a burst", "a scan", "a database"))]

    def change(point: Point) -> float | None:
        for incident in chosen:
            point = replace(point, calm=incident.change(point))
        return point.calm

    return scene(Incident(change, alerts=tuple(fired for incident in chosen for fired in incident.alerts)))
