"""A target for every collector of the catalogue."""

from exporter.collectors.catalogue import with_queries
from exporter.collectors.collector import Collector
from exporter.collectors.database import DatabaseQuery, SqlQuery
from exporter.collectors.discovery import RATE_LIMITS, SEARCH, SHIELD_ZONES
from exporter.targets.target import Target

QUERY = DatabaseQuery(
    "orders", SqlQuery(name="orders_open", help="Orders not yet shipped.", sql="SELECT 1", labels=("region",)), 60.0
)
IMAGE = {"registry_id": "dockerhub", "namespace": "library", "name": "nginx"}
TARGETS = {
    "dns_zone": Target("main", "dns_zone", "102", "example.com"),
    "script": Target("main", "script", "7", "router", {"read": "get"}),
    "rate_limit": Target("main", "rate_limit", "55", "login", {"shield_zone_id": "3"}),
    "account": Target("main", "account", "main", "main", watched=(SEARCH, SHIELD_ZONES, RATE_LIMITS, "shield_zone")),
    "shield_zone": Target("main", "shield_zone", "3", "shop"),
    "access_list": Target("main", "access_list", "11", "office", {"shield_zone_id": "3"}),
    "waf_custom_rule": Target("main", "waf_custom_rule", "21", "login"),
    "image": Target("main", "image", "dockerhub/library/nginx", "nginx", IMAGE, ("stable", "1.27", "edge")),
    "search": Target("main", "search", "prod", "prod"),
    "database": Target("", "database", "orders", "orders"),
    "query": QUERY.target(),
}


def collectors() -> tuple[Collector, ...]:
    """The catalogue with one configured query."""
    return with_queries([QUERY])
