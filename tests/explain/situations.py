"""Absences that are caused on the sandbox, each with its expected cause."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.collectors.causes import Cause
from exporter.sandbox import keys
from exporter.targets.sharding import owner
from tests.exporter_parts import ExporterParts
from tests.waiting import until

# (collector, target) → cause → the families that are absent for it; None stands for all of the target.
Absent = Mapping[tuple[str, str], Mapping[Cause, tuple[str, ...] | None]]
Script = Callable[[ExporterParts], Awaitable[None]]

ZONES = tuple(f"dns_zone/{number}" for number in range(101, 113))
ZONE, *_ = ZONES
DNS, SCANS, SCRIPTS, SHIELDS = "dns_statistics", "dns_record_scans", "scripts", "shield_zones"
COUNTERS = ("edge_dns_queries_total", "edge_dns_routed_queries_total")
DAYS = ("edge_dns_day_queries", "edge_dns_day_start_timestamp_seconds")
ROUTED = ("edge_dns_window_routed_queries", "edge_dns_day_routed_queries")
GAUGES = ("edge_dns_window_queries", "edge_dns_window_record_queries", *ROUTED, *DAYS)
STATISTICS, SCAN = "/dnszone/101/statistics", "/dnszone/101/records/scan"
OFF: Mapping[str, object] = {"discover": False}
ONE: Mapping[str, object] = {"dns_zones": {**OFF, "ids": [101]}, "scripts": OFF, "shield_zones": OFF}


def prefixed(prefix: str, names: str) -> tuple[str, ...]:
    """Return names of families that begin alike."""
    return tuple(prefix + name for name in names.split())


def status(path: str, code: int = 200, body: object = "") -> dict[str, Any]:
    """Return a fault that answers a path with a status and a body: text, or any other value as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {"kind": "status", "path_regex": path, "status": code, "body": text, "content_type": "application/json"}


def stall(path: str) -> dict[str, Any]:
    """Return a fault that gives no answer."""
    return {"kind": "stall", "path_regex": path, "point": "start"}


async def settled(parts: ExporterParts) -> None:
    """Wait for the first round; without a fault it has ended already."""
    await parts.settle()


async def at_once(_parts: ExporterParts) -> None:
    """Look while the first round waits for an answer."""


async def named(parts: ExporterParts) -> None:
    """Wait for the names of configured ids."""
    await until(parts.schedule.all_discovered)


def after(*faults: Mapping[str, Any], turns: float = 600) -> Script:
    """Script these faults after the first round, and poll again."""

    async def script(parts: ExporterParts) -> None:
        for fault in faults:
            parts.faults.add(fault)
        await parts.turn(turns)

    return script


def whole(cause: Cause, targets: Mapping[str, str]) -> dict[tuple[str, str], dict[Cause, None]]:
    """Return the absences of all families of collectors' targets, for one cause."""
    return {(collector, target): {cause: None} for collector, named in targets.items() for target in named.split()}


@dataclass(frozen=True)
class Situation:
    """A situation that causes an absence.

    Attributes:
        name: what happens.
        absent: exactly what should be absent for the collectors and targets in it.
        settings: the settings of the parts.
        script: the steps after the first round.
        words: texts that the evidence of some absence must contain.
    """

    name: str
    absent: Absent
    settings: Mapping[str, Any] = field(default_factory=dict)
    script: Script = settled
    words: tuple[str, ...] = ()


def found(*items: tuple[str, int, str], total: int | None = None) -> dict[str, Any]:
    """Return the settings of an account whose search finds these resources."""
    results = [{"Type": kind, "Id": number, "Name": name} for kind, number, name in items]
    count = len(items) if total is None else total
    return {
        "fault": status("/search", body={"Query": "", "Total": count, "From": 0, "Size": 20, "SearchResults": results})
    }


def statistics(body: object, code: int = 200) -> dict[str, Any]:
    """Return the settings of one zone whose statistics have this answer."""
    return {"account": ONE, "fault": status(STATISTICS, code, body)}


def query(sql: str, token: str = keys.DATABASE_TOKEN_READ_ONLY) -> dict[str, Any]:
    """Return the settings of a database with one query."""
    return {"database": {"auth_token": token, "queries": [{"name": "q", "sql": sql}]}, "account": ONE}


