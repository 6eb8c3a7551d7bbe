"""Odd answers of a platform: what cannot be read is absent, what a plan lacks is no failure, and the rest is served."""

import re
from collections.abc import Mapping
from json import dumps

import pytest

from exporter.sandbox import keys
from tests.exporter_parts import exporter_parts, still


def days(month: str, *numbers: int) -> dict[str, int]:
    """Return a chart with 5 on some days of a month."""
    return {f"{month}-{day:02}T00:00:00Z": 5 for day in numbers}


def charts(total: int, queries: object = None, normal: object = None, smart: object = None) -> dict[str, object]:
    """Return the statistics of a zone."""
    named = {"QueriesServedChart": queries, "NormalQueriesServedChart": normal, "SmartQueriesServedChart": smart}
    return {"TotalQueriesServed": total, **named}


def refused(key: str, status: int = 0) -> dict[str, object]:
    """Return an envelope with a failure."""
    return {"data": None, "error": {"success": False, "errorKey": key, "statusCode": status}}


def cell(kind: str, value: object) -> dict[str, object]:
    """Return a cell of a result of SQL."""
    return {"type": kind, "value": value}


WEEKS, SECOND_DAYS = days("2026-01", 18, 25) | days("2026-02", 1, 8), days("2026-02", 2, 4, 6, 8)
ZONE, BOTS, LIMITS = "/dnszone/101/statistics", "/shield/shield-zone/1/bot-detection", "/shield/metrics/rate-limits/1"
WINDOW, DAY, MODE = "edge_dns_window_queries", "edge_dns_day_queries", "edge_shield_bot_detection_sensitivity"
MISMATCHED = "edge_window_mismatched_targets"
UNEXPECTED, NO_PLAN, GONE = "edge_api_unexpected_values_total", "invalid_plan_type.x", "not_found.ratelimit_shieldzone"
SCRIPT = {"Name": "router", "LastModified": "2026-06-30T23:59:60Z", "MonthlyCost": "NaN", "Deleted": False}
SHIELD = {"shieldZoneId": 1, "learningModeUntil": "2026-02-30T00:00:00", "rateLimitRulesLimit": 10**400}
VALUES = [cell("float", 10**310), cell("integer", "1" * 5000), cell("float", "NaN"), cell("text", "NaN")]
ROWS = [[value, cell("integer", str(at))] for at, value in enumerate([*VALUES, cell("float", -0.0)])]
TABLE = {"cols": [{"name": "value"}, {"name": "at"}], "rows": ROWS, "rows_read": 10**300}
NAN = '{"TotalQueriesServed": %s, "QueriesServedChart": {"2026-02-07": 4, "2026-02-08": "NaN"}}'
# Words: a path, its status and body; family → the values that are served; the reason of a failure.
Row = tuple[str, int, object, Mapping[str, list[float]], str]
ODD: Mapping[str, Row] = {
    **{
        f"{words} in {chart}": (ZONE, 200, charts(100) | {chart: gaps}, {WINDOW: [100]}, "")
        for words, gaps in (("every second day", SECOND_DAYS), ("a day a week", WEEKS))
        for chart in ("QueriesServedChart", "NormalQueriesServedChart", "SmartQueriesServedChart")
    },
    "gaps in all charts, and another total": (ZONE, 200, charts(21, *[SECOND_DAYS] * 3),
        {DAY: [5], WINDOW: [21], MISMATCHED: [1]}, ""),
    "gaps in all charts but one": (ZONE, 200, charts(20, WEEKS, WEEKS, {}),
        {DAY: [5], WINDOW: [20], MISMATCHED: [0]}, ""),
    "weeks in all charts and in their total": (ZONE, 200, charts(20, *[WEEKS] * 3), {WINDOW: []}, "wrong_shape"),
    **{
        f"a total of {len(total)} digits": (ZONE, 200, NAN % total, {DAY: [4], WINDOW: [], UNEXPECTED: [1, 1]}, "")
        for total in ("7" * 20, "7" * 400, "7" * 5000)
    },
    "a part that was not asked for": (ZONE, 206, charts(20, WEEKS), {DAY: [], WINDOW: []}, "bad_answer"),
    "a leap second, and NaN as text": ("/compute/script/7", 200, SCRIPT, {
        "edge_script_last_modified_timestamp_seconds": [], "edge_script_monthly_cost_dollars": [],
        "edge_script_deleted": [0], UNEXPECTED: [1, 1],
    }, ""),
    "a day that does not exist": ("/shield/shield-zones", 200, {"data": [SHIELD], "page": {"totalCount": 1}}, {
        "edge_shield_zone_rules_limit": [], "edge_shield_zone_learning_mode_until_timestamp_seconds": [],
        "edge_shield_zones": [1], "edge_shield_zone_info": [1],
    }, ""),
    "cells of any number": (
        "/v2/pipeline", 200, {"results": [{"type": "ok", "response": {"type": "execute", "result": TABLE}}] * 2},
        {"edge_database_q": [0], "edge_database_query_rows": [5]}, ""),
    **{
        f"{key} in an envelope of {status} with {own}": (BOTS, status, refused(key, own), {MODE: []}, "")
        for key, own, status in (
            (NO_PLAN, 403, 200), (NO_PLAN, 400, 202), ("bots.not_configured", 403, 202), (GONE, 403, 200),
            ("not_found_or_unauthorised_access.x", 0, 202),
        )
    },
    **{f"no plan under {status}": (BOTS, status, refused(NO_PLAN), {MODE: []}, "") for status in (400, 402, 403, 404)},
    "a key that is refused, whatever the error key": (BOTS, 200, refused(NO_PLAN, 401), {MODE: []}, "unauthorized"),
    "no shield in the account": ("/shield/shield-zones", 403, refused(NO_PLAN), {"edge_shield_zones": []}, ""),
    "no list of shield zones": ("/shield/shield-zones", 404, "", {"edge_resources": [1, 1, 1, 1, 1, 2]}, "not_found"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "status", "body", "served", "reason"), ODD.values(), ids=ODD)
