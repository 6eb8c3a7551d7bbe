"""The collectors of single shield resources: guardian, bots, access lists and WAF rules."""

import json
from typing import Any

import pytest

from exporter.collectors import shield_access_lists, shield_api_guardian, shield_bot_detection, shield_waf
from exporter.collectors.collector import Collector
from exporter.platform.errors import EnvelopeError, NotAvailable
from exporter.targets.target import Target
from tests.collectors.polls import assert_as_in_file, exposed, poll, samples

ZONE = Target("main", "shield_zone", "3", "shop")
LIST = Target("main", "access_list", "11", attributes={"shield_zone_id": "3"})
RULE = Target("main", "waf_custom_rule", "21")
ACCOUNT = Target("main", "account", "main", "main")


async def exposition(collector: Collector, target: Target, data: Any) -> str:
    """Return the exposition of an envelope's data."""
    return exposed(collector, await poll(collector, target, json.dumps({"data": data, "error": None})))


def series(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


GUARDED = {
    "isEnabled": True,
    "validateRequestBodySchema": True,
    "validateResponseBodySchema": False,
    "validateAuthorization": True,
    "detectParameterXss": True,
    "detectParameterSqli": False,
    "rateLimitingEnabled": True,
}
CONFIGURATION = {
    "shieldZoneId": 3,
    "isEnabled": True,
    "title": "Shop",
    "version": "1.4",
    "maxEndpoints": 100,
    "maxFieldsPerType": 50,
    "maxNestingDepth": 8,
    "maxTotalSchemaNodes": 4000,
    "maxTotalRegexLength": 9000,
    "createdAt": "2026-01-01T00:00:00Z",
    "updatedAt": "2026-01-02T00:00:00",
}


async def test_the_api_guardian() -> None:
    endpoints = [GUARDED, GUARDED | {"rateLimitingEnabled": None}, GUARDED | {"isEnabled": False}, {"isEnabled": None}]
    data = {"configuration": CONFIGURATION, "endpoints": endpoints}
    assert_as_in_file(await exposition(shield_api_guardian.COLLECTOR, ZONE, data), "shield_api_guardian")


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


async def test_bot_detection() -> None:
    data = {
        "requestIntegrity": {"sensitivity": 0},
        "ipAddress": {"sensitivity": 2},
        "browserFingerprint": {"sensitivity": 3, "aggression": 1, "complexEnabled": True},
        "executionMode": 1,
        "shieldZoneId": 3,
    }
    assert_as_in_file(await exposition(shield_bot_detection.COLLECTOR, ZONE, data), "shield_bot_detection")


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


ENTRIES = {
    "id": 11,
    "name": "office",
    "description": "d",
    "content": "192.0.2.1\n192.0.2.2",
    "checksum": "9f86d081884c7d65",
    "entryCount": 2,
    "lastModified": "2026-02-06T09:27:36",
}


async def test_an_access_list() -> None:
    assert_as_in_file(await exposition(shield_access_lists.COLLECTOR, LIST, ENTRIES), "shield_access_lists")


async def test_an_access_list_of_nulls_yields_nothing() -> None:
    assert await exposition(shield_access_lists.COLLECTOR, LIST, dict.fromkeys(ENTRIES)) == ""


def rule(**fields: object) -> str:
    return json.dumps({"id": 21, "shieldZoneId": 3, "ruleName": "login"} | fields)


async def test_a_custom_rule() -> None:
    configuration = {"variableTypes": {"ARGS": "a"}, "chainedRuleConditions": [{"value": "x"}, {"value": "y"}]}
    polled = await poll(shield_waf.CUSTOM_RULES, RULE, rule(ruleConfiguration=configuration, errorResponse=None))
    assert_as_in_file(exposed(shield_waf.CUSTOM_RULES, polled), "shield_waf_custom_rules")


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


async def test_the_rules_of_each_plan() -> None:
    def groups(*sizes: int) -> list[object]:
        return [{"id": number, "rules": [{"ruleId": "1"}] * size} for number, size in enumerate(sizes)]

    plans = [
        {
            "planValue": 0,
            "planName": "Basic",
            "rules": [
                {"name": "Core", "ruleset": "OWASP", "ruleGroups": groups(2, 3)},
                {"name": "More", "ruleset": "OWASP", "ruleGroups": groups(1)},
                {"name": "Bots", "ruleset": None, "ruleGroups": []},
                {"name": "Null", "ruleset": None, "ruleGroups": [{"rules": None}]},
            ],
        },
        {"planValue": 1, "planName": None, "rules": [{"name": None, "ruleset": "OWASP", "ruleGroups": None}]},
        {"planValue": None, "planName": None, "rules": None},
    ]
    assert_as_in_file(await exposition(shield_waf.PLANS, ACCOUNT, plans), "shield_waf_plans")
