"""Absences that are caused on the sandbox, each with its expected cause."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exporter.collectors.causes import Cause
from exporter.sandbox import keys
from exporter.targets.sharding import Shard, owner
from tests.exporter_parts import ExporterParts
from tests.waiting import until

ZONES = tuple(f"dns_zone/{number}" for number in range(101, 113))
SCRIPTS = tuple(f"script/{number}" for number in range(7, 11))
SHIELDS = tuple(f"shield_zone/{number}" for number in (1, 2, 3))

# (collector, target) → cause → the families that are absent for it; None stands for all of the target.
Absent = Mapping[tuple[str, str], Mapping[Cause, tuple[str, ...] | None]]
Script = Callable[[ExporterParts], Awaitable[None]]

DNS = "dns_statistics"
SCANS = "dns_record_scans"
COUNTERS = ("edge_dns_queries_total", "edge_dns_routed_queries_total")
GAUGES = (
    "edge_dns_window_queries",
    "edge_dns_window_record_queries",
    "edge_dns_window_routed_queries",
    "edge_dns_day_queries",
    "edge_dns_day_routed_queries",
    "edge_dns_day_start_timestamp_seconds",
)
STATISTICS_101 = "/dnszone/101/statistics"
SCAN_101 = "/dnszone/101/records/scan"
ONE_ZONE: Mapping[str, object] = {
    "dns_zones": {"discover": False, "ids": [101]},
    "scripts": {"discover": False},
    "shield_zones": {"discover": False},
}


async def nothing(_parts: ExporterParts) -> None:
    """Do nothing after the first round."""


def status(path: str, code: int = 200, body: object = "") -> dict[str, Any]:
    """Return a fault that answers a path with a status and a body: text, or any other value as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {"kind": "status", "path_regex": path, "status": code, "body": text, "content_type": "application/json"}


def after(*faults: Mapping[str, Any], turns: float = 600) -> Script:
    """Script these faults after the first round, and poll again."""

    async def script(exporter_parts: ExporterParts) -> None:
        for fault in faults:
            exporter_parts.faults.add(fault)
        await exporter_parts.turn(turns)

    return script


def whole(cause: Cause, collector: str, *targets: str) -> dict[tuple[str, str], dict[Cause, None]]:
    """Return the absences of all families of these targets, for one cause."""
    return {(collector, target): {cause: None} for target in targets}


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
    script: Script = nothing
    words: tuple[str, ...] = ()


def situations(folder: Path) -> list[Situation]:
    """Return every situation.

    Args:
        folder: contains a folder named state.db, which is not a state file.
    """
    return [*_configured(), *_found(), *_keys(), *_answers(), *_failing(), *_databases(), *_ledger(folder)]