async def test_an_odd_answer_gives_what_can_be_read(
    path: str, status: int, body: object, served: Mapping[str, list[float]], reason: str
) -> None:
    text = body if isinstance(body, str) else dumps(body)
    queries = [{"name": "q", "sql": "SELECT 1 AS value, 2 AS at", "labels": ["at"]}]
    async with exporter_parts(
        world=still(dns_zones=1, scripts=1, shield_zones=1, healthy=True),
        fault={"kind": "status", "path": path, "status": status, "body": text, "content_type": "application/json"},
        database={"auth_token": keys.DATABASE_TOKEN_FULL, "queries": queries},
    ) as parts:
        await parts.settle()
        await parts.settle()  # the first round of what was discovered
        parts.daemon.work.show()
        await parts.renderer.render()
        assert {name: sorted(parts.samples(name).values()) for name in served} == served
        failing = {one.reason for one in parts.store.statuses.values() if not one.up}
        assert failing == ({reason} if reason else set())


async def test_names_of_configured_ids_are_looked_up_with_each_discovery() -> None:
    off = {"discover": False}
    account = {"dns_zones": {**off, "ids": [101]}, "shield_zones": {**off, "ids": [1]}, "scripts": {**off, "ids": [7]}}
    async with exporter_parts(account=account) as parts:
        searched = parts.faults.add({"kind": "delay", "seconds": 0, "path": "/search"})

        def names() -> set[str]:
            return set(re.findall(r'(?:window_queries|zone_info){.*?(?:domain|pull_zone)="(.*?)"', parts.text()))

        parts.world.dns.rename_zone(101, "new.example")
        parts.world.shield.rename_zone(1, "new")
        await parts.turn(900)
        await parts.turn(900)
        assert (names(), searched.hits) == ({"new.example", "new"}, 2)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, refused(NO_PLAN, 403)),
        (202, refused(GONE, 403)),
        *((status, refused(NO_PLAN)) for status in (400, 402, 403, 404)),
    ],
)
async def test_a_zone_without_rate_limits_hides_no_others_and_those_that_are_gone_leave(
    status: int, body: object
) -> None:
    async with exporter_parts(world=still(dns_zones=0, scripts=0, shield_zones=2)) as parts:
        before = {target.id for target in parts.registry.targets("rate_limit")}
        own = {one.id for one in parts.registry.targets("rate_limit") if one.attributes["shield_zone_id"] == "1"}
        assert own
        assert own < before
        parts.faults.add({"kind": "status", "path": LIMITS, "status": status, "body": dumps(body)})
        await parts.turn(1000)
        await parts.turn(1000)
        assert {target.id for target in parts.registry.targets("rate_limit")} == before - own
        assert parts.samples("edge_target_up", collector="discovery", target="account/main") == {("main", "main"): 1}