# fmt: off
_OTHERS = " ".join(zone for zone in ZONES if owner(f"main/{zone}", 3) != 0)
_SCAN_FIELDS = prefixed(
    "edge_dns_record_scan_", "created_timestamp_seconds completed_timestamp_seconds records proxied_records")
_SCRIPT_FIELDS = (
    *prefixed("edge_script_monthly_", "cost_dollars requests cpu_seconds"),
    *prefixed("edge_script_", "cost_dollars_total requests_total cpu_seconds_total last_modified_timestamp_seconds"),
    *prefixed("edge_script_", "deleted variables linked_pull_zones"),
)
_LIMIT_FIELDS = prefixed("edge_shield_rate_limit_", "window_breaches_overall window_breaches day_breaches")
_CAPPED = ("edge_dns_window_record_queries", *ROUTED, "edge_dns_routed_queries_total")
_NULLS: dict[str, object] = dict.fromkeys(
    ("TotalQueriesServed", "QueriesServedChart", "NormalQueriesServedChart", "SmartQueriesServedChart"))
_ODD_CHART = {"TotalQueriesServed": 5, "QueriesServedChart": {"yesterday": 5}, "QueriesByTypeChart": {"1": 5}}
_QUERY, _OWN = ("database_queries", "query/orders/q"), ("edge_database_q",)


def envelope(**data: object) -> dict[str, object]:
    """Return an answer's envelope."""
    return {"data": data, "error": None}