def _configured() -> list[Situation]:
    deny = {"series": {"deny": ["edge_dns_window_.*"]}}
    window = GAUGES[:3]
    off = {"dns_zones": {"discover": False, "ids": [101]}, "scripts": {"discover": False}}
    three = Shard(0, 3)
    fixed = {**ONE_ZONE, "dns_zones": {"discover": False, "ids": list(range(101, 113))}}
    others = [zone for zone in ZONES if owner(f"main/{zone}", 3) != 0]
    return [
        Situation(
            "a disabled collector",
            whole(Cause.COLLECTOR_DISABLED, SCANS, *ZONES),
            {"collectors": {SCANS: {"enabled": False}}},
            words=("collectors.dns_record_scans.enabled is false",),
        ),
        Situation(
            "a denied family",
            {(DNS, "dns_zone/101"): {Cause.DENIED: window}, (DNS, "dns_zone/102"): {Cause.DENIED: window}},
            {"more": deny},
            words=("series.deny: edge_dns_window_.*",),
        ),
        Situation(
            "a collector all of whose families are denied",
            whole(Cause.DENIED, "scripts", *SCRIPTS),
            {"more": {"series": {"deny": ["edge_script_.*"]}}},
        ),
        Situation(
            "a family that is not allowed",
            whole(Cause.NOT_ALLOWED, "scripts", *SCRIPTS),
            {"more": {"series": {"allow": ["edge_dns_.*"]}}},
            words=("series.allow: edge_dns_.*",),
        ),
        Situation(
            "an include pattern with a typing error",
            whole(Cause.FILTERED, DNS, *ZONES) | whole(Cause.FILTERED, SCANS, *ZONES),
            {"account": {"dns_zones": {"include": ["^prdo-"]}}},
            words=("'prod-shop.example': its name matches no include pattern: ^prdo- (dns_zones)",),
        ),
        Situation(
            "an exclude pattern",
            whole(Cause.FILTERED, DNS, "dns_zone/103", "dns_zone/108"),
            {"account": {"dns_zones": {"exclude": ["^staging-"]}}},
            words=("its name matches the exclude pattern ^staging-",),
        ),
        Situation(
            "zones and scripts whose discovery is off",
            whole(Cause.NOT_CONFIGURED, SCANS, *ZONES[1:2])
            | whole(Cause.NOT_CONFIGURED, "scripts", "script/*")
            | whole(Cause.NOT_CONFIGURED, "discovery", "account/main"),
            {"account": off},
        ),
        Situation(
            "kinds that the configuration names none of",
            whole(Cause.NOT_CONFIGURED, "container_tags", "image/*")
            | whole(Cause.NOT_CONFIGURED, "search", "search/*")
            | whole(Cause.NOT_CONFIGURED, "shield_access_lists", "access_list/*")
            | whole(Cause.NOT_CONFIGURED, "shield_waf_custom_rules", "waf_custom_rule/*")
            | whole(Cause.NOT_CONFIGURED, "database", "database/*")
            | whole(Cause.NOT_CONFIGURED, "database_queries", "query/*"),
            words=("under images", "under searches", "under databases[].queries"),
        ),
        Situation(
            "configured zones of other shards",
            whole(Cause.OTHER_SHARD, DNS, *others) | whole(Cause.OTHER_SHARD, SCANS, *others),
            {"account": fixed, "shard": three},
            words=tuple(f"shard {number} of 3 polls it; this is 0" for number in (1, 2)),
        ),
        Situation(
            "a cap that a target's series would pass",
            {
                (DNS, "dns_zone/101"): {
                    Cause.CAPPED: (
                        "edge_dns_window_record_queries",
                        "edge_dns_window_routed_queries",
                        "edge_dns_day_routed_queries",
                        "edge_dns_routed_queries_total",
                    )
                }
            },
            {"account": ONE_ZONE, "more": {"series": {"max_per_family": 1}}},
        ),
    ]


