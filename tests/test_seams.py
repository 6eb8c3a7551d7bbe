"""Polls, registry, ledger and store as one: what `/metrics`, `/api/v1/targets` and the log show of them."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from structlog.testing import capture_logs

from tests.endpoints.platform import Query, platform
from tests.endpoints.test_engine import BUSY, OFF
from tests.exporter_parts import ExporterParts, exporter_parts

STATISTICS = "/dnszone/102/statistics"
BOTS = "/shield/shield-zone/3/bot-detection"
SUCCESS, UP = "edge_target_last_success_timestamp_seconds", "edge_target_up"
ROUND = 451


@asynccontextmanager
async def polled(
    collector: str, answers: Mapping[str, object], account: Mapping[str, object]
) -> AsyncIterator[ExporterParts]:
    """Run an exporter with one collector, on a platform that gives these answers, and 500 elsewhere."""

    def answer(path: str, _query: Query) -> tuple[int, bytes]:
        return (200, json.dumps(answers[path]).encode()) if path in answers else (500, b"{}")

    on = {**OFF, collector: {"interval": "5m"}}
    async with (
        platform(answer) as place,
        exporter_parts(url=place.url, account={**BUSY, **account}, collectors=on) as parts,
    ):
        yield parts


async def test_a_resource_that_the_plan_lacks_is_said_again_where_it_was_there_in_between() -> None:
    there = {"data": {"executionMode": 1, "shieldZoneId": 3}, "error": None}
    lacks = {"data": None, "error": {"success": False, "message": "No", "errorKey": "invalid_plan_type.bot_detection"}}
    answers: dict[str, object] = {BOTS: lacks}
    said = []
    with capture_logs() as logs:
        async with polled("shield_bot_detection", answers, {"shield_zones": {"discover": False, "ids": [3]}}) as parts:
            for following in (lacks, there, there, lacks, lacks):
                answers[BOTS] = following
                await parts.turn(ROUND)
                said.append([line["event"] for line in logs].count("not available"))
                assert set(parts.samples(UP, collector="shield_bot_detection").values()) == {1.0}
            assert not any(parts.samples("edge_api_request_failures_total", operation="shield_bot_detection").values())
    assert said == [1, 1, 1, 2, 2]


async def test_a_name_that_an_answer_gave_stays_with_a_target_that_fails() -> None:
    path = "/compute/script/7"
    answers: dict[str, object] = {path: {"Id": 7, "Name": None, "MonthlyRequestCount": 5}}
    async with polled("scripts", answers, {"scripts": {"discover": False, "ids": [7]}}) as parts:
        await parts.turn(ROUND)
        assert parts.samples(UP, collector="scripts") == {("main", "", "script/7"): 1}
        answers[path] = {"Id": 7, "Name": "router", "MonthlyRequestCount": 6}
        await parts.turn(ROUND)
        assert parts.samples("edge_script_monthly_requests") == {("main", "router", "7"): 6}
        answers.clear()
        await parts.turn(ROUND)
        assert parts.samples(UP, collector="scripts") == {("main", "router", "script/7"): 0}
