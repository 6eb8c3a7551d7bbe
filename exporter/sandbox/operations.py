"""The operations of the management API: each turns a request into a call of the world."""

from functools import partial
from typing import Annotated, Final, TypeAlias

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import enveloped, payload, problem, refused, script_error
from exporter.sandbox.operation import Access, Operation, Refusal, TheWorld, operation
from exporter.sandbox.protection import CONFIGURATIONS, bot_detection
from exporter.sandbox.request_parsing import Int64, MaybeId, Moment, Page, PageSize, RequestError
from exporter.sandbox.seed import seed
from exporter.sandbox.waf import plan_segmentation
from exporter.sandbox.world import World

_LARGEST_PAGE: Final = 1_000
_LONGEST_TERM: Final = 1_000
_CATEGORIES: Final = range(8)
_BASIC: Final = 0
_ZONE: Final = "/shield/shield-zone/{shieldZoneId}"

_dns: Final = partial(operation, errors="ScriptError", unauthorised="CoreError")
_script: Final = partial(operation, access=Access.ACCESS_KEY, errors="ScriptError", unauthorised=None)
_protection: Final = partial(operation, errors="ProblemDetails", unauthorised="StatusOnly")

_Id: TypeAlias = Annotated[Int64, Path(alias="id")]
_ScriptId: TypeAlias = Annotated[MaybeId, Path(alias="id")]
_ShieldZoneId: TypeAlias = Annotated[Int64, Path(alias="shieldZoneId")]
_Category: TypeAlias = Annotated[Int64, WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 7})]
_Size: TypeAlias = Annotated[PageSize, Query(alias="perPage")]
_Term: TypeAlias = Annotated[str, WithJsonSchema({"type": "string", "maxLength": _LONGEST_TERM})]
_Place: TypeAlias = Annotated[Int64, WithJsonSchema({"type": "integer", "format": "int64", "minimum": 0})]
_Text: TypeAlias = Annotated[str, Field(min_length=1)]
_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=256)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, alias_generator=to_camel)


class BotCategoryAction(_Body):
    """The action for a bot category: none, block or allow."""

    action: Annotated[int, Field(ge=0, le=2)]


class AccessListSwitch(_Body):
    """Whether an access list is on."""

    is_enabled: bool


class ContainerImage(_Body):
    """An image of a registry: dockerhub, github, or one that the account gave a number."""

    registry_id: Annotated[str, Field(pattern="^(dockerhub|github|[0-9]{1,18})$")]
    image_name: _Text
    image_namespace: _Text


class ScriptSettings(_Body):
    """The settings of an edge script that an update changes."""

    name: Annotated[_Name | None, Field(alias="Name")] = None
    script_type: Annotated[int | None, Field(alias="ScriptType", ge=0, le=2)] = None


class NewSecret(_Body):
    """A named secret of an edge script."""

    name: Annotated[_Name, Field(alias="Name")]
    secret: Annotated[str, Field(alias="Secret", max_length=4_096, json_schema_extra={"writeOnly": True})]


def _dns_zone(world: World, zone_id: int | None) -> int:
    if zone_id is None or zone_id not in world.dns.zones:
        raise Refusal(script_error(404, "dnsZone.not_found", "DnsZone", "The requested DNS zone was not found."))
    return zone_id


def _known_script(world: World, script_id: int | None) -> int:
    if script_id is None or script_id not in world.scripts.scripts:
        raise Refusal(script_error(404, "script.not_found", "Id", "There is no script with this id."))
    return script_id


def _shield_zone(world: World, zone_id: int, *, status_code: int | None = None) -> int:
    if zone_id not in world.shield.zones:
        error_key = "not_found_or_unauthorised_access.shieldzone"
        raise Refusal(refused(error_key, "The shield zone was not found, or is not yours.", status_code=status_code))
    return zone_id


@_dns("GET /dnszone/{id}/statistics", "DnsZoneStatistics", 404, access=Access.STATISTICS)
async def dns_statistics(
    world: TheWorld,
    zone_id: Annotated[MaybeId, Path(alias="id")],
    date_from: Annotated[Moment, Query(alias="dateFrom")] = None,
    date_to: Annotated[Moment, Query(alias="dateTo")] = None,
) -> Response:
    """Return the query statistics of a DNS zone."""
    if date_from is not None and date_to is not None and date_from > date_to:
        raise RequestError("dateFrom is later than dateTo")
    return payload(world.dns.statistics(_dns_zone(world, zone_id), date_from, date_to))