BUILT_IN = (
    Situation("a disabled collector", whole(Cause.COLLECTOR_DISABLED, {SCANS: " ".join(ZONES)}),
        {"collectors": {SCANS: {"enabled": False}}}, words=("collectors.dns_record_scans.enabled is false",)),
    Situation("a denied family", {(DNS, zone): {Cause.DENIED: GAUGES[:3]} for zone in ZONES[:2]},
        {"more": {"series": {"deny": ["edge_dns_window_.*"]}}}, words=("series.deny: edge_dns_window_.*",)),
    Situation("a collector all of whose families are denied",
        whole(Cause.DENIED, {SCRIPTS: "script/7 script/8 script/9 script/10"}),
        {"more": {"series": {"deny": ["edge_script_.*"]}}}),
    Situation("a family that is not allowed",
        whole(Cause.NOT_ALLOWED, {SCRIPTS: "script/7 script/8 script/9 script/10"}),
        {"more": {"series": {"allow": ["edge_dns_.*"]}}}, words=("series.allow: edge_dns_.*",)),
    Situation("an include pattern with a typing error",
        whole(Cause.FILTERED, dict.fromkeys((DNS, SCANS), " ".join(ZONES))),
        {"account": {"dns_zones": {"include": ["^prdo-"]}}},
        words=("'prod-shop.example': its name matches no include pattern: ^prdo- (dns_zones)",)),
    Situation("an exclude pattern", whole(Cause.FILTERED, {DNS: "dns_zone/103 dns_zone/108"}),
        {"account": {"dns_zones": {"exclude": ["^staging-"]}}},
        words=("its name matches the exclude pattern ^staging-",)),
    Situation("zones and scripts whose discovery is off",
        whole(Cause.NOT_CONFIGURED, {SCANS: "dns_zone/102", SCRIPTS: "script/*", "discovery": "account/main"}),
        {"account": {"dns_zones": {**OFF, "ids": [101]}, "scripts": OFF}}),
    Situation("kinds that the configuration names none of", whole(Cause.NOT_CONFIGURED,
        {"container_tags": "image/*", "search": "search/*", "shield_access_lists": "access_list/*",
         "shield_waf_custom_rules": "waf_custom_rule/*", "database": "database/*", "database_queries": "query/*"}),
        words=("under images", "under searches", "under databases[].queries")),
    Situation("configured zones of other shards", whole(Cause.OTHER_SHARD, {DNS: _OTHERS, SCANS: _OTHERS}),
        {"account": {**ONE, "dns_zones": {**OFF, "ids": [*range(101, 113)]}},
         "more": {"shard": {"index": 0, "total": 3}}},
        words=tuple(f"shard {number} of 3 polls it; this is 0" for number in (1, 2))),
    Situation("a cap that a target's series would pass", {(DNS, ZONE): {Cause.CAPPED: _CAPPED}},
        {"account": ONE, "more": {"series": {"max_per_family": 1}}}),
    Situation("targets that the complete list does not hold", whole(Cause.NOT_DISCOVERED,
        {DNS: "dns_zone/999", SCANS: "dns_zone/999", SCRIPTS: "script/999", SHIELDS: "shield_zone/999"}),
        words=("the complete list of account main contains no dns_zone 999",)),
    Situation("an account without scripts", whole(Cause.NOT_DISCOVERED, {SCRIPTS: "script/*"}),
        found(("dns", 101, "a.example"))),
    Situation("a configured shield zone that the list does not hold",
        whole(Cause.NOT_DISCOVERED, {SHIELDS: "shield_zone/99"}), {"account": {"shield_zones": {"ids": [99]}}},
        words=("does not contain it",)),
    Situation("a search that fails",
        whole(Cause.DISCOVERY_INCOMPLETE, {DNS: "dns_zone/*", SCANS: "dns_zone/*", SCRIPTS: "script/*"}),
        {"fault": status("/search", 400, "no"), "account": {}}, words=("discovery fails: since", "rejected")),
    Situation("a search whose list is not complete", whole(Cause.DISCOVERY_INCOMPLETE, {SCRIPTS: "script/*"}),
        found(("dns", 101, "a.example"), total=7), words=("fewer resources than its total says",)),
    Situation("a search that fails after a complete one", whole(Cause.DISCOVERY_INCOMPLETE, {DNS: "dns_zone/999"})
        | whole(Cause.NOT_DISCOVERED, {"shield_bot_detection": "shield_zone/999"}), {},
        after(status("/search", 500), turns=900),
        ("discovery fails: since 2026-02-08", "the platform answered 500", "the complete list of account main")),
    Situation("a list of shield zones that fails after a complete one",
        whole(Cause.NOT_DISCOVERED, {DNS: "dns_zone/999"})
        | whole(Cause.DISCOVERY_INCOMPLETE, {"shield_bot_detection": "shield_zone/999"}), {},
        after(status("/shield/shield-zones", 500), turns=900), ("discovery fails: since 2026-02-08",)),
    Situation("a first discovery that has not ended",
        whole(Cause.DISCOVERY_INCOMPLETE, dict.fromkeys((DNS, SCANS), "dns_zone/101 dns_zone/102")),
        {"account": {"dns_zones": {"ids": [101, 102]}, "timeout": 100}, "fault": stall("/search")}, at_once,
        ("it waits for its name: the first discovery has not ended",)),
    Situation("a platform without the list of rate limits",
        whole(Cause.NOT_DISCOVERED, {"shield_rate_limits": "rate_limit/*"}),
        {"fault": status("/shield/metrics/rate-limits/.*", 404)}, words=("the platform has no such list",)),
    Situation("polls that have not ended", whole(Cause.FIRST_POLL, {DNS: ZONE, SCANS: ZONE}),
        {"account": {**ONE, "timeout": 100}, "fault": stall("/dnszone/.*")}, named, ("due at 2026-02-08 12:",)),
    Situation("a key that is refused",
        whole(Cause.KEY_REFUSED, {DNS: ZONE, SCANS: ZONE, "shield_waf_plans": "account/main"}),
        {"account": {**ONE, "api_key": "wrong"}}, words=("unauthorized",)),
    Situation("a key that is refused at discovery", whole(Cause.KEY_REFUSED, {DNS: "dns_zone/*", SCRIPTS: "script/*"}),
        {"account": {"api_key": "wrong"}}),
    Situation("a key that may not read statistics", whole(Cause.KEY_FORBIDDEN, {DNS: " ".join(ZONES)}),
        {"account": {"api_key": keys.POWERLESS_KEY}}, words=("the key is accepted for other calls",)),
    Situation("a call that the platform forbids", whole(Cause.KEY_FORBIDDEN, {SCANS: ZONE}),
        {"fault": status(SCAN, 403)}, words=("forbidden",)),
    Situation("a key that was refused for so long that series were removed",
        whole(Cause.KEY_REFUSED, {DNS: ZONE, SCANS: ZONE}), {"account": ONE}, after(status(".*", 401), turns=4000)),
    Situation("a zone's plan without bot detection, and a guardian that was never set up",
        whole(Cause.NOT_AVAILABLE, dict.fromkeys(("shield_bot_detection", "shield_api_guardian"), "shield_zone/2")),
        words=("The plan has no bot detection. (invalid_plan_type.bot_detection)", "no_configuration")),
    Situation("a zone that was never scanned",
        {(SCANS, "dns_zone/104"): {
            Cause.NEVER_SCANNED: ("edge_dns_record_scan_status", "edge_dns_record_scan_info", *_SCAN_FIELDS)}}),
    Situation("statistics of nulls", {(DNS, ZONE): {Cause.NO_VALUE: GAUGES}}, statistics(_NULLS),
        words=("TotalQueriesServed: null, empty or left out", "not seen since the exporter started")),
    Situation("fields that are left out after they were there", {(DNS, ZONE): {Cause.NO_VALUE: GAUGES[1:]}},
        {"account": ONE}, after(status(STATISTICS, body={"TotalQueriesServed": 5})),
        ("last seen 2026-02-08 12:00:00 UTC", "QueriesByTypeChart: null")),
    Situation("a scan of nulls", {(SCANS, ZONE): {Cause.NO_VALUE: _SCAN_FIELDS}},
        {"account": ONE, "fault": status(SCAN, body={"JobId": "1-2", "ZoneId": 101, "Domain": "a", "Status": 1})}),
    Situation("a script of nulls", {(SCRIPTS, "script/7"): {Cause.NO_VALUE: _SCRIPT_FIELDS}},
        {"fault": status("/compute/script/7", body={"Id": 7, "Name": "router"})}, words=("MonthlyCost: null",)),
    Situation("a rate limit of nulls", {("shield_rate_limits", "rate_limit/7"): {Cause.NO_VALUE: _LIMIT_FIELDS}},
        {"fault": status("/shield/metrics/rate-limit/7", body=envelope(ratelimitOverviewPastTwentyEightDays=None))}),
    Situation("bot detection of nulls", whole(Cause.NO_VALUE, {"shield_bot_detection": "shield_zone/1"}),
        {"fault": status("/shield/shield-zone/1/bot-detection", body=envelope(shieldZoneId=1, requestIntegrity=None))}),
    Situation("a guardian of nulls", whole(Cause.NO_VALUE, {"shield_api_guardian": "shield_zone/1"}),
        {"fault": status("/shield/shield-zone/1/api-guardian", body=envelope(configuration=None, endpoints=None))}),
    Situation("a number that is out of range", whole(Cause.OUT_OF_RANGE, {DNS: ZONE}),
        statistics({"TotalQueriesServed": 2**70}), words=("TotalQueriesServed",)),
    Situation("a chart whose keys are no dates", {(DNS, ZONE): {Cause.OUT_OF_RANGE: DAYS, Cause.NO_VALUE: ROUTED}},
        statistics(_ODD_CHART), words=("QueriesServedChart cannot be read",)),
    *(
        situation
        for reason, fault in {
            "server_error": status(STATISTICS, 500),
            "not_json": status(STATISTICS, 200, "<html>"),
            "wrong_shape": status(STATISTICS, 200, {"TotalQueriesServed": "many"}),
            "reset": {"kind": "reset", "path": STATISTICS},
        }.items()
        for situation in (
            Situation(f"polls that fail: {reason}", whole(Cause.FAILING, {DNS: ZONE}), {"account": ONE, "fault": fault},
                words=(reason, "no success yet")),
            Situation(f"series that were removed: {reason}", whole(Cause.STALE, {DNS: ZONE}), {"account": ONE},
                after(fault, turns=4000), (reason, "series withdrawn at", "last success 2026-02-08 12:00:00 UTC")),
        )
    ),
    Situation("a zone that does not exist", whole(Cause.FAILING, dict.fromkeys((DNS, SCANS), "dns_zone/999")),
        {"account": {**ONE, "dns_zones": {**OFF, "ids": [999]}}}, after(), ("not_found",)),
    Situation("a list that fails",
        whole(Cause.STALE, {SHIELDS: "shield_zone/1 shield_zone/2 shield_zone/3 account/main"}), {},
        after(status("/shield/shield-zones", 500), turns=4000), ("server_error",)),
    Situation("a failing target whose last values are still served", {(DNS, ZONE): {}}, {"account": ONE},
        after(status(STATISTICS, 500), turns=300)),
    Situation("a query without a row", {_QUERY: {Cause.NO_ROW: _OWN}}, query("SELECT 1 AS value WHERE 0"),
        words=("the query q returned 0 rows",)),
    Situation("a query whose value is NULL", {_QUERY: {Cause.NO_VALUE: _OWN}}, query("SELECT NULL AS value"),
        words=("value is NULL or no finite number in all 1 rows",)),
    Situation("a query that fails", {_QUERY: {Cause.FAILING: None}}, query("SELECT x FROM nowhere"), words=("sql",)),
    Situation("a query whose value is text", {_QUERY: {Cause.FAILING: None}}, query("SELECT 'x' AS value"),
        words=("text",)),
    Situation("a token that is refused", {_QUERY: {Cause.KEY_REFUSED: None}, ("database", "database/orders"): {}},
        query("SELECT 1 AS value", "wrong")),
    # The test's folder has a folder of that name, which is no state file.
    Situation("a ledger that cannot write", {(DNS, ZONE): {Cause.LEDGER: COUNTERS}},
        {"account": ONE, "more": {"state": {"path": "state.db"}}}, words=("writing ", "/state.db fails: ")),
)

