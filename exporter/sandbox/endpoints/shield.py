"""The operations on shield zones and on their rate limits."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from exporter.sandbox.answers import enveloped, payload, refused
from exporter.sandbox.operation import Refusal, operation
from exporter.sandbox.request_parsing import RequestError, page_size, path_id, query_number
from exporter.sandbox.shield import DEFAULT_PAGE_SIZE, LARGEST_PAGE_SIZE
from exporter.sandbox.world import World


def shield_zone_id(world: World, request: Request, *, status_code: int | None = None) -> int:
    """Return the shield zone's id from the path.

    Raises:
        Refusal: there is no such shield zone; the envelope's error has the status code, if one is given.
    """
    zone_id = path_id(request, "shieldZoneId")
    if zone_id not in world.shield.zones:
        error_key = "not_found_or_unauthorised_access.shieldzone"
        raise Refusal(refused(error_key, "The shield zone was not found, or is not yours.", status_code=status_code))
    return zone_id


@operation(
    "GET",
    "/shield/shield-zones",
    result="ShieldZonePage",
    query={"page": {"type": "integer", "minimum": 1}, "perPage": {"type": "integer", "maximum": LARGEST_PAGE_SIZE}},
)
async def shield_zones(world: World, request: Request) -> Response:
    """Return a page of the account's shield zones."""
    page = query_number(request, "page", 1)
    size = page_size(request, DEFAULT_PAGE_SIZE)
    if page < 1 or size > LARGEST_PAGE_SIZE:
        raise RequestError("page counts from 1, and perPage is up to 1000")
    return payload(world.shield.page(page, size))


@operation("GET", "/shield/metrics/rate-limit/{id}", result="RateLimitMetrics", failures=(202, 400))
async def shield_rate_limit(world: World, request: Request) -> Response:
    """Return the breaches of a rate limit."""
    limit_id = path_id(request, "id")
    limit = world.rate_limits.find(limit_id)
    if limit is None or limit.shield_zone_id not in world.shield.zones:
        return refused("not_found.ratelimit_shieldzone", "The rate limit was not found.", status_code=404)
    defaulted = limit_id % 2 == 0
    return enveloped(world.rate_limits.metrics(limit_id), defaulted=defaulted, with_status=True)


@operation(
    "GET",
    "/shield/metrics/rate-limits/{shieldZoneId}",
    result="ZoneRateLimitMetrics",
    documented=False,
    failures=(202, 400),
)
async def shield_zone_rate_limits(world: World, request: Request) -> Response:
    """Return the breaches of every rate limit of a shield zone."""
    limits = world.rate_limits.limits(shield_zone_id(world, request, status_code=404))
    return enveloped([{"ratelimitId": one.limit_id, **world.rate_limits.metrics(one.limit_id)} for one in limits])


OPERATIONS: Final = (shield_zones, shield_rate_limit, shield_zone_rate_limits)
