"""The operations of the management API."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Final, TypeAlias

from fastapi import Body, Path, Query
from pydantic import BeforeValidator
from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import enveloped, payload, problem, refused, script_error
from exporter.sandbox.keys import DNS_STATISTICS_ROLES
from exporter.sandbox.protection import CONFIG_ID_OFFSET, api_guardian, bot_detection
from exporter.sandbox.request_errors import RequestError
from exporter.sandbox.resource_ids import find
from exporter.sandbox.route import PlatformRoute, Refusal, TheWorld, operation
from exporter.sandbox.seed import recorded, seed
from exporter.sandbox.world import World

_BASIC_PLAN: Final = 0
_SMALLEST_PAGE: Final = 5  # a request for a smaller page gets a page of this size
_ZONE_PATH: Final = "/shield/shield-zone/{shieldZoneId}"

_dns: Final = partial(operation, errors="script", unauthorised="core")
_script: Final = partial(operation, bearer=False, errors="script", unauthorised="empty")
_protection: Final = partial(operation, errors="problem", unauthorised="status")
_field: Final = partial(Body, embed=True, strict=True)

_Id: TypeAlias = Annotated[int, Path(alias="id")]
_ShieldZoneId: TypeAlias = Annotated[int, Path(alias="shieldZoneId")]
_Size: TypeAlias = Annotated[int, Query(alias="perPage", le=1_000)]
# An empty text means that the parameter is missing.
_Moment: TypeAlias = Annotated[datetime | None, BeforeValidator(lambda text: text or None)]


def _unix(moment: datetime | None) -> float | None:
    if moment is None:
        return None
    # A date-time without a zone is UTC.
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


def _require_dns_zone(world: World, zone_id: int) -> int:
    if zone_id not in world.dns.zones:
        raise Refusal(script_error(404, "dnsZone.not_found", "DnsZone", "The requested DNS zone was not found."))
    return zone_id


def _require_script(world: World, script_id: int) -> int:
    if script_id not in world.scripts.scripts:
        raise Refusal(script_error(404, "script.not_found", "Id", "There is no script with this id."))
    return script_id


def _has_default_error(resource_id: int) -> bool:
    """Return whether the `error` of a successful answer is an object instead of null; the platform sends both forms."""
    return resource_id % 2 == 1


def _require_shield_zone(world: World, zone_id: int, *, status_code: int | None = None) -> int:
    if zone_id not in world.shield.zones:
        error_key = "not_found_or_unauthorised_access.shieldzone"
        raise Refusal(refused(error_key, "The shield zone was not found, or is not yours.", status_code=status_code))
    return zone_id


@_dns("GET /dnszone/{id}/statistics", roles=DNS_STATISTICS_ROLES)
async def dns_statistics(
    world: TheWorld,
    zone_id: _Id,
    date_from: Annotated[_Moment, Query(alias="dateFrom")] = None,
    date_to: Annotated[_Moment, Query(alias="dateTo")] = None,
) -> Response:
    """Return the query statistics of a DNS zone."""
    begin, end = _unix(date_from), _unix(date_to)
    if begin is not None and end is not None and begin > end:
        raise RequestError("dateFrom is later than dateTo")
    return payload(world.dns.statistics(_require_dns_zone(world, zone_id), begin, end))


@_dns("GET /dnszone/{zoneId}/records/scan", bearer=False)
async def dns_record_scan(world: TheWorld, zone_id: Annotated[int, Path(alias="zoneId")]) -> Response:
    """Return the latest record scan of a DNS zone."""
    scan = world.scans.answer(_require_dns_zone(world, zone_id))
    if scan is None:
        return script_error(404, "dnsZone.recordScan.not_found", "DnsZone", "The DNS zone was never scanned.")
    return payload(scan)


@operation("GET /shield/shield-zones")
async def shield_zones(world: TheWorld, page: Annotated[int, Query(ge=1)] = 1, size: _Size = 10) -> Response:
    """Return a page of the account's shield zones."""
    return payload(world.shield.page(page, max(_SMALLEST_PAGE, size)))


