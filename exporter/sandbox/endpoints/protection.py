"""The operations on the protection of a shield zone: bots, access lists and the API guardian."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import enveloped, problem, refused
from exporter.sandbox.bots import BotAction
from exporter.sandbox.operation import PROTECTION, Operation
from exporter.sandbox.request_parsing import BadBodyError, int64, json_object
from exporter.sandbox.world import World

_CATEGORIES: Final = range(8)
_BASIC: Final = 0


class _BadIdError(BadBodyError):
    """An identifier in the path is not a 64-bit integer."""


def _number(request: Request, name: str) -> int:
    number = int64(request.path_params[name])
    if number is None:
        raise _BadIdError(f"{name} is not a 64-bit integer.")
    return number


def _unknown_zone(*, with_status: bool = False) -> Response:
    return refused(
        "not_found_or_unauthorised_access.shieldzone",
        "The shield zone was not found, or is not yours.",
        status_code=404 if with_status else None,
    )


async def _set_bot_action(world: World, request: Request) -> Response:
    body = await json_object(request)
    zone_id, category = _number(request, "shieldZoneId"), _number(request, "category")
    if category not in _CATEGORIES:
        return problem(400, "The category must be 0 to 7.", request.url.path)
    action = body.get("action")
    if type(action) is not int or action not in tuple(BotAction):
        return problem(400, "The action must be 0, 1 or 2.", request.url.path)
    if zone_id not in world.shield.zones:
        return _unknown_zone(with_status=True)
    if world.shield.plan(zone_id) == _BASIC:
        return refused("invalid_plan_type.bot_categorization", "The plan has no bot categorization.", status_code=403)
    world.bots.set_action(zone_id, category, BotAction(action))
    return enveloped({"category": category, "action": int(world.bots.action(zone_id, category))}, with_status=True)


async def _switch_access_list(world: World, request: Request) -> Response:
    body = await json_object(request)
    zone_id, configuration_id = _number(request, "shieldZoneId"), _number(request, "id")
    enabled = body.get("isEnabled")
    if not isinstance(enabled, bool):
        return problem(400, "isEnabled must be true or false.", request.url.path)
    if zone_id not in world.shield.zones:
        return _unknown_zone()
    found = world.access_lists.find_configuration(zone_id, configuration_id)
    if found is None:
        return problem(404, "The access list configuration was not found.", request.url.path)
    found.is_enabled = enabled
    return enveloped({"isEnabled": found.is_enabled})


async def _access_list(world: World, request: Request) -> Response:
    zone_id, list_id = _number(request, "shieldZoneId"), _number(request, "id")
    if zone_id not in world.shield.zones:
        return _unknown_zone()
    found = world.access_lists.find(zone_id, list_id)
    if found is None:
        return problem(404, "The access list was not found.", request.url.path)
    return enveloped(world.access_lists.answer(found), defaulted=list_id % 2 == 0)


async def _api_guardian(world: World, request: Request) -> Response:
    zone_id = _number(request, "shieldZoneId")
    if zone_id not in world.shield.zones:
        return _unknown_zone()
    if not world.guardian.is_configured(zone_id, world.shield.plan(zone_id)):
        return refused(
            "api_guardian.get_api_guardian.no_configuration",
            "The shield zone has no API guardian configuration.",
            status=200,
        )
    return enveloped(world.guardian.answer(zone_id), defaulted=zone_id % 2 == 1)


async def _bot_detection(world: World, request: Request) -> Response:
    zone_id = _number(request, "shieldZoneId")
    if zone_id not in world.shield.zones:
        return _unknown_zone()
    if world.shield.plan(zone_id) == _BASIC:
        return refused("invalid_plan_type.bot_detection", "The plan has no bot detection.")
    return enveloped(world.bots.detection(zone_id), defaulted=zone_id % 2 == 1)


OPERATIONS: Final = (
    Operation(
        name="shield_set_bot_action",
        method="PUT",
        path="/shield/shield-zone/{shieldZoneId}/bot-categorization/categories/{category}",
        handler=_set_bot_action,
        errors=PROTECTION,
        result="BotCategoryActionEnvelope",
        summary="Set the action for a bot category",
        path_schemas={"category": {"type": "integer", "minimum": 0, "maximum": 7}},
        body={"type": "object", "required": ["action"], "properties": {"action": {"enum": [0, 1, 2]}}},
        failures=(202,),
    ),
    Operation(
        name="shield_switch_access_list",
        method="PATCH",
        path="/shield/shield-zone/{shieldZoneId}/access-lists/configurations/{id}",
        handler=_switch_access_list,
        errors=PROTECTION,
        result="AccessListConfigurationEnvelope",
        summary="Switch an access list on or off",
        body={"type": "object", "required": ["isEnabled"], "properties": {"isEnabled": {"type": "boolean"}}},
        failures=(202, 404),
    ),
    Operation(
        name="shield_access_list",
        method="GET",
        path="/shield/shield-zone/{shieldZoneId}/access-lists/{id}",
        handler=_access_list,
        errors=PROTECTION,
        result="CustomAccessListEnvelope",
        summary="A custom access list",
        failures=(202, 400, 404),
    ),
    Operation(
        name="shield_api_guardian",
        method="GET",
        path="/shield/shield-zone/{shieldZoneId}/api-guardian",
        handler=_api_guardian,
        errors=PROTECTION,
        result="ApiGuardianEnvelope",
        summary="The API guardian of a shield zone",
        failures=(202, 400),
    ),
    Operation(
        name="shield_bot_detection",
        method="GET",
        path="/shield/shield-zone/{shieldZoneId}/bot-detection",
        handler=_bot_detection,
        errors=PROTECTION,
        result="BotDetectionEnvelope",
        summary="The bot detection of a shield zone",
        failures=(202, 400),
    ),
)
