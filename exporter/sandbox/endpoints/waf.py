"""The operations on firewall rules."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import enveloped, payload
from exporter.sandbox.operation import operation
from exporter.sandbox.request_parsing import path_id
from exporter.sandbox.waf import missing_rule, plan_segmentation
from exporter.sandbox.world import World


@operation("GET", "/shield/waf/custom-rule/{id}", result="CustomWafRule", failures=(202, 400))
async def shield_waf_custom_rule(world: World, request: Request) -> Response:
    """Return a custom WAF rule."""
    rule = world.waf.find(path_id(request, "id"))
    if rule is None or rule.shield_zone_id not in world.shield.zones:
        return payload(missing_rule(), 202)
    return payload(world.waf.answer(rule))


@operation("GET", "/shield/waf/rules/plan-segmentation", result="WafPlanSegmentation")
async def shield_waf_plan_segmentation(_world: World, _request: Request) -> Response:
    """Return the WAF rules grouped by plan."""
    return enveloped(plan_segmentation(), defaulted=True)


OPERATIONS: Final = (shield_waf_custom_rule, shield_waf_plan_segmentation)