def _found() -> list[Situation]:
    def lists(*items: tuple[str, int, str], total: int | None = None) -> dict[str, Any]:
        results = [{"Type": kind, "Id": number, "Name": name} for kind, number, name in items]
        count = len(items) if total is None else total
        return {"Query": "", "Total": count, "From": 0, "Size": 20, "SearchResults": results}

    return [
        Situation(
            "targets that the complete list does not hold",
            whole(Cause.NOT_DISCOVERED, DNS, "dns_zone/999")
            | whole(Cause.NOT_DISCOVERED, SCANS, "dns_zone/999")
            | whole(Cause.NOT_DISCOVERED, "scripts", "script/999")
            | whole(Cause.NOT_DISCOVERED, "shield_zones", "shield_zone/999"),
            words=("the complete list of account main contains no dns_zone 999",),
        ),
        Situation(
            "an account without scripts",
            whole(Cause.NOT_DISCOVERED, "scripts", "script/*"),
            {"fault": status("/search", body=lists(("dns", 101, "a.example")))},
            _settled,
        ),
        Situation(
            "a configured shield zone that the list does not hold",
            whole(Cause.NOT_DISCOVERED, "shield_zones", "shield_zone/99"),
            {"account": {"shield_zones": {"ids": [99]}}},
            words=("does not contain it",),
        ),
        Situation(
            "a search that fails",
            whole(Cause.DISCOVERY_INCOMPLETE, DNS, "dns_zone/*")
            | whole(Cause.DISCOVERY_INCOMPLETE, SCANS, "dns_zone/*")
            | whole(Cause.DISCOVERY_INCOMPLETE, "scripts", "script/*"),
            {"fault": status("/search", 400, "no"), "account": {}},
            _settled,
            words=("discovery fails: since", "rejected"),
        ),
        Situation(
            "a search whose list is not complete",
            whole(Cause.DISCOVERY_INCOMPLETE, "scripts", "script/*"),
            {"fault": status("/search", body=lists(("dns", 101, "a.example"), total=7))},
            _settled,
            words=("fewer resources than its total says",),
        ),
        Situation(
            "a search that fails after a complete one",
            whole(Cause.DISCOVERY_INCOMPLETE, DNS, "dns_zone/999")
            | whole(Cause.NOT_DISCOVERED, "shield_bot_detection", "shield_zone/999"),
            script=after(status("/search", 500), turns=900),
            words=(
                "discovery fails: since 2026-02-08",
                "the platform answered 500",
                "the complete list of account main",
            ),
        ),
        Situation(
            "a list of shield zones that fails after a complete one",
            whole(Cause.NOT_DISCOVERED, DNS, "dns_zone/999")
            | whole(Cause.DISCOVERY_INCOMPLETE, "shield_bot_detection", "shield_zone/999"),
            script=after(status("/shield/shield-zones", 500), turns=900),
            words=("discovery fails: since 2026-02-08",),
        ),
        Situation(
            "a first discovery that has not ended",
            whole(Cause.DISCOVERY_INCOMPLETE, DNS, "dns_zone/101", "dns_zone/102")
            | whole(Cause.DISCOVERY_INCOMPLETE, SCANS, "dns_zone/101", "dns_zone/102"),
            {
                "account": {"dns_zones": {"ids": [101, 102]}, "timeout": 100},
                "fault": {"kind": "stall", "path": "/search", "point": "start"},
            },
            words=("it waits for its name: the first discovery has not ended",),
        ),
        Situation(
            "a platform without the list of rate limits",
            whole(Cause.NOT_DISCOVERED, "shield_rate_limits", "rate_limit/*"),
            {"fault": status("/shield/metrics/rate-limits/.*", 404)},
            _settled,
            words=("the platform has no such list",),
        ),
        Situation(
            "polls that have not ended",
            whole(Cause.FIRST_POLL, DNS, "dns_zone/101") | whole(Cause.FIRST_POLL, SCANS, "dns_zone/101"),
            {
                "account": {**ONE_ZONE, "timeout": 100},
                "fault": {"kind": "stall", "path_regex": "/dnszone/.*", "point": "start"},
            },
            _named,
            words=("due at 2026-02-08 12:",),
        ),
    ]


async def _named(exporter_parts: ExporterParts) -> None:
    """Wait for the names of configured ids."""
    await until(exporter_parts.schedule.all_discovered)


async def _settled(exporter_parts: ExporterParts) -> None:
    """Wait for the first round."""
    await exporter_parts.settle()


def _keys() -> list[Situation]:
    return [
        Situation(
            "a key that is refused",
            whole(Cause.KEY_REFUSED, DNS, "dns_zone/101")
            | whole(Cause.KEY_REFUSED, SCANS, "dns_zone/101")
            | whole(Cause.KEY_REFUSED, "shield_waf_plans", "account/main"),
            {"account": {**ONE_ZONE, "api_key": "wrong"}},
            words=("unauthorized",),
        ),
        Situation(
            "a key that is refused at discovery",
            whole(Cause.KEY_REFUSED, DNS, "dns_zone/*") | whole(Cause.KEY_REFUSED, "scripts", "script/*"),
            {"account": {"api_key": "wrong"}},
        ),
        Situation(
            "a key that may not read statistics",
            whole(Cause.KEY_FORBIDDEN, DNS, *ZONES),
            {"account": {"api_key": keys.POWERLESS_KEY}},
            words=("the key is accepted for other calls",),
        ),
        Situation(
            "a call that the platform forbids",
            whole(Cause.KEY_FORBIDDEN, SCANS, "dns_zone/101"),
            {"fault": status(SCAN_101, 403)},
            _settled,
            words=("forbidden",),
        ),
        Situation(
            "a key that was refused for so long that series were removed",
            whole(Cause.KEY_REFUSED, DNS, "dns_zone/101") | whole(Cause.KEY_REFUSED, SCANS, "dns_zone/101"),
            {"account": ONE_ZONE},
            after(status(".*", 401), turns=4000),
        ),
    ]


NULL_SCRIPT = {"Id": 7, "Name": "router"}
SCRIPT_FAMILIES = (
    "edge_script_monthly_cost_dollars",
    "edge_script_monthly_requests",
    "edge_script_monthly_cpu_seconds",
    "edge_script_cost_dollars_total",
    "edge_script_requests_total",
    "edge_script_cpu_seconds_total",
    "edge_script_last_modified_timestamp_seconds",
    "edge_script_deleted",
    "edge_script_variables",
    "edge_script_linked_pull_zones",
)


