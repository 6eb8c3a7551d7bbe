import json

import httpx
import pytest

from exporter.sandbox.world import World


async def test_a_custom_rule_has_no_envelope(client: httpx.AsyncClient, world: World) -> None:
    assert 21 in world.custom_rule_ids()
    rule = (await client.get("/shield/waf/custom-rule/21")).json()
    assert (rule["id"], rule["shieldZoneId"], rule["ruleName"]) == (21, 3, "block-bad-bots")
    configuration = rule["ruleConfiguration"]
    assert json.loads(rule["ruleJson"]) == configuration
    assert len(configuration["chainedRuleConditions"]) == 3
    assert rule["errorResponse"] == {"success": False, "message": None, "errorKey": None}
    assert (await client.get("/shield/waf/custom-rule/22")).json()["errorResponse"] is None


@pytest.mark.parametrize("rule_id", ["x", "9223372036854775808"])
async def test_the_id_of_a_custom_rule_is_a_number(client: httpx.AsyncClient, rule_id: str) -> None:
    answer = await client.get(f"/shield/waf/custom-rule/{rule_id}")
    assert (answer.status_code, answer.json()) == (400, {"statusCode": 400})


async def test_a_custom_rule_that_is_not_there_is_an_object_of_zeros(client: httpx.AsyncClient) -> None:
    answer = await client.get("/shield/waf/custom-rule/99")
    rule = answer.json()
    assert (answer.status_code, rule["id"], rule["shieldZoneId"], rule["ruleConfiguration"]) == (202, 0, 0, None)
    assert rule["errorResponse"]["errorKey"] == "not_found_or_unauthorised_access.waf_rule"


async def test_a_custom_rule_is_added_and_removed_also_with_its_zone(client: httpx.AsyncClient, world: World) -> None:
    added = world.waf.add_rule(1, "extra", chained=2)
    rule = (await client.get(f"/shield/waf/custom-rule/{added}")).json()
    assert (rule["ruleName"], len(rule["ruleConfiguration"]["chainedRuleConditions"])) == ("extra", 2)
    world.waf.remove_rule(added)
    world.shield.remove_zone(3)
    for rule_id in (added, 21):
        assert (await client.get(f"/shield/waf/custom-rule/{rule_id}")).json()["id"] == 0


async def test_every_plan_has_the_rules_of_the_one_below(client: httpx.AsyncClient) -> None:
    answer = (await client.get("/shield/waf/rules/plan-segmentation")).json()
    plans = answer["data"]
    assert [(plan["planValue"], plan["planName"]) for plan in plans] == [
        (0, "Basic"),
        (1, "Advanced"),
        (2, "Business"),
        (3, "Enterprise"),
    ]
    ids = [
        {rule["ruleId"] for rules in plan["rules"] for group in rules["ruleGroups"] for rule in group["rules"]}
        for plan in plans
    ]
    assert ids[0] < ids[1] < ids[2] <= ids[3]
