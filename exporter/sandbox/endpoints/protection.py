"""The operations on the protection of a shield zone: bots, access lists and the API guardian."""

from typing import Annotated, Final

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import enveloped, problem, refused
from exporter.sandbox.bots import BotAction
from exporter.sandbox.endpoints.shield import shield_zone_id
from exporter.sandbox.operation import PROTECTION, operation
from exporter.sandbox.request_parsing import RequestError, json_body, path_id
from exporter.sandbox.world import World

_ZONE: Final = "/shield/shield-zone/{shieldZoneId}"
_CATEGORIES: Final = range(8)
_BASIC: Final = 0


class BotCategoryAction(BaseModel):
    """The action for a bot category: none, block or allow."""

    action: Annotated[int, Field(ge=0, le=2)]


class AccessListSwitch(BaseModel):
    """Whether an access list is on."""

    is_enabled: Annotated[bool, Field(alias="isEnabled")]


@operation(
    "PUT",
    f"{_ZONE}/bot-categorization/categories/{{category}}",
    errors=PROTECTION,
    result="BotCategoryActionEnvelope",
    path_schemas={"category": {"type": "integer", "minimum": 0, "maximum": 7}},
    body=BotCategoryAction,
    failures=(202,),
)
async def shield_set_bot_action(world: World, request: Request) -> Response:
    """Set the action for a bot category."""
    action = BotAction((await json_body(request, BotCategoryAction)).action)
    category = path_id(request, "category")
    if category not in _CATEGORIES:
        raise RequestError("category must be 0 to 7")
    zone_id = shield_zone_id(world, request, status_code=404)
    if world.shield.plan(zone_id) == _BASIC:
        return refused("invalid_plan_type.bot_categorization", "The plan has no bot categorization.", status_code=403)
    world.bots.set_action(zone_id, category, action)
    return enveloped({"category": category, "action": int(world.bots.action(zone_id, category))}, with_status=True)


@operation(
    "PATCH",
    f"{_ZONE}/access-lists/configurations/{{id}}",
    errors=PROTECTION,
    result="AccessListConfigurationEnvelope",
    body=AccessListSwitch,
    failures=(202, 404),
)
async def shield_switch_access_list(world: World, request: Request) -> Response:
    """Switch an access list on or off."""
    switch = await json_body(request, AccessListSwitch)
    configuration_id = path_id(request, "id")
    found = world.access_lists.find_configuration(shield_zone_id(world, request), configuration_id)
    if found is None:
        return problem(404, "The access list configuration was not found.", request.url.path)
    found.is_enabled = switch.is_enabled
    return enveloped({"isEnabled": found.is_enabled})


@operation(
    "GET",
    f"{_ZONE}/access-lists/{{id}}",
    errors=PROTECTION,
    result="CustomAccessListEnvelope",
    failures=(202, 400, 404),
)
async def shield_access_list(world: World, request: Request) -> Response:
    """Return a custom access list."""
    list_id = path_id(request, "id")
    found = world.access_lists.find(shield_zone_id(world, request), list_id)
    if found is None:
        return problem(404, "The access list was not found.", request.url.path)
    return enveloped(world.access_lists.answer(found), defaulted=list_id % 2 == 0)


@operation("GET", f"{_ZONE}/api-guardian", errors=PROTECTION, result="ApiGuardianEnvelope", failures=(202, 400))
async def shield_api_guardian(world: World, request: Request) -> Response:
    """Return the API guardian of a shield zone."""
    zone_id = shield_zone_id(world, request)
    if not world.guardian.is_configured(zone_id, world.shield.plan(zone_id)):
        error_key = "api_guardian.get_api_guardian.no_configuration"
        return refused(error_key, "The shield zone has no API guardian configuration.", status=200)
    return enveloped(world.guardian.answer(zone_id), defaulted=zone_id % 2 == 1)


@operation("GET", f"{_ZONE}/bot-detection", errors=PROTECTION, result="BotDetectionEnvelope", failures=(202, 400))
async def shield_bot_detection(world: World, request: Request) -> Response:
    """Return the bot detection of a shield zone."""
    zone_id = shield_zone_id(world, request)
    if world.shield.plan(zone_id) == _BASIC:
        return refused("invalid_plan_type.bot_detection", "The plan has no bot detection.")
    return enveloped(world.bots.detection(zone_id), defaulted=zone_id % 2 == 1)


OPERATIONS: Final = (
    shield_set_bot_action,
    shield_switch_access_list,
    shield_access_list,
    shield_api_guardian,
    shield_bot_detection,
)
