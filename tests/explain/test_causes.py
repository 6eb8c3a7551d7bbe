"""Brings about absences on the sandbox, and compares each family's reported cause with the script."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from exporter.explain.causes import Cause
from exporter.sandbox import keys
from exporter.targets.sharding import owner
from tests.exporter_parts import ExporterParts, exporter_parts

# (collector, target) → cause → the families that are absent for it; None stands for all of the target.
Absent = Mapping[tuple[str, str], Mapping[Cause, tuple[str, ...] | None]]
Script = Callable[[ExporterParts], Awaitable[None]]

ASKED, YET, FAILING, NONE = Cause.NOT_ASKED_FOR, Cause.NOT_POLLED_YET, Cause.FAILING, Cause.PLATFORM_HAS_NONE
DNS, SCANS, SCRIPTS, SHIELDS = "dns_statistics", "dns_record_scans", "scripts", "shield_zones"
ZONE, ZONES = "dns_zone/101", tuple(f"dns_zone/{number}" for number in range(101, 113))
EVERY_SCRIPT = "script/7 script/8 script/9 script/10"
CHANGED = "edge_dns_statistics_changed_timestamp_seconds"
COUNTERS = ("edge_dns_queries_total", "edge_dns_routed_queries_total", CHANGED)
WINDOW = tuple(f"edge_dns_window_{name}" for name in ("queries", "record_queries", "routed_queries"))
DAY = tuple(f"edge_dns_day_{name}" for name in ("queries", "routed_queries", "start_timestamp_seconds"))
GAUGES = (*WINDOW, *DAY, CHANGED)
_OF_SCAN = ("status", "created_timestamp_seconds", "completed_timestamp_seconds", "records", "proxied_records", "info")
SCAN = tuple(f"edge_dns_record_scan_{name}" for name in _OF_SCAN)
STATISTICS, OFF = "/dnszone/101/statistics", {"discover": False}
ONE: Mapping[str, object] = {"dns_zones": {**OFF, "ids": [101]}, "scripts": OFF, "shield_zones": OFF}
QUERY = ("database_queries", "query/orders/q")


def status(path: str, code: int = 200, body: object = "") -> dict[str, Any]:
    """Return a fault that answers a path with a status and a body: text, or any other value as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    return {"kind": "status", "path_regex": path, "status": code, "body": text, "content_type": "application/json"}


def stall(path: str) -> dict[str, Any]:
    """Return a fault that gives no answer."""
    return {"kind": "stall", "path_regex": path, "point": "start"}


def query(sql: str) -> dict[str, Any]:
    """Return the settings of a database with one query."""
    token = keys.DATABASE_TOKEN_READ_ONLY
    return {"database": {"auth_token": token, "queries": [{"name": "q", "sql": sql}]}, "account": ONE}


async def at_once(_parts: ExporterParts) -> None:
    """Look while the first round waits for an answer."""


def after(fault: Mapping[str, Any], turns: float = 600) -> Script:
    """Script a fault after the first round, and poll again."""

    async def script(parts: ExporterParts) -> None:
        parts.faults.add(fault)
        await parts.turn(turns)

    return script


def whole(cause: Cause, targets: Mapping[str, str]) -> dict[tuple[str, str], dict[Cause, None]]:
    """Return the absences of all families of collectors' targets, for one cause."""
    return {(collector, target): {cause: None} for collector, named in targets.items() for target in named.split()}


@dataclass(frozen=True)
class Situation:
    """A situation that causes absences.

    Attributes:
        absent: exactly what should be absent for the collectors and targets in it.
        settings: the settings of the parts.
        script: the steps after the first round.
        words: texts that some absence must contain.
    """

    name: str
    absent: Absent
    settings: Mapping[str, Any] = field(default_factory=dict)
    script: Script = ExporterParts.settle
    words: tuple[str, ...] = ()


async def expired(parts: ExporterParts) -> None:
    parts.clock.now += 4000
    parts.store.expire()


async def one_after_the_other(parts: ExporterParts) -> None:
    for zone, seconds in ((102, 600), (101, 4000)):
        await after(status(f"/dnszone/{zone}/statistics", 500), turns=seconds)(parts)