@_dns("GET /dnszone/{zoneId}/records/scan", "DnsRecordScanJob", 404, access=Access.ACCESS_KEY)
async def dns_record_scan(world: TheWorld, zone_id: Annotated[MaybeId, Path(alias="zoneId")]) -> Response:
    """Return the latest record scan of a DNS zone."""
    scan = world.scans.answer(_dns_zone(world, zone_id))
    if scan is None:
        return script_error(404, "dnsZone.recordScan.not_found", "DnsZone", "The DNS zone was never scanned.")
    return payload(scan)


@operation("GET /shield/shield-zones", "ShieldZonePage")
async def shield_zones(world: TheWorld, page: Page = 1, size: _Size = 10) -> Response:
    """Return a page of the account's shield zones."""
    if page < 1 or size > _LARGEST_PAGE:
        raise RequestError("page counts from 1, and perPage is up to 1000")
    return payload(world.shield.page(page, size))


@operation("GET /shield/metrics/rate-limit/{id}", "RateLimitMetrics", 202, 400)
async def shield_rate_limit(world: TheWorld, limit_id: _Id) -> Response:
    """Return the breaches of a rate limit."""
    limit = world.rate_limits.limits.get(limit_id)
    if limit is None or limit.shield_zone_id not in world.shield.zones:
        return refused("not_found.ratelimit_shieldzone", "The rate limit was not found.", status_code=404)
    return enveloped(world.rate_limits.metrics(limit_id), defaulted=limit_id % 2 == 0, with_status=True)


@operation("GET /shield/metrics/rate-limits/{shieldZoneId}", "ZoneRateLimitMetrics", 202, 400, documented=False)
async def shield_zone_rate_limits(world: TheWorld, zone_id: _ShieldZoneId) -> Response:
    """Return the breaches of every rate limit of a shield zone."""
    _shield_zone(world, zone_id, status_code=404)
    limits = [one.limit_id for one in world.rate_limits.limits.values() if one.shield_zone_id == zone_id]
    return enveloped([{"ratelimitId": limit_id, **world.rate_limits.metrics(limit_id)} for limit_id in limits])


@_protection(f"PUT {_ZONE}/bot-categorization/categories/{{category}}", "BotCategoryActionEnvelope", 202)
async def shield_set_bot_action(
    world: TheWorld, category: _Category, zone_id: _ShieldZoneId, body: BotCategoryAction
) -> Response:
    """Set the action for a bot category."""
    if category not in _CATEGORIES:
        raise RequestError("category must be 0 to 7")
    if world.shield.plan(_shield_zone(world, zone_id, status_code=404)) == _BASIC:
        return refused("invalid_plan_type.bot_categorization", "The plan has no bot categorization.", status_code=403)
    return enveloped({"category": category, "action": body.action}, with_status=True)


@_protection(f"PATCH {_ZONE}/access-lists/configurations/{{id}}", "AccessListConfigurationEnvelope", 202, 404)
async def shield_switch_access_list(
    world: TheWorld, configuration_id: _Id, zone_id: _ShieldZoneId, switch: AccessListSwitch, request: Request
) -> Response:
    """Switch an access list on or off."""
    found = world.access_lists.find(_shield_zone(world, zone_id), configuration_id - CONFIGURATIONS)
    if found is None:
        return problem(404, "The access list configuration was not found.", request.url.path)
    found.is_enabled = switch.is_enabled
    return enveloped({"isEnabled": found.is_enabled})


@_protection(f"GET {_ZONE}/access-lists/{{id}}", "CustomAccessListEnvelope", 202, 400, 404)
async def shield_access_list(world: TheWorld, list_id: _Id, zone_id: _ShieldZoneId, request: Request) -> Response:
    """Return a custom access list."""
    found = world.access_lists.find(_shield_zone(world, zone_id), list_id)
    if found is None:
        return problem(404, "The access list was not found.", request.url.path)
    return enveloped(world.access_lists.answer(found), defaulted=list_id % 2 == 0)


@_protection(f"GET {_ZONE}/api-guardian", "ApiGuardianEnvelope", 202, 400)
async def shield_api_guardian(world: TheWorld, zone_id: _ShieldZoneId) -> Response:
    """Return the API guardian of a shield zone."""
    if not world.guardian.is_configured(zone_id, world.shield.plan(_shield_zone(world, zone_id))):
        error_key = "api_guardian.get_api_guardian.no_configuration"
        return refused(error_key, "The shield zone has no API guardian configuration.", status=200)
    return enveloped(world.guardian.answer(zone_id), defaulted=zone_id % 2 == 1)


