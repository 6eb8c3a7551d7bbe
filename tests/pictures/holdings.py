"""Defines the resources on the platform of the pictures."""

from collections.abc import Mapping, Sequence

from exporter import __version__
from tests.dashboards.world import VALUES, Labels

# Zones with their mean of queries a second.
ZONES: tuple[tuple[str, str, str, float], ...] = (
    ("main", "101", "shop.example", 41.0),
    ("main", "102", "api.example", 28.5),
    ("main", "103", "static.example", 17.2),
    ("main", "104", "mail.example", 6.3),
    ("main", "105", "status.example", 1.4),
    ("eu", "201", "shop-eu.example", 22.0),
    ("eu", "202", "login.example", 9.1),
    ("eu", "203", "docs.example", 3.7),
    ("eu", "204", "parked.example", 0.05),
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
SHIELDS: tuple[tuple[str, str, str], ...] = (("main", "3", "shop"), ("eu", "4", "shop-eu"), ("eu", "5", "docs"))
ACCOUNTS = ("main", "eu")
IMAGES = ("nginx", "redis")
QUERIES = ("orders_open", "carts_stale", "payments_failed")
POLLED: Mapping[str, tuple[int, float]] = {
    "discovery": (600, 1.3),
    "dns_statistics": (300, 0.21),
    "dns_record_scans": (600, 0.16),
    "scripts": (900, 0.24),
    "shield_rate_limits": (60, 0.12),
    "shield_zones": (300, 0.19),
    "container_tags": (900, 0.6),
    "database": (60, 0.05),
    "database_queries": (60, 0.03),
}
# Calls a second, and how long the middle one takes.
ENDPOINTS: Mapping[str, tuple[float, float]] = {
    "GET /dnszone/{id}/statistics": (9 / 300, 0.18),
    "GET /dnszone/{zoneId}/records/scan": (9 / 600, 0.12),
    "GET /shield/metrics/rate-limits/{id}": (4 / 60, 0.09),
    "GET /compute/script/{id}": (4 / 900, 0.2),
    "GET /search": (2 / 600, 0.9),
}
BOUNDS = ("0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf")
RECORD_TYPES = {"A": 0.61, "AAAA": 0.22, "HTTPS": 0.09, "TXT": 0.04, "MX": 0.03, "CNAME": 0.01}
RECORDS = {"A": 14.0, "AAAA": 9.0, "CNAME": 11.0, "MX": 2.0, "TXT": 6.0, "HTTPS": 1.0}


def _things(labels: str, *rows: Sequence[object]) -> tuple[Labels, ...]:
    """Return things by the names and values of their labels; further values of a row are not labels."""
    return tuple(dict(zip(labels.split(), map(str, row), strict=False)) for row in rows)


# By the collectors that poll them: the account, id and name of each target.
_TARGETS: tuple[tuple[tuple[str, ...], str, Sequence[tuple[str, str, str]]], ...] = (
    (("dns_statistics", "dns_record_scans"), "dns_zone", [zone[:3] for zone in ZONES]),
    (("scripts",), "script", [script[:3] for script in SCRIPTS]),
    (("shield_rate_limits",), "rate_limit", [(account, limit, name) for account, _, limit, name, _ in LIMITS]),
    (("database",), "database", [("", "orders", "orders")]),
    (("database_queries",), "query", [("", f"orders/{query}", query) for query in QUERIES]),
    (("shield_zones",), "account", [(account, account, account) for account in ACCOUNTS]),
    (("container_tags",), "image", [("main", "nginx", "nginx")]),
)
_OF_TARGETS = [
    (account, collector, f"{kind}/{number}", name)
    for collectors, kind, targets in _TARGETS
    for collector in collectors
    for account, number, name in targets
]
_ACCESS_LISTS = (("main", "3", "11", "office"), ("main", "3", "12", "known bots"))
_RULES = (("main", "3", "21", "no old TLS"), ("main", "3", "22", "admin from office only"))
THINGS: tuple[tuple[Labels, ...], ...] = (
    _things("account zone_id domain", *ZONES),
    _things("account script_id script", *SCRIPTS),
    _things("account shield_zone_id rate_limit_id rate_limit", *LIMITS),
    _things("account shield_zone_id access_list_id access_list", *_ACCESS_LISTS),
    _things("account shield_zone_id rule_id rule", *_RULES),
    _things("account shield_zone_id", *SHIELDS),
    _things("account registry_id image_namespace image", *(("main", "dockerhub", "library", each) for each in IMAGES)),
    _things("account query", ("main", "prod"), ("main", "staging")),
    _things("account collector target name", *_OF_TARGETS),
    _things("database query", *(("orders", query) for query in QUERIES)),
    _things("database", ("orders",)),
    _things("account", *((account,) for account in ACCOUNTS)),
    ({},),
)
# Each value of a label belongs to a thing; `life` leaves out pairs that make no sense.
LABELS: Mapping[str, tuple[str, ...]] = {
    **VALUES,
    "branch": ("main",),
    "checksum": ("5e884898",),
    "plan": ("business",),
    "python": ("3.13.5",),
    "release_id": ("41",),
    "script_type": ("cdn",),
    "shards": ("1",),
    "title": ("Shop API",),
    "version": (__version__,),
    "cause": ("never_scanned", "no_value"),
    "check": ("request_schema", "response_schema", "authorization", "xss", "sqli", "rate_limit"),
    "code": ("200", "401", "404"),
    "collector": tuple(POLLED),
    "operation": tuple(ENDPOINTS),
    "feature": (
        *("realtime_threat_intelligence", "request_header_logging"),
        *("request_body_logging", "whitelabel_response_pages"),
    ),
    "level": ("off", "low", "medium", "high"),
    "reason": ("timeout", "unauthorized"),
    "record_type": tuple(RECORD_TYPES),
    "region": ("eu", "us", "asia"),
    "resource_type": ("dns", "cdn", "script", "storage"),
    "ruleset": ("core", "bots", "known exploits"),
    "tag": ("stable", "latest"),
}
