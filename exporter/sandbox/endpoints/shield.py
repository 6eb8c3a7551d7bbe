"""The operations on shield zones and on their rate limits."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import enveloped, payload, refused, status_only
from exporter.sandbox.operation import Operation
from exporter.sandbox.request_parsing import BadQueryError, page_size, path_id, query_number
from exporter.sandbox.shield import DEFAULT_PAGE_SIZE, LARGEST_PAGE_SIZE
from exporter.sandbox.world import World


async def _zones(world: World, request: Request) -> Response:
    page = query_number(request, "page", 1)
    size = page_size(request, DEFAULT_PAGE_SIZE)
    if page < 1 or size > LARGEST_PAGE_SIZE:
        raise BadQueryError("page counts from 1, and perPage is up to 1000")
    return payload(world.shield.page(page, size))


async def _rate_limit(world: World, request: Request) -> Response:
    limit_id = path_id(request, "id")
    if limit_id is None:
        return status_only(400)
    limit = world.rate_limits.find(limit_id)
    if limit is None or limit.shield_zone_id not in world.shield.zones:
        return refused("not_found.ratelimit_shieldzone", "The rate limit was not found.", status_code=404)
    defaulted = limit_id % 2 == 0
    return enveloped(world.rate_limits.metrics(limit_id), defaulted=defaulted, with_status=True)


async def _rate_limits(world: World, request: Request) -> Response:
    zone_id = path_id(request, "shieldZoneId")
    if zone_id is None:
        return status_only(400)
    if zone_id not in world.shield.zones:
        return refused(
            "not_found_or_unauthorised_access.shieldzone",
            "The shield zone was not found, or is not yours.",
            status_code=404,
        )
    limits = world.rate_limits.limits(zone_id)
    return enveloped([{"ratelimitId": one.limit_id, **world.rate_limits.metrics(one.limit_id)} for one in limits])


OPERATIONS: Final = (
    Operation(
        name="shield_zones",
        method="GET",
        path="/shield/shield-zones",
        handler=_zones,
        result="ShieldZonePage",
        summary="The account's shield zones",
        query={"page": {"type": "integer", "minimum": 1}, "perPage": {"type": "integer", "maximum": LARGEST_PAGE_SIZE}},
    ),
    Operation(
        name="shield_rate_limit",
        method="GET",
        path="/shield/metrics/rate-limit/{id}",
        handler=_rate_limit,
        result="RateLimitMetrics",
        summary="Breaches of a rate limit",
        failures=(202, 400),
    ),
    Operation(
        name="shield_zone_rate_limits",
        method="GET",
        path="/shield/metrics/rate-limits/{shieldZoneId}",
        handler=_rate_limits,
        result="ZoneRateLimitMetrics",
        summary="Breaches of every rate limit of a shield zone",
        documented=False,
        failures=(202, 400),
    ),
)
