"""Defines ten incidents on the platform of the pictures, each as changes of a calm hour."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.dashboards.world import Labels, Scene, alert
from tests.pictures.holdings import BOUNDS, LABELS, SCRIPTS, THINGS
from tests.pictures.life import Life, named
from tests.pictures.standing import BEGIN, TROUBLE

# Returns the value of a series from its family, its labels, the time, and its value in a calm hour.
Change = Callable[[str, Labels, float, float | None, Callable[[float], float | None]], float | None]

# The alerts of an incident fire this many seconds after it began.
PATIENCE = 600


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident, which begins at `TROUBLE`.

    Attributes:
        change: returns a series' value from then on, given its normal value, now and at any time.
        finds: the finding in the Overview's table, with its subject.
        alerts: the alerts that fire, by their labels.
    """

    change: Change
    finds: frozenset[tuple[str, str]] = frozenset()
    alerts: tuple[Labels, ...] = ()


def _set(family: str, value: float | None, **of: str) -> Change:
    """Set the value of the series of a family with these labels."""

    def change(
        name: str, labels: Labels, _: float, calm: float | None, __: Callable[[float], float | None]
    ) -> float | None:
        return value if name == family and of.items() <= labels.items() else calm

    return change


def _burst(
    family: str, labels: Labels, at: float, calm: float | None, _: Callable[[float], float | None]
) -> float | None:
    if not family.startswith("edge_shield_rate_limit_") or labels["rate_limit_id"] != "58":
        return calm
    share = {"logged": 0.5, "challenged": 0.2, "blocked": 0.3}.get(labels.get("action", ""), 0.0)
    return (calm or 0.0) + float(int(0.4 * (at - TROUBLE) * (share if "action" in labels else 1)))


def _halved(
    family: str, labels: Labels, _: float, calm: float | None, at_time: Callable[[float], float | None]
) -> float | None:
    counted = ("edge_dns_day_", "edge_dns_queries_", "edge_dns_routed_", "edge_dns_window_")
    if labels.get("zone_id") != "202" or not family.startswith(counted) or "timestamp" in family:
        return calm
    return (calm or 0.0) - 0.5 * ((calm or 0.0) - (at_time(TROUBLE) or 0.0))


def _slow(
    family: str, labels: Labels, _: float, calm: float | None, at_time: Callable[[float], float | None]
) -> float | None:
    begun = at_time(TROUBLE) or 0.0
    if family == "edge_api_request_duration_seconds_sum":
        return begun + 12 * ((calm or 0.0) - begun)
    if family == "edge_api_request_duration_seconds_bucket":
        return begun + (0.0 if labels["le"] in {"0.05", "0.1", "0.25", "0.5", "1"} else (calm or 0.0) - begun)
    if family == "edge_api_capacity_requests_per_second" and labels["limit"] == "max_in_flight":
        return 0.4
    if family == "edge_exporter_collector_duration_seconds":
        return 12 * (calm or 0.0)
    return calm


def _refused(
    family: str, labels: Labels, at: float, calm: float | None, at_time: Callable[[float], float | None]
) -> float | None:
    if labels.get("account") != "eu" or family.startswith(("edge_api_capacity", "edge_api_budget", "edge_api_demand")):
        return calm
    match family:
        case "edge_up" | "edge_target_up" | "account:edge_up:answering":
            return 0.0
        case "edge_target_last_success_timestamp_seconds":
            return at_time(TROUBLE)
        case "edge_api_request_failures_total":
            return (at - TROUBLE) / 20 if labels["reason"] == "unauthorized" else calm
        case "edge_api_requests_total":
            return (at - TROUBLE) / 20 if labels["code"] == "401" else at_time(TROUBLE)
    platform = family.startswith(("edge_dns", "edge_shield", "edge_script", "edge_container"))
    # Series end after three intervals.
    return None if platform and at > TROUBLE + 900 else calm


def _down(family: str, _: Labels, __: float, calm: float | None, ___: Callable[[float], float | None]) -> float | None:
    if family.startswith("ALERTS"):
        return calm
    return 0.0 if family == "up" else None


def _query_failing(
    family: str, labels: Labels, _: float, calm: float | None, at_time: Callable[[float], float | None]
) -> float | None:
    if "query/orders/carts_stale" not in labels.values():
        return calm
    return 0.0 if family == "edge_target_up" else at_time(TROUBLE)


def _alert(alertname: str, severity: str, area: str, **labels: str) -> Labels:
    return alert(alertname=alertname, severity=severity, area=area, **labels)


