"""Defines the resources on the platform of the pictures."""

from collections.abc import Mapping, Sequence

from exporter.collectors.catalogue import CATALOGUE
from tests.dashboards.world import VALUES, Labels

# Zones with their mean of queries a second.
ZONES: tuple[tuple[str, str, str, float], ...] = (
    ("main", "101", "shop.example", 41.0),
    ("main", "102", "api.example", 28.5),
    ("main", "103", "static.example", 17.2),
    ("main", "104", "mail.example", 6.3),
    ("eu", "201", "shop-eu.example", 22.0),
    ("eu", "202", "login.example", 9.1),
    ("eu", "203", "docs.example", 3.7),
)
# Scripts with their mean of requests a second, seconds of CPU of a request, and budget.
SCRIPTS: tuple[tuple[str, str, str, float, float, float], ...] = (
    ("main", "7", "router", 62.0, 0.0021, 40.0),
    ("main", "8", "image-resize", 7.5, 0.0320, 20.0),
    ("eu", "9", "cart", 18.0, 0.0054, 15.0),
    ("eu", "10", "geo-redirect", 34.0, 0.0009, 30.0),
)
# Rate limits with their mean of breaches a second.
LIMITS: tuple[tuple[str, str, str, str, float], ...] = (
    ("main", "3", "55", "login", 0.031),
    ("main", "3", "56", "search", 0.012),
    ("eu", "4", "57", "checkout", 0.004),
    ("eu", "4", "58", "api", 0.02),
)
SHIELDS = (("main", "3", "shop"), ("eu", "4", "shop-eu"), ("eu", "5", "docs"))
ACCOUNTS = ("main", "eu")
QUERIES = ("orders_open", "carts_stale", "payments_failed")
BOUNDS = ("0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf")
INTERVALS = {collector.name: collector.interval for collector in CATALOGUE}
RECORD_TYPES = {"A": 0.61, "AAAA": 0.22, "HTTPS": 0.09, "TXT": 0.04, "MX": 0.03, "CNAME": 0.01}


def _things(labels: str, *rows: Sequence[object]) -> tuple[Labels, ...]:
    """Return things by the names and values of their labels; further values of a row are not labels."""
    return tuple(dict(zip(labels.split(), map(str, row), strict=False)) for row in rows)


_TARGETS = (
    *((zone[0], "dns_statistics", f"dns_zone/{zone[1]}", zone[2]) for zone in ZONES),
    *((zone[0], "dns_record_scans", f"dns_zone/{zone[1]}", zone[2]) for zone in ZONES),
    *((script[0], "scripts", f"script/{script[1]}", script[2]) for script in SCRIPTS),
    *((limit[0], "shield_rate_limits", f"rate_limit/{limit[2]}", limit[3]) for limit in LIMITS),
    *((account, "shield_zones", f"account/{account}", account) for account in ACCOUNTS),
    *(("", "database_queries", f"query/orders/{query}", query) for query in QUERIES),
    ("", "database", "database/orders", "orders"),
    ("main", "container_tags", "image/nginx", "nginx"),
)
_IMAGES = (("main", "dockerhub", "library", "nginx"), ("main", "dockerhub", "library", "redis"))
THINGS: tuple[tuple[Labels, ...], ...] = (
    _things("account zone_id domain", *ZONES),
    _things("account script_id script", *SCRIPTS),
    _things("account shield_zone_id rate_limit_id rate_limit", *LIMITS),
    _things("account shield_zone_id access_list_id access_list", ("main", "3", "11", "office")),
    _things("account shield_zone_id rule_id rule", ("main", "3", "21", "no old TLS")),
    _things("account shield_zone_id pull_zone", *SHIELDS),
    _things("account shield_zone_id", *SHIELDS),
    _things("account registry_id image_namespace image", *_IMAGES),
    _things("account query", ("main", "prod"), ("main", "staging")),
    _things("account collector target name", *_TARGETS),
    _things("database query", *(("orders", query) for query in QUERIES)),
    _things("database", ("orders",)),
    _things("account", *((account,) for account in ACCOUNTS)),
    ({},),
)
# A label that is neither here nor of a thing has its own name as its value.
LABELS: Mapping[str, tuple[str, ...]] = {
    **VALUES,
    "alertstate": ("firing",),
    "branch": ("main",),
    "cause": ("platform_has_none",),
    "checksum": ("5e884898",),
    "code": ("200",),
    "collector": tuple(INTERVALS),
    "default_hostname": ("edge.example",),
    "job_id": ("7c81e0f2",),
    "operation": (*VALUES["operation"], "GET /shield/metrics/rate-limits/{id}", "GET /compute/script/{id}"),
    "plan": ("business",),
    "reason": ("unauthorized",),
    "record_type": tuple(RECORD_TYPES),
    "region": ("eu", "us", "asia"),
    "release_id": ("41",),
    "repository": ("acme/edge",),
    "ruleset": ("core", "bots"),
    "script_type": ("cdn",),
    "shards": ("1",),
    "system_hostname": ("system.example",),
    "tag": ("stable", "latest"),
    "title": ("Shop API",),
    "version": ("1.0",),
}