# Configured endpoints: what differs from built-in collectors, namely their lists and their expressions.
_LIMIT, _INFO, _PARTS = "edge_pull_zone_limit_bytes", "edge_pull_zone_info", "edge_pull_zone_parts"
_METRICS = (
    {"name": _LIMIT, "help": "Bytes that it may serve.", "value": "Limit"},
    {"name": _INFO, "help": "What it is.", "info": {"tier": "Type"}},
    {"name": _PARTS, "help": "Parts.", "value": "{a: A, b: B}", "label": "part"},
)
_GOOD = {"Limit": 7, "Type": "edge", "A": 1, "B": 2}
_ITEMS = [{"Id": number, "Name": f"zone {number}"} for number in (501, 502, 503)]
_ALONE: Mapping[str, object] = {"dns_zones": OFF, "scripts": OFF, "shield_zones": {**OFF, "rate_limits": False}}
_ENDPOINT = {
    "name": "pull_zones", "path": "/pullzone/{id}", "label": "pull_zone", "interval": "5m", "metrics": list(_METRICS),
    "each": {"list": "/pullzone", "items": "Items", "id": "Id", "name": "Name"},
}
_DETAILS = {
    "name": "details", "path": "/pullzone/{id}", "kind": "pull_zone", "metrics": [{"name": "edge_z", "value": "Z"}],
}
_SWITCHED_OFF = {"collectors": {"pull_zones": {"enabled": False}}}
# After the first round, the zones have good answers.
_WELL = after(status("/pullzone/[0-9]+", body=_GOOD))