@operation("GET /shield/metrics/rate-limit/{id}")
async def shield_rate_limit(world: TheWorld, limit_id: _Id) -> Response:
    """Return the breaches of a rate limit."""
    limit = world.rate_limits.limits.get(limit_id)
    if limit is None:
        return refused("not_found.ratelimit_shieldzone", "The rate limit was not found.", status_code=404)
    metrics, default_error = world.rate_limits.metrics(limit_id), _has_default_error(limit_id)
    # Unlike most operations, this one has a `statusCode` in its default error.
    return enveloped(metrics, default_error=default_error, error_has_status_code=True)


@operation("GET /shield/metrics/rate-limits/{shieldZoneId}")
async def shield_zone_rate_limits(world: TheWorld, zone_id: _ShieldZoneId) -> Response:
    """Return the breaches of every rate limit of a shield zone."""
    _require_shield_zone(world, zone_id, status_code=404)
    limits = [one.limit_id for one in world.rate_limits.limits.values() if one.shield_zone_id == zone_id]
    return enveloped([{"ratelimitId": limit_id, **world.rate_limits.metrics(limit_id)} for limit_id in limits])


@_protection(f"PUT {_ZONE_PATH}/bot-categorization/categories/{{category}}")
async def shield_set_bot_action(
    world: TheWorld,
    category: Annotated[int, Path(ge=0, le=7)],
    zone_id: _ShieldZoneId,
    action: Annotated[int, _field(ge=0, le=2)],
) -> Response:
    """Set the action for a bot category."""
    if world.shield.plan(_require_shield_zone(world, zone_id, status_code=404)) == _BASIC_PLAN:
        return refused("invalid_plan_type.bot_categorization", "The plan has no bot categorization.", status_code=403)
    # The action is not kept, because no operation returns it.
    return enveloped({"category": category, "action": action})


@_protection(f"PATCH {_ZONE_PATH}/access-lists/configurations/{{id}}")
async def shield_switch_access_list(
    world: TheWorld,
    configuration_id: _Id,
    zone_id: _ShieldZoneId,
    is_enabled: Annotated[bool, _field(alias="isEnabled")],
    request: Request,
) -> Response:
    """Switch an access list on or off."""
    switched = world.access_lists.find(_require_shield_zone(world, zone_id), configuration_id - CONFIG_ID_OFFSET)
    if switched is None:
        return problem(404, "The access list configuration was not found.", request.url.path)
    switched.is_enabled = is_enabled
    return enveloped({"isEnabled": is_enabled})


@_protection(f"GET {_ZONE_PATH}/access-lists/{{id}}")
async def shield_access_list(world: TheWorld, list_id: _Id, zone_id: _ShieldZoneId, request: Request) -> Response:
    """Return a custom access list."""
    listed = world.access_lists.find(_require_shield_zone(world, zone_id), list_id)
    if listed is None:
        return problem(404, "The access list was not found.", request.url.path)
    return enveloped(world.access_lists.answer(listed), default_error=_has_default_error(list_id))


@_protection(f"GET {_ZONE_PATH}/api-guardian")
async def shield_api_guardian(world: TheWorld, zone_id: _ShieldZoneId) -> Response:
    """Return the API guardian of a shield zone."""
    # The platform refuses with the status 200 here. A zone whose plan is no integer is refused, too.
    if world.shield.plan(_require_shield_zone(world, zone_id)) in (None, _BASIC_PLAN):
        error_key = "api_guardian.get_api_guardian.no_configuration"
        return refused(error_key, "The shield zone has no API guardian configuration.", http_status=200)
    return enveloped(api_guardian(zone_id, world.began_at), default_error=_has_default_error(zone_id))


@_protection(f"GET {_ZONE_PATH}/bot-detection")
async def shield_bot_detection(world: TheWorld, zone_id: _ShieldZoneId) -> Response:
    """Return the bot detection of a shield zone."""
    if world.shield.plan(_require_shield_zone(world, zone_id)) == _BASIC_PLAN:
        return refused("invalid_plan_type.bot_detection", "The plan has no bot detection.")
    return enveloped(bot_detection(zone_id), default_error=_has_default_error(zone_id))


