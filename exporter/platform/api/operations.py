"""Every operation that the client knows, in the order of the interface document's endpoint table."""

from typing import Any

from exporter.platform.api import containers, dns, global_search, scripting, shield, sql_over_http
from exporter.platform.operation import Operation

OPERATIONS: tuple[Operation[Any], ...] = (
    *(dns.STATISTICS, dns.RECORD_SCAN, scripting.UPDATE, scripting.ADD_SECRET, containers.TAGS),
    *(shield.SET_BOT_ACTION, shield.SWITCH_ACCESS_LIST, shield.ACCESS_LIST, shield.API_GUARDIAN, shield.BOT_DETECTION),
    *(shield.ZONES, shield.RATE_LIMIT, shield.CUSTOM_RULE, shield.PLAN_SEGMENTATION, global_search.SEARCH),
    *(scripting.READ, scripting.READ_BY_UPDATE, shield.ZONE_RATE_LIMITS),
    sql_over_http.PIPELINE,
)