def configured(*endpoints: Mapping[str, object], **settings: Any) -> dict[str, Any]:
    """Return settings of the parts with the endpoint of pull zones, and with others."""
    return {"account": _ALONE, "more": {"endpoints": [_ENDPOINT, *endpoints]}, **settings}


def listed(body: object, code: int = 200) -> dict[str, Any]:
    """Return the settings where the list of pull zones has this answer."""
    return configured(fault=status("/pullzone", code, body))


CONFIGURED = (
    Situation("an endpoint that is disabled",
        whole(Cause.COLLECTOR_DISABLED, {"pull_zones": "pull_zone/*", "details": "pull_zone/*"}),
        configured(_DETAILS, **_SWITCHED_OFF), words=("collectors.pull_zones.enabled is false",)),
    Situation("a zone that the endpoint's complete list does not hold",
        whole(Cause.NOT_DISCOVERED, {"pull_zones": "pull_zone/999"}), configured(),
        words=("the complete list of account main contains no pull_zone 999",)),
    Situation("an endpoint whose list is empty", whole(Cause.NOT_DISCOVERED, {"pull_zones": "pull_zone/*"}),
        listed({"Items": []})),
    Situation("an endpoint whose list fails", whole(Cause.DISCOVERY_INCOMPLETE, {"pull_zones": "pull_zone/*"}),
        listed("no", 400), words=("the list pull_zones_list fails: since", "rejected")),
    Situation("an endpoint whose list fails after a complete one",
        whole(Cause.DISCOVERY_INCOMPLETE, {"pull_zones": "pull_zone/999"}), configured(),
        after(status("/pullzone", 500), turns=900), ("the list pull_zones_list fails: since",)),
    Situation("an endpoint whose list has items that cannot be polled",
        whole(Cause.NOT_DISCOVERED, {"pull_zones": "pull_zone/999"}),
        listed({"Items": [*_ITEMS, *({"Id": one} for one in (0, 0, ".", "x" * 201))]})),
    Situation("an endpoint whose list is not there", whole(Cause.DISCOVERY_INCOMPLETE, {"pull_zones": "pull_zone/*"}),
        listed("", 404), words=("not_found",)),
    Situation("an endpoint whose list has no items where they are declared",
        whole(Cause.DISCOVERY_INCOMPLETE, {"pull_zones": "pull_zone/*"}), listed({"items": _ITEMS}),
        words=("the list has no items at Items",)),
    Situation("an endpoint whose list has items without an id",
        whole(Cause.DISCOVERY_INCOMPLETE, {"pull_zones": "pull_zone/999"}),
        listed({"Items": [*_ITEMS, {"Name": "none"}]}), words=("is not complete",)),
    Situation("an endpoint whose first list has not ended",
        whole(Cause.DISCOVERY_INCOMPLETE, {"pull_zones": "pull_zone/*"}),
        configured(fault=stall("/pullzone"), account={**_ALONE, "timeout": 100}), at_once,
        ("the first list of pull_zones_list has not ended",)),
    Situation("a key that is refused where an endpoint's list is asked",
        whole(Cause.KEY_REFUSED, {"pull_zones": "pull_zone/*"}), configured(account={**_ALONE, "api_key": "wrong"}),
        words=("unauthorized",)),
    Situation("a key that may not read an endpoint's list", whole(Cause.KEY_FORBIDDEN, {"pull_zones": "pull_zone/*"}),
        configured(account={}, fault=status("/pullzone", 401)), words=("the key is accepted for other calls",)),
    Situation("a target of an endpoint that answers 404",
        whole(Cause.FAILING, {"pull_zones": "pull_zone/501"}) | {("pull_zones", "pull_zone/502"): {}},
        configured(fault=status("/pullzone/501", 404)), _WELL, ("not_found", "no success yet")),
    Situation("an endpoint whose value is of a wrong type", whole(Cause.FAILING, {"pull_zones": "pull_zone/501"}),
        configured(fault=status("/pullzone/501", body={**_GOOD, "Limit": "7"})), _WELL, ("wrong_shape", _LIMIT)),
    Situation("a value that no number can hold", whole(Cause.OUT_OF_RANGE, {"pull_zones": "pull_zone/501"}),
        configured(fault=status("/pullzone/501", body={**_GOOD, "Limit": 10**400})), _WELL, (_LIMIT,)),
    Situation("an endpoint's fields that are left out",
        {("pull_zones", "pull_zone/501"): {Cause.NO_VALUE: (_LIMIT, _INFO)}}, configured(),
        after(status("/pullzone/501", body={"A": 1, "B": 2})), ("Limit:", "Type:")),
    Situation("an endpoint's fields that are null",
        {("pull_zones", "pull_zone/501"): {Cause.NO_VALUE: (_LIMIT, _INFO, _PARTS)}}, configured(),
        after(status("/pullzone/501", body=dict.fromkeys(_GOOD))), ("{a: A, b: B}:",)),
)