def _answers() -> list[Situation]:
    nulls = dict.fromkeys(
        ("TotalQueriesServed", "QueriesServedChart", "NormalQueriesServedChart", "SmartQueriesServedChart"), None
    )
    scan = {"JobId": "1-2", "ZoneId": 101, "Domain": "a", "Status": 1}
    scan_nulls = tuple(
        f"edge_dns_record_scan_{name}"
        for name in ("created_timestamp_seconds", "completed_timestamp_seconds", "records", "proxied_records")
    )
    unreadable = {"TotalQueriesServed": 5, "QueriesServedChart": {"yesterday": 5}, "QueriesByTypeChart": {"1": 5}}
    limit = {"data": {"overview": None, "ratelimitOverviewPastTwentyEightDays": None}, "error": None}
    bots = {"data": {"shieldZoneId": 1, "requestIntegrity": None, "browserFingerprint": None}, "error": None}
    guardian = {"data": {"configuration": None, "endpoints": None}, "error": None}
    return [
        Situation(
            "a zone's plan without bot detection, and a guardian that was never set up",
            whole(Cause.NOT_AVAILABLE, "shield_bot_detection", "shield_zone/2")
            | whole(Cause.NOT_AVAILABLE, "shield_api_guardian", "shield_zone/2"),
            words=("The plan has no bot detection. (invalid_plan_type.bot_detection)", "no_configuration"),
        ),
        Situation(
            "a zone that was never scanned",
            {
                (SCANS, "dns_zone/104"): {
                    Cause.NEVER_SCANNED: (
                        *("edge_dns_record_scan_status", "edge_dns_record_scan_info"),
                        *scan_nulls,
                    )
                }
            },
        ),
        Situation(
            "statistics of nulls",
            {(DNS, "dns_zone/101"): {Cause.NO_VALUE: GAUGES}},
            {"account": ONE_ZONE, "fault": status(STATISTICS_101, body=nulls)},
            _settled,
            words=("TotalQueriesServed: null, empty or left out", "not seen since the exporter started"),
        ),
        Situation(
            "fields that are left out after they were there",
            {(DNS, "dns_zone/101"): {Cause.NO_VALUE: GAUGES[1:]}},
            {"account": ONE_ZONE},
            after(status(STATISTICS_101, body={"TotalQueriesServed": 5})),
            words=("last seen 2026-02-08 12:00:00 UTC", "QueriesByTypeChart: null"),
        ),
        Situation(
            "a scan of nulls",
            {(SCANS, "dns_zone/101"): {Cause.NO_VALUE: scan_nulls}},
            {"account": ONE_ZONE, "fault": status(SCAN_101, body=scan)},
            _settled,
        ),
        Situation(
            "a script of nulls",
            {("scripts", "script/7"): {Cause.NO_VALUE: SCRIPT_FAMILIES}},
            {"fault": status("/compute/script/7", body=NULL_SCRIPT)},
            _settled,
            words=("MonthlyCost: null",),
        ),
        Situation(
            "a rate limit of nulls",
            {
                ("shield_rate_limits", "rate_limit/7"): {
                    Cause.NO_VALUE: (
                        "edge_shield_rate_limit_window_breaches_overall",
                        "edge_shield_rate_limit_window_breaches",
                        "edge_shield_rate_limit_day_breaches",
                    )
                }
            },
            {"fault": status("/shield/metrics/rate-limit/7", body=limit)},
            _settled,
        ),
        Situation(
            "bot detection and a guardian of nulls",
            whole(Cause.NO_VALUE, "shield_bot_detection", "shield_zone/1"),
            {"fault": status("/shield/shield-zone/1/bot-detection", body=bots)},
            _settled,
        ),
        Situation(
            "a guardian of nulls",
            whole(Cause.NO_VALUE, "shield_api_guardian", "shield_zone/1"),
            {"fault": status("/shield/shield-zone/1/api-guardian", body=guardian)},
            _settled,
        ),
        Situation(
            "a number that is out of range",
            whole(Cause.OUT_OF_RANGE, DNS, "dns_zone/101"),
            {"account": ONE_ZONE, "fault": status(STATISTICS_101, body={"TotalQueriesServed": 2**70})},
            _settled,
            words=("TotalQueriesServed",),
        ),
        Situation(
            "a chart whose keys are no dates",
            {
                (DNS, "dns_zone/101"): {
                    Cause.OUT_OF_RANGE: ("edge_dns_day_queries", "edge_dns_day_start_timestamp_seconds"),
                    Cause.NO_VALUE: ("edge_dns_window_routed_queries", "edge_dns_day_routed_queries"),
                }
            },
            {"account": ONE_ZONE, "fault": status(STATISTICS_101, body=unreadable)},
            _settled,
            words=("QueriesServedChart cannot be read",),
        ),
    ]


