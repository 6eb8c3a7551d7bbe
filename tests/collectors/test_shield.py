"""The collectors of single shield resources: guardian, bots, access lists and WAF rules."""

import json
from typing import Any

import pytest

from exporter.collectors import (
    shield_access_lists,
    shield_api_guardian,
    shield_bot_detection,
    shield_rate_limits,
    shield_waf,
)
from exporter.collectors.collector import Collector
from exporter.platform.errors import EnvelopeError, NotAvailable
from exporter.targets.target import Target
from tests.collectors.polls import context_of, exposed, poll, samples
from tests.platform.callers import ScriptedCaller
from tests.platform.payloads import GOOD

ZONE = Target("main", "shield_zone", "3", "shop")
LIST = Target("main", "access_list", "11", attributes={"shield_zone_id": "3"})
RULE = Target("main", "waf_custom_rule", "21")


async def exposition(collector: Collector, target: Target, data: Any) -> str:
    """Return the exposition of an envelope's data."""
    return exposed(collector, await poll(collector, target, json.dumps({"data": data, "error": None})))


def series(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(
    ("collector", "target", "asked"),
    [
        (shield_api_guardian.COLLECTOR, ZONE, {"shieldZoneId": 3}),
        (shield_bot_detection.COLLECTOR, ZONE, {"shieldZoneId": 3}),
        (shield_access_lists.COLLECTOR, LIST, {"shieldZoneId": 3, "id": 11}),
        (shield_waf.CUSTOM_RULES, RULE, {"id": 21}),
        (shield_waf.PLANS, Target("main", "account", "main"), {}),
        (shield_rate_limits.COLLECTOR, Target("main", "rate_limit", "55"), {"id": 55}),
    ],
)
async def test_a_target_is_asked_for_by_its_id(collector: Collector, target: Target, asked: dict[str, int]) -> None:
    (operation,) = collector.operations
    caller = ScriptedCaller([json.dumps(GOOD[operation.name])])
    await collector.poll(context_of(caller), target)
    assert caller.calls == [(operation.name, asked)]


@pytest.mark.parametrize(
    "data", [{}, {"configuration": None, "endpoints": None}, {"configuration": {}, "endpoints": None}]
)
async def test_a_guardian_of_nulls_yields_no_values(data: Any) -> None:
    found = series(await exposition(shield_api_guardian.COLLECTOR, ZONE, data))
    info = ['edge_shield_api_guardian_info{account="main",shield_zone_id="3",title="",version=""} 1.0']
    assert found == (info if data.get("configuration") is not None else [])


async def test_a_guardian_that_nobody_set_up_is_not_available() -> None:
    key = "api_guardian.get_api_guardian.no_configuration"
    body = json.dumps({"data": None, "error": {"success": False, "message": "", "errorKey": key}})
    with pytest.raises(NotAvailable):
        await poll(shield_api_guardian.COLLECTOR, ZONE, body)


async def test_bot_detection_of_nulls_yields_nothing() -> None:
    data = {
        "requestIntegrity": None,
        "ipAddress": {"sensitivity": None},
        "browserFingerprint": {"complexEnabled": None},
    }
    assert await exposition(shield_bot_detection.COLLECTOR, ZONE, data) == ""


async def test_a_sensitivity_that_is_not_known_is_unknown() -> None:
    found = series(await exposition(shield_bot_detection.COLLECTOR, ZONE, {"ipAddress": {"sensitivity": 9}}))
    labels = 'account="main",level="unknown",shield_zone_id="3",signal="ip_address"'
    assert [line for line in found if line.endswith(" 1.0")] == [
        f"edge_shield_bot_detection_sensitivity{{{labels}}} 1.0"
    ]


async def test_bot_detection_that_the_plan_lacks_is_not_available() -> None:
    error = {"success": False, "message": "Upgrade", "errorKey": "invalid_plan_type.bot_detection"}
    with pytest.raises(NotAvailable):
        await poll(shield_bot_detection.COLLECTOR, ZONE, json.dumps({"data": None, "error": error}))


async def test_an_access_list_of_nulls_yields_nothing() -> None:
    assert (
        await exposition(shield_access_lists.COLLECTOR, LIST, dict.fromkeys(GOOD["shield_access_list"]["data"])) == ""
    )


def rule(**fields: object) -> str:
    return json.dumps({"id": 21, "shieldZoneId": 3, "ruleName": "login"} | fields)


@pytest.mark.parametrize(
    ("configuration", "conditions"), [(None, []), ({}, [1.0]), ({"chainedRuleConditions": None}, [1.0])]
)
async def test_a_custom_rule_has_one_condition_and_the_chained_ones(
    configuration: object, conditions: list[float]
) -> None:
    polled = await poll(shield_waf.CUSTOM_RULES, RULE, rule(ruleConfiguration=configuration))
    found = samples(exposed(shield_waf.CUSTOM_RULES, polled), "edge_shield_waf_custom_rule_conditions")
    assert [float(line.rpartition(" ")[2]) for line in found] == conditions


async def test_a_custom_rule_without_a_zone_or_a_name_has_them_empty() -> None:
    polled = await poll(shield_waf.CUSTOM_RULES, RULE, '{"id": 21, "ruleName": null}')
    assert series(exposed(shield_waf.CUSTOM_RULES, polled)) == [
        'edge_shield_waf_custom_rule_info{account="main",rule="",rule_id="21",shield_zone_id=""} 1.0'
    ]


async def test_a_custom_rules_error_response_is_a_failure() -> None:
    refusal = {"success": False, "message": "no such rule", "errorKey": "not_found.custom_rule"}
    with pytest.raises(EnvelopeError, match="no such rule"):
        await poll(shield_waf.CUSTOM_RULES, RULE, rule(errorResponse=refusal))