@_protection(f"GET {_ZONE}/bot-detection", "BotDetectionEnvelope", 202, 400)
async def shield_bot_detection(world: TheWorld, zone_id: _ShieldZoneId) -> Response:
    """Return the bot detection of a shield zone."""
    if world.shield.plan(_shield_zone(world, zone_id)) == _BASIC:
        return refused("invalid_plan_type.bot_detection", "The plan has no bot detection.")
    return enveloped(bot_detection(world.bots, zone_id), defaulted=zone_id % 2 == 1)


@operation("GET /shield/waf/custom-rule/{id}", "CustomWafRule", 202, 400)
async def shield_waf_custom_rule(world: TheWorld, rule_id: _Id) -> Response:
    """Return a custom WAF rule."""
    rule = world.waf.rules.get(rule_id)
    if rule is None or rule.shield_zone_id not in world.shield.zones:
        return payload(seed("waf", "missing"), 202)
    return payload(world.waf.answer(rule))


@operation("GET /shield/waf/rules/plan-segmentation", "WafPlanSegmentation")
async def shield_waf_plan_segmentation() -> Response:
    """Return the WAF rules grouped by plan."""
    return enveloped(plan_segmentation(), defaulted=True)


@_script("GET /compute/script", "EdgeScriptPage", 500, documented=False)
async def script_list(world: TheWorld, page: Page = 1, size: _Size = _LARGEST_PAGE) -> Response:
    """Return a page of the account's edge scripts."""
    if page < 1:
        # The platform answers 500 for page 0.
        return Response(status_code=500)
    if size > _LARGEST_PAGE:
        return script_error(400, "paging.invalid", "perPage", "perPage must be up to 1000.")
    ids = world.scripts.scripts
    start = (page - 1) * size
    items = [world.scripts.answer(script_id) for script_id in ids.slice(start, size)]
    has_more = start + size < len(ids)
    return payload({"Items": items, "CurrentPage": page, "TotalItems": len(ids), "HasMoreItems": has_more})


@_script("GET /compute/script/{id}", "EdgeScript", 404, documented=False)
async def script_get(world: TheWorld, script_id: _ScriptId) -> Response:
    """Return an edge script."""
    return payload(world.scripts.answer(_known_script(world, script_id)))


@_script("POST /compute/script/{id}", "EdgeScript", 404)
async def script_update(world: TheWorld, script_id: _ScriptId, settings: ScriptSettings) -> Response:
    """Update an edge script's settings."""
    return payload(world.scripts.update(_known_script(world, script_id), settings.name, settings.script_type))


@_script("POST /compute/script/{id}/secrets", "ScriptSecret", 404)
async def script_add_secret(world: TheWorld, script_id: _ScriptId, secret: NewSecret) -> Response:
    """Add a named secret to an edge script."""
    added = world.scripts.add_secret(_known_script(world, script_id), secret.name)
    if added is None:
        return script_error(400, "secret.name.taken", "Name", "There is a secret of this name.")
    return payload(added)


@operation("GET /search", "SearchResponse", access=Access.ACCESS_KEY, errors=None)
async def search(
    world: TheWorld,
    term: Annotated[_Term, Query(alias="search")] = "",
    start: Annotated[_Place, Query(alias="from")] = 0,
    size: _Place = 20,
) -> Response:
    """Return the resources whose names contain a term."""
    if start < 0 or size < 0 or len(term) > _LONGEST_TERM:
        raise RequestError("from and size must not be negative, and search takes up to 1000 characters")
    return payload(world.search.answer(term, start, size))


@operation(
    "POST /mc/registries/tags",
    "ContainerImageTags",
    *(404, 422, 500),
    access=Access.ACCESS_KEY,
    errors="FieldErrors",
    unauthorised="ProblemDetails",
)
async def container_image_tags(world: TheWorld, image: ContainerImage, request: Request) -> Response:
    """Return the tags of a container image."""
    path = request.url.path
    try:
        tags = world.registries.tags(image.registry_id, image.image_namespace, image.image_name)
    except ConnectionError:
        unreachable = [("registryId", "The registry does not answer.")]
        return problem(500, "The tags could not be read.", path, unreachable, world.next_trace())
    except KeyError:
        return problem(404, "The image was not found.", path)
    return payload([{"name": tag} for tag in tags])


OPERATIONS: Final[tuple[Operation, ...]] = (
    *(dns_statistics, dns_record_scan),
    *(shield_zones, shield_rate_limit, shield_zone_rate_limits),
    *(shield_set_bot_action, shield_switch_access_list, shield_access_list, shield_api_guardian, shield_bot_detection),
    *(shield_waf_custom_rule, shield_waf_plan_segmentation),
    *(script_list, script_get, script_update, script_add_secret),
    *(search, container_image_tags),
)