_CART = next(budget for _, script, _, _, _, budget in SCRIPTS if script == "9")
_EU = {"account": "eu"}
CALM = Incident(lambda _, __, ___, calm, ____: calm)
INCIDENTS: dict[str, Incident] = {
    "a burst on one rate limit (api of shield zone 4, eu)": Incident(
        _burst,
        frozenset({("Burst on a rate limit", "shield zone shop-eu · rate limit api")}),
        (
            _alert(
                *("EdgeRateLimitBlocking", "warning", "shield"),
                **{
                    **_EU,
                    "shield_zone_id": "4",
                    "rate_limit_id": "58",
                    "rate_limit": "api",
                    "action": "blocked",
                    "pull_zone": "shop-eu",
                },
            ),
        ),
    ),
    "traffic of one zone halved (login.example, eu)": Incident(
        _halved, frozenset({("Traffic has fallen", "zone login.example")})
    ),
    "WAF switched off (shop-eu, zone 4)": Incident(
        _set("edge_shield_zone_waf_enabled", 0.0, shield_zone_id="4"),
        frozenset({("WAF switched off", "shield zone shop-eu")}),
        (_alert("EdgeWafSwitchedOff", "critical", "shield", **_EU, shield_zone_id="4", pull_zone="shop-eu"),),
    ),
    "the platform is slow (both accounts)": Incident(
        _slow, frozenset({("Platform slow", "account main"), ("Platform slow", "account eu")})
    ),
    "an image's tag vanished (nginx:latest)": Incident(
        _set("edge_container_image_tag_present", 0.0, image="nginx", tag="latest"),
        frozenset({("Image tag missing", "image nginx · tag latest · of library · in dockerhub")}),
        (_alert("EdgeImageTagMissing", "warning", "containers", account="main", image="nginx", tag="latest"),),
    ),
    "the key is refused (eu)": Incident(
        _refused,
        frozenset({("Key refused", "account eu")}),
        (
            _alert("EdgeCredentialRefused", "critical", "exporter", **_EU),
            _alert("EdgeAccountDown", "critical", "exporter", **_EU),
            *(
                _alert(
                    *("EdgeTargetFailing", "warning", "exporter"),
                    **{**_EU, "collector": "dns_statistics", "target": f"dns_zone/{number}"},
                )
                for number in range(2001, 2128)
            ),
        ),
    ),
    "a scan failed (shop-eu.example)": Incident(
        lambda family, labels, _, calm, __: (
            float(labels["status"] == "failed")
            if family == "edge_dns_record_scan_status" and labels["zone_id"] == "201"
            else calm
        ),
        frozenset({("Record scan failed", "zone shop-eu.example")}),
        (_alert("EdgeDnsScanFailed", "warning", "dns", **_EU, zone_id="201", domain="shop-eu.example"),),
    ),
    "a script over its budget (cart, eu)": Incident(
        _set("edge_script_monthly_cost_dollars", 1.12 * _CART, script_id="9"),
        frozenset({("Script over budget", "script cart")}),
        (_alert("EdgeScriptOverBudget", "warning", "scripts", **_EU, script_id="9", script="cart"),),
    ),
    "the exporter is down": Incident(
        _down,
        frozenset({("Exporter down", "exporter exporter-0:9877"), ("Exporter or shard missing", "")}),
        (_alert("EdgeExporterDown", "critical", "exporter", instance="exporter-0:9877"),),
    ),
    "a database query fails (carts_stale of orders)": Incident(
        _query_failing,
        frozenset({("Database query fails", "database orders · query carts_stale")}),
        (
            _alert(
                *("EdgeDatabaseQueryFailing", "warning", "database"),
                database="orders",
                target="query/orders/carts_stale",
                name="carts_stale",
            ),
        ),
    ),
}


def scene(incident: Incident = CALM, *, rules: bool = True) -> Scene:
    """Return the platform with an incident, and with its alerts if rules are loaded."""
    life = Life()
    watchdog = _alert("EdgeWatchdog", "none", "exporter")
    things = ((watchdog, *incident.alerts), *THINGS)

    def sample(family: str, labels: Labels, moment: datetime) -> float | None:
        at = moment.timestamp()
        if family.startswith("ALERTS"):
            since = BEGIN.timestamp() if labels["alertname"] == "EdgeWatchdog" else TROUBLE + PATIENCE
            shown = rules and at > since and labels.get("alertstate", "firing") == "firing"
            return (since if family == "ALERTS_FOR_STATE" else 1.0) if shown else None
        if not rules and ":" in family:
            return None
        calm = life.sample(family, labels, moment)
        if at <= TROUBLE:
            return calm
        return incident.change(
            family, labels, at, calm, lambda then: life.sample(family, labels, datetime.fromtimestamp(then, UTC))
        )

    values = {**LABELS, "alertstate": ("firing", "pending")}
    return Scene(things, values, sample, named, BOUNDS, ("exporter-0:9877",), BEGIN)


# For the pictures in the documents: a normal day with a few usual problems.
def usual_trouble() -> Scene:
    """A burst, a failed scan and a failing query at once."""
    chosen = [INCIDENTS[name] for name in INCIDENTS if name.startswith(("a burst", "a scan", "a database"))]

    def change(
        family: str, labels: Labels, at: float, calm: float | None, at_time: Callable[[float], float | None]
    ) -> float | None:
        for incident in chosen:
            calm = incident.change(family, labels, at, calm, at_time)
        return calm

    return scene(Incident(change, alerts=tuple(fired for incident in chosen for fired in incident.alerts)))
