"""Shield zones: protection settings, rate limits, access lists, API guardian, bot detection and WAF rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from pydantic import TypeAdapter

from exporter.platform.api import shield_models as models
from exporter.platform.operation import WHOLE_LIMIT, Answer, Caller, Operation, Parameter, Request
from exporter.platform.wire import Each, Envelope, Unusable

T = TypeVar("T")

# Zones per page. A zone takes one or several kilobytes, and a page should stay far below `PAGE_LIMIT`.
PAGE_SIZE = 200
# Ends the listing if a platform sends new zones without end.
MOST_PAGES = 10_000


def _enveloped(payload: type[T]) -> TypeAdapter[T]:
    """Return the adapter of `Envelope[payload]`, typed as the payload, because the client removes the envelope."""
    return cast("TypeAdapter[T]", TypeAdapter(Envelope[payload]))  # type: ignore[valid-type]


_ZONE = Parameter("shieldZoneId", "path", "integer", "Shield zone id.")

ZONES = Operation(
    name="shield_zones",
    path="/shield/shield-zones",
    help="The account's shield zones, a page at a time.",
    answer=TypeAdapter(models.ShieldZonePage),
    parameters=(
        Parameter("page", "query", "integer", "Page, from 1.", required=False),
        Parameter("perPage", "query", "integer", "Zones per page, 1 to 1,000.", required=False),
    ),
)

RATE_LIMIT = Operation(
    name="shield_rate_limit_metrics",
    path="/shield/metrics/rate-limit/{id}",
    help="Breaches of a rate limit over the last 28 days.",
    answer=_enveloped(models.RateLimitMetrics),
    parameters=(Parameter("id", "path", "integer", "Rate limit id."),),
)

ZONE_RATE_LIMITS = Operation(
    name="shield_zone_rate_limits",
    path="/shield/metrics/rate-limits/{shieldZoneId}",
    help="Breaches of every rate limit of a shield zone.",
    answer=cast("TypeAdapter[list[models.RateLimitMetrics] | None]", _enveloped(list[Each[models.RateLimitMetrics]])),
    parameters=(_ZONE,),
    absent=frozenset({404}),
    documented=False,
)

ACCESS_LIST = Operation(
    name="shield_access_list",
    path="/shield/shield-zone/{shieldZoneId}/access-lists/{id}",
    help="A custom access list.",
    answer=_enveloped(models.CustomAccessList),
    parameters=(_ZONE, Parameter("id", "path", "integer", "Custom access list id.")),
    most_bytes=WHOLE_LIMIT,
)

API_GUARDIAN = Operation(
    name="shield_api_guardian",
    path="/shield/shield-zone/{shieldZoneId}/api-guardian",
    help="The API guardian's configuration and endpoints.",
    answer=_enveloped(models.ApiGuardian),
    parameters=(_ZONE,),
    most_bytes=WHOLE_LIMIT,
)

BOT_DETECTION = Operation(
    name="shield_bot_detection",
    path="/shield/shield-zone/{shieldZoneId}/bot-detection",
    help="The bot-detection configuration.",
    answer=_enveloped(models.BotDetectionConfiguration),
    parameters=(_ZONE,),
)

CUSTOM_RULE = Operation(
    name="shield_waf_custom_rule",
    path="/shield/waf/custom-rule/{id}",
    help="A custom WAF rule.",
    answer=TypeAdapter(models.CustomWafRule),
    parameters=(Parameter("id", "path", "integer", "Custom WAF rule id."),),
)

PLAN_SEGMENTATION = Operation(
    name="shield_waf_plan_segmentation",
    path="/shield/waf/rules/plan-segmentation",
    help="WAF rules by the plan that includes them.",
    answer=_enveloped(list[models.PlanSegment]),
    most_bytes=WHOLE_LIMIT,
)

# The categories that the interface document permits in a request; answers may have others.
_SETTABLE = {number: name for number, name in models.BOT_CATEGORY.items() if number in range(8)}

SET_BOT_ACTION = Operation(
    name="shield_bot_category_action",
    method="PUT",
    path="/shield/shield-zone/{shieldZoneId}/bot-categorization/categories/{category}",
    help="Sets the action for a category of bots.",
    answer=_enveloped(models.BotCategoryAction),
    parameters=(
        _ZONE,
        Parameter("category", "path", "integer", "Category of bots.", allowed=_SETTABLE),
        Parameter("action", "body", "integer", "The action for the category.", allowed=models.BOT_ACTION),
    ),
    writes=True,
)

SWITCH_ACCESS_LIST = Operation(
    name="shield_access_list_switch",
    method="PATCH",
    path="/shield/shield-zone/{shieldZoneId}/access-lists/configurations/{id}",
    help="Switches an access-list configuration on or off.",
    answer=_enveloped(models.AccessListConfiguration),
    parameters=(
        _ZONE,
        Parameter("id", "path", "integer", "Access-list configuration id."),
        Parameter("isEnabled", "body", "boolean", "Whether the list is on."),
    ),
    writes=True,
)


@dataclass(frozen=True, slots=True)
class ZoneListing:
    """The shield zones of an account, from the pages of their list.

    Attributes:
        zones: id → zone.
        unusable: id of a zone without a valid item → what is wrong with its invalid item.
        total: the number of zones, as the last page says; None if the last page has no number.
        complete: whether the number of distinct zones, with the unusable ones, equals `total`.
    """

    zones: Mapping[int, models.ShieldZone]
    unusable: Mapping[int, str]
    total: int | None
    complete: bool


async def list_zones(caller: Caller) -> Answer[ZoneListing]:
    """List the shield zones of the account, page by page.

    Raises:
        PlatformError: a page gave no usable answer.
    """
    zones: dict[int, models.ShieldZone] = {}
    unusable: dict[int, str] = {}
    without_id = listed = 0
    page_number = 1
    for _ in range(MOST_PAGES):
        answer = await caller.call(Request(ZONES, query={"page": page_number, "perPage": PAGE_SIZE}))
        for item in answer.value.data or ():
            if not isinstance(item, Unusable):
                zones[item.shield_zone_id] = item
            elif (zone_id := item.identity("shieldZoneId")) is not None:
                unusable[zone_id] = item.fault
            else:
                without_id += 1
        listed_before = listed
        listed = len(zones) + len(unusable) + without_id
        next_page = _page_after(page_number, listed, answer.value.page)
        # Stop at a page without a new zone: a platform that ignores `page` sends the first page again and again.
        if next_page is None or listed == listed_before:
            break
        page_number = next_page
    total = answer.value.page.total_count if answer.value.page is not None else None
    # A zone may be in the list twice. With one valid item, the zone is usable.
    unusable = {zone_id: fault for zone_id, fault in unusable.items() if zone_id not in zones}
    complete = total is not None and len(zones) + len(unusable) == total
    return Answer(ZoneListing(zones, unusable, total, complete), answer.date)


def _page_after(number: int, listed: int, page: models.Page | None) -> int | None:
    """Return the number of the page to request after page `number` and `listed` zones; None after the last page."""
    if page is None:
        return None
    if page.next_page is not None and page.next_page > number:
        return page.next_page
    has_more_zones = page.total_count is not None and listed < page.total_count
    has_more_pages = page.total_pages is not None and number < page.total_pages
    return number + 1 if has_more_zones or has_more_pages else None