# fmt: off
SITUATIONS = (
    Situation("a disabled collector", whole(ASKED, {SCANS: " ".join(ZONES)}),
        {"collectors": {SCANS: {"enabled": False}}},
        words=("not asked for: collectors.dns_record_scans.enabled: is false",)),
    Situation("a denied family", {(DNS, zone): {ASKED: WINDOW} for zone in ZONES[:2]},
        {"more": {"series": {"deny": ["edge_x", "edge_dns_window_.*"]}}},
        words=("series.deny[1]: leaves the family out",)),
    Situation("label values beyond the bound",
        {(DNS, ZONE): {ASKED: ("edge_dns_window_record_queries", "edge_dns_window_routed_queries",
                               "edge_dns_day_routed_queries", "edge_dns_routed_queries_total")},
         (SCANS, ZONE): {ASKED: ("edge_dns_record_scan_status", "edge_dns_record_scan_records")}},
        {"account": ONE, "more": {"series": {"max_label_values": 1}}},
        words=("series.max_label_values: leaves out label values of the family",)),
    Situation("a family that is not allowed", whole(ASKED, {SCRIPTS: EVERY_SCRIPT}),
        {"more": {"series": {"allow": ["edge_dns_.*"]}}}, words=("series.allow: leaves the family out",)),
    Situation("a typing error in include", whole(ASKED, dict.fromkeys((DNS, SCANS), " ".join(ZONES)))
        | {(DNS, "dns_zone/*"): {}}, {"account": {"dns_zones": {"include": ["^prdo-"]}}},
        words=("accounts[0].dns_zones.include: leaves the target out",)),
    Situation("an exclude pattern", whole(ASKED, {DNS: "dns_zone/103 dns_zone/108"}),
        {"account": {"dns_zones": {"exclude": ["^x", "^staging-"]}}},
        words=("accounts[0].dns_zones.exclude[1]: leaves the target out",)),
    Situation("an account that searches nothing", whole(ASKED, {SCRIPTS: "script/*", "discovery": "account/main"}),
        {"account": {"dns_zones": {**OFF, "ids": [101]}, "scripts": OFF}}),
    Situation("kinds that the configuration names none of", whole(ASKED,
        {"container_tags": "image/*", "search": "search/*", "shield_access_lists": "access_list/*",
         "shield_waf_custom_rules": "waf_custom_rule/*", "database": "database/*", "database_queries": "query/*"}),
        words=("accounts[0].images: names no", "accounts[0].searches: names no", "databases: names no")),
    Situation("a disabled discovery", whole(ASKED, {SCRIPTS: "script/*"}),
        {"collectors": {"discovery": {"enabled": False}}}, words=("collectors.discovery.enabled: is false",)),
    Situation("an account without scripts", whole(NONE, {SCRIPTS: "script/*"}),
        {"fault": status("/search", body={"Total": 1, "From": 0, "Size": 20, "SearchResults": [
            {"Type": "dns", "Id": 101, "Name": "a.example"}]})}, words=("the list contains no such target",)),
    Situation("a configured shield zone that the list does not hold",
        whole(NONE, {SHIELDS: "shield_zone/99"}), {"account": {"shield_zones": {"ids": [99]}}},
        words=("the list contains no such target",)),
    Situation("a search that fails",
        whole(FAILING, {DNS: "dns_zone/*", SCANS: "dns_zone/*", SCRIPTS: "script/*"}),
        {"fault": status("/search", 400, "no"), "account": {}}, words=("failing since 2026-02-08 12:00", "rejected")),
    Situation("a first discovery that has not ended", whole(YET, {DNS: ZONE, SCANS: ZONE, SCRIPTS: "script/*"}),
        {"account": {"dns_zones": {"ids": [101]}, "timeout": 100}, "fault": stall("/search")}, at_once,
        ("not polled yet",)),
    Situation("a key that is refused", whole(FAILING, {DNS: ZONE, SCANS: ZONE, "shield_waf_plans": "account/main"}),
        {"account": {**ONE, "api_key": "wrong"}}, lambda parts: parts.turn(30),  # names are waited for so long
        ("failing since 2026-02-08 12:00:30 UTC: unauthorized: ",)),
    Situation("a zone's plan without bot detection, and a guardian that was never set up",
        whole(NONE, dict.fromkeys(("shield_bot_detection", "shield_api_guardian"), "shield_zone/2")),
        words=("The plan has no bot detection.", "no API guardian")),
    Situation("a zone that was never scanned", {(SCANS, "dns_zone/104"): {NONE: SCAN}}),
    Situation("statistics of nulls", {(DNS, ZONE): {NONE: GAUGES}},
        {"account": ONE, "fault": status(STATISTICS, body={"TotalQueriesServed": None})}),
    Situation("fields that are left out after they were there", {(DNS, ZONE): {NONE: GAUGES[1:]}},
        {"account": ONE}, after(status(STATISTICS, body={"TotalQueriesServed": 5}))),
    Situation("a failing target whose last values are still served",
        {(DNS, "dns_zone/104"): {NONE: (WINDOW[2], DAY[1])}},
        {"account": {**ONE, "dns_zones": {**OFF, "ids": [104]}}},
        after(status("/dnszone/104/statistics", 500), turns=300)),
    Situation("values that no poll has renewed in time", whole(FAILING, {DNS: ZONE}), {"account": ONE}, expired,
        ("failing since 2026-02-08 12:00:00 UTC: no poll has succeeded in time",)),
    Situation("a list that fails", whole(FAILING, {SHIELDS: "shield_zone/1 shield_zone/2 shield_zone/3 account/main"}),
        {}, after(status("/shield/shield-zones", 500), turns=4000), ("server_error",)),
    Situation("two zones that fail, one after the other", whole(FAILING, {DNS: "dns_zone/101 dns_zone/102"}),
        {"account": {**ONE, "dns_zones": {**OFF, "ids": [101, 102]}}}, one_after_the_other,
        ("failing since 2026-02-08 12:10:00 UTC: server_error",)),
    Situation("a zone that fails, as does its list", whole(FAILING, {DNS: ZONE}),
        {"account": {"dns_zones": {"ids": [101]}}, "fault": status("/search", 400, "no")},
        after(status(STATISTICS, 500), turns=4000), ("server_error",)),
    Situation("a zone that does not exist",
        whole(FAILING, {DNS: "dns_zone/999"}) | whole(NONE, {SCANS: "dns_zone/999"}),
        {"account": {**ONE, "dns_zones": {**OFF, "ids": [999]}}}, words=("not_found", "there is no such resource")),
    Situation("a query without a row", {QUERY: {NONE: ("edge_database_q",)}}, query("SELECT 1 AS value WHERE 0")),
    Situation("a query that fails", {QUERY: {FAILING: None}}, query("SELECT x FROM nowhere"), words=("sql",)),
    # The test's folder has a folder of that name, which is no state file.
    Situation("a ledger that cannot write", {(DNS, "dns_zone/104"): {FAILING: COUNTERS, NONE: (WINDOW[2], DAY[1])}},
        {"account": {**ONE, "dns_zones": {**OFF, "ids": [104]}}, "more": {"state": {"path": "state.db"}}},
        words=("the counters cannot be read or saved: ",)),
)
# fmt: on


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
async def test_the_cause_of_every_family_is_the_scripted_one(
    situation: Situation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state.db").mkdir()
    async with exporter_parts(**situation.settings) as parts:
        await situation.script(parts)
        collectors = {collector.name: collector for collector in parts.work.parts.explainer.collectors()}
        absences = await parts.work.parts.explainer.absences()
        counts = await parts.work.parts.explainer.count_absent()
    wanted = {
        (collector, target, family): cause
        for (collector, target), causes in situation.absent.items()
        for cause, named in causes.items()
        for family in named or [info.name for info in collectors[collector].families_of(*target.split("/", 1))]
    }
    found = [
        ((absence.collector, target.key.label, family), absence.finding.cause)
        for absence in absences
        for target in absence.targets
        for family in absence.families
        if (absence.collector, target.key.label) in situation.absent
    ]
    assert dict(found) == wanted
    assert len(found) == len(wanted), "a family has more than one cause"
    assert sum(counts.values()) == sum(len(absence.targets) * len(absence.families) for absence in absences)
    said = "\n".join(absence.finding.text for absence in absences)
    assert [words for words in situation.words if words not in said] == [], said
    assert "has none: the platform answered 500" not in said


async def test_each_family_of_a_polled_target_has_series_or_is_absent() -> None:
    async with exporter_parts() as parts:
        collectors = {collector.name: collector for collector in parts.work.parts.explainer.collectors()}
        for status in parts.store.statuses.values():
            key = status.key
            named = {info.name for info in collectors[key.collector].families_of(key.target.kind, key.target.id)}
            found = await parts.work.parts.explainer.absences(named, [key.target.label])
            absent = {family for absence in found if absence.collector == key.collector for family in absence.families}
            assert absent == named - set(status.families), key


async def test_a_target_that_is_not_polled_here_is_said_to_be_another_shard_s_or_unknown() -> None:
    rule = next(number for number in range(1, 99) if owner(f"main/waf_custom_rule/{number}", 3))
    account = {"waf_custom_rules": [{"id": rule}]}
    async with exporter_parts(account=account, more={"shard": {"index": 0, "total": 3}}) as parts:
        explainer, zones = parts.work.parts.explainer, parts.world.dns.zones
        for zone in ZONES:
            shard, name = owner(f"main/{zone}", 3), zones.name(int(zone[-3:]))
            words = f"shard {shard} of 3 polls it" if shard else "nothing is absent"
            assert explainer.why_unexplained([zone, name]) == {zone: words, name: words}
        unknown = dict.fromkeys(("dns_zone/999", "x.example"), "not known, removed, or left out by the configuration")
        assert explainer.why_unexplained(unknown) == unknown
        named = {target.key.label for one in await explainer.absences() for target in one.targets}
        assert named & set(ZONES) <= {zone for zone in ZONES if owner(f"main/{zone}", 3) == 0}
        assert "waf_custom_rule/*" not in named, "the configuration names one"


async def test_a_shard_reports_what_a_list_lacks_although_another_shard_has_the_status_of_the_list() -> None:
    async with exporter_parts(more={"shard": {"index": 1, "total": 3}}) as parts:
        found = await parts.work.parts.explainer.absences(targets=["shield_zone/*", "rate_limit/*"])
        assert {absence.finding.cause for absence in found} == {NONE}
