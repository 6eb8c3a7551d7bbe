"""The operations on firewall rules."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import enveloped, payload, status_only
from exporter.sandbox.operation import Operation
from exporter.sandbox.request_parsing import path_id
from exporter.sandbox.waf import missing_rule, plan_segmentation
from exporter.sandbox.world import World


async def _custom_rule(world: World, request: Request) -> Response:
    rule_id = path_id(request, "id")
    if rule_id is None:
        return status_only(400)
    rule = world.waf.find(rule_id)
    if rule is None or rule.shield_zone_id not in world.shield.zones:
        return payload(missing_rule(), 202)
    return payload(world.waf.answer(rule))


async def _plan_segmentation(_world: World, _request: Request) -> Response:
    return enveloped(plan_segmentation(), defaulted=True)


OPERATIONS: Final = (
    Operation(
        name="shield_waf_custom_rule",
        method="GET",
        path="/shield/waf/custom-rule/{id}",
        handler=_custom_rule,
        result="CustomWafRule",
        summary="A custom WAF rule",
        failures=(202, 400),
    ),
    Operation(
        name="shield_waf_plan_segmentation",
        method="GET",
        path="/shield/waf/rules/plan-segmentation",
        handler=_plan_segmentation,
        result="WafPlanSegmentation",
        summary="WAF rules grouped by plan",
    ),
)