@operation("GET /shield/waf/custom-rule/{id}")
async def shield_waf_custom_rule(world: TheWorld, rule_id: _Id) -> Response:
    """Return a custom WAF rule."""
    rule = world.custom_rules.get(rule_id)
    if rule is None:
        # The platform answers 202, with an error in the body, for a rule that does not exist.
        return payload(seed("missing_rule"), 202)
    return payload(rule)


@operation("GET /shield/waf/rules/plan-segmentation")
async def shield_waf_plan_segmentation() -> Response:
    """Return the WAF rules grouped by plan."""
    return enveloped(recorded("waf_plan_segmentation"), default_error=True)


@_script("GET /compute/script")
async def script_list(world: TheWorld, page: int = 1, size: _Size = 1_000) -> Response:
    """Return a page of the account's edge scripts."""
    if page < 1:
        # The platform answers 500 for page 0.
        return Response(status_code=500)
    ids = world.scripts.scripts
    size = max(_SMALLEST_PAGE, size)
    start = (page - 1) * size
    items = [world.scripts.answer(script_id) for script_id in ids.slice(start, size)]
    has_more = start + size < len(ids)
    return payload({"Items": items, "CurrentPage": page, "TotalItems": len(ids), "HasMoreItems": has_more})


@_script("GET /compute/script/{id}")
async def script_get(world: TheWorld, script_id: _Id) -> Response:
    """Return an edge script."""
    return payload(world.scripts.answer(_require_script(world, script_id)))


@_script("POST /compute/script/{id}")
async def script_update(
    world: TheWorld,
    script_id: _Id,
    name: Annotated[str | None, _field(alias="Name", min_length=1, max_length=256)] = None,
    script_type: Annotated[int | None, _field(alias="ScriptType", ge=0, le=2)] = None,
) -> Response:
    """Update an edge script's settings."""
    world.scripts.update(_require_script(world, script_id), name, script_type)
    return payload(world.scripts.answer(script_id))


@_script("POST /compute/script/{id}/secrets")
async def script_add_secret(
    world: TheWorld,
    script_id: _Id,
    name: Annotated[str, _field(alias="Name", min_length=1, max_length=256)],
    secret: Annotated[str, _field(alias="Secret", max_length=4_096)],  # noqa: ARG001 - checked, and not kept
) -> Response:
    """Add a named secret to an edge script."""
    if world.scripts.has_secret(_require_script(world, script_id), name):
        return script_error(400, "secret.name.taken", "Name", "There is a secret of this name.")
    return payload(world.scripts.add_secret(script_id, name))


@operation("GET /search", bearer=False, errors="empty")
async def search(
    world: TheWorld,
    term: Annotated[str, Query(alias="search", max_length=1_000)] = "",
    start: Annotated[int, Query(alias="from", ge=0)] = 0,
    size: Annotated[int, Query(ge=0)] = 20,
) -> Response:
    """Return a page of the resources whose names contain a term."""
    return payload(find(world.searchable, term, start, size))


@operation("POST /mc/registries/tags", bearer=False, errors="field problems", unauthorised="problem")
async def container_image_tags(
    world: TheWorld,
    registry: Annotated[str, _field(alias="registryId", pattern="^(dockerhub|github|[0-9]{1,18})$")],
    name: Annotated[str, _field(alias="imageName", min_length=1)],
    namespace: Annotated[str, _field(alias="imageNamespace", min_length=1)],
    request: Request,
) -> Response:
    """Return the tags of a container image."""
    try:
        tags = world.images.tags(registry, namespace, name)
    except KeyError:
        return problem(404, "The image was not found.", request.url.path)
    return payload([{"name": tag} for tag in tags])


OPERATIONS: Final[tuple[PlatformRoute, ...]] = (
    dns_statistics,
    dns_record_scan,
    shield_zones,
    shield_rate_limit,
    shield_zone_rate_limits,
    shield_set_bot_action,
    shield_switch_access_list,
    shield_access_list,
    shield_api_guardian,
    shield_bot_detection,
    shield_waf_custom_rule,
    shield_waf_plan_segmentation,
    script_list,
    script_get,
    script_update,
    script_add_secret,
    search,
    container_image_tags,
)