def _failing() -> list[Situation]:
    kinds: dict[str, dict[str, Any]] = {
        "server_error": status(STATISTICS_101, 500),
        "rejected": status(STATISTICS_101, 400),
        "rate_limited": status(STATISTICS_101, 429),
        "not_json": status(STATISTICS_101, 200, "<html>"),
        "wrong_shape": status(STATISTICS_101, 200, {"TotalQueriesServed": "many"}),
        "reset": {"kind": "reset", "path": STATISTICS_101},
    }
    failing = [
        Situation(
            f"polls that fail: {reason}",
            whole(Cause.FAILING, DNS, "dns_zone/101"),
            {"account": ONE_ZONE, "fault": fault},
            _settled,
            words=(reason, "no success yet"),
        )
        for reason, fault in kinds.items()
    ]
    stale = [
        Situation(
            f"series that were removed: {reason}",
            whole(Cause.STALE, DNS, "dns_zone/101"),
            {"account": ONE_ZONE},
            after(fault, turns=4000),
            words=(reason, "series withdrawn at", "last success 2026-02-08 12:00:00 UTC"),
        )
        for reason, fault in kinds.items()
    ]
    return [
        *failing,
        *stale,
        Situation(
            "a zone that does not exist",
            whole(Cause.FAILING, DNS, "dns_zone/999") | whole(Cause.FAILING, SCANS, "dns_zone/999"),
            {"account": {**ONE_ZONE, "dns_zones": {"discover": False, "ids": [999]}}},
            after(turns=600),
            words=("not_found",),
        ),
        Situation(
            "a list that fails",
            whole(Cause.STALE, "shield_zones", *SHIELDS) | whole(Cause.STALE, "shield_zones", "account/main"),
            {},
            after(status("/shield/shield-zones", 500), turns=4000),
            words=("server_error",),
        ),
        Situation(
            "a failing target whose last values are still served",
            {(DNS, "dns_zone/101"): {}},
            {"account": ONE_ZONE},
            after(status(STATISTICS_101, 500), turns=300),
        ),
    ]


def _databases() -> list[Situation]:
    def query(sql: str) -> dict[str, Any]:
        asked = {"name": "q", "sql": sql, "value": "value"}
        token = keys.DATABASE_TOKEN_READ_ONLY
        return {"database": {"auth_token": token, "queries": [asked]}, "account": ONE_ZONE}

    own, target = "edge_database_q", ("database_queries", "query/orders/q")
    return [
        Situation(
            "a query without a row",
            {target: {Cause.NO_ROW: (own,)}},
            query("SELECT 1 AS value WHERE 0"),
            words=("the query q returned 0 rows",),
        ),
        Situation(
            "a query whose value is NULL",
            {target: {Cause.NO_VALUE: (own,)}},
            query("SELECT NULL AS value"),
            words=("value is NULL or no finite number in all 1 rows",),
        ),
        Situation(
            "a query that fails", {target: {Cause.FAILING: None}}, query("SELECT x FROM nowhere"), words=("sql",)
        ),
        Situation(
            "a query whose value is text",
            {target: {Cause.FAILING: None}},
            query("SELECT 'x' AS value"),
            words=("text",),
        ),
        Situation(
            "a token that is refused",
            {target: {Cause.KEY_REFUSED: None}, ("database", "database/orders"): {}},
            {"database": {**query("SELECT 1 AS value")["database"], "auth_token": "wrong"}, "account": ONE_ZONE},
        ),
    ]


def _ledger(folder: Path) -> list[Situation]:
    return [
        Situation(
            "a ledger that cannot write",
            {(DNS, "dns_zone/101"): {Cause.LEDGER: COUNTERS}},
            {"account": ONE_ZONE, "state": folder / "state.db"},
            words=("writing", "fails: "),
        ),
    ]
