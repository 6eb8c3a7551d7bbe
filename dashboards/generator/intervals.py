"""How often what a query reads can change: the default intervals of the collectors, as Grafana writes them.

A query's finest step is the interval of its collector. With a finer one a rate would be zero between two polls and
a spike at each; with this one `$__rate_interval` spans four polls.
"""

from exporter.collectors.catalogue import CATALOGUE

_SECONDS = {collector.name: int(collector.interval) for collector in CATALOGUE}


def written(seconds: float) -> str:
    """An interval as Grafana writes it, in hours or minutes."""
    minutes = max(1, int(seconds) // 60)
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def _interval(*collectors: str) -> str:
    """The longest interval of these collectors, as Grafana writes it."""
    return written(max(_SECONDS[name] for name in collectors))


DNS_STATISTICS = _interval("dns_statistics")
DNS_RECORD_SCANS = _interval("dns_record_scans")
SCRIPTS = _interval("scripts")
RATE_LIMITS = _interval("shield_rate_limits")
SHIELD_ZONES = _interval("shield_zones")
# API guardians, bot detection, access lists and custom rules, each an endpoint of its own.
SHIELD_DETAILS = _interval(
    "shield_api_guardian", "shield_bot_detection", "shield_access_lists", "shield_waf_custom_rules"
)
SHIELD_PLANS = _interval("shield_waf_plans")
DISCOVERY = _interval("discovery")
IMAGES = _interval("container_tags")
SEARCHES = _interval("search")
DATABASES = _interval("database")
DATABASE_QUERIES = _interval("database_queries")

# What the program says of itself changes as it happens.
TELEMETRY = "1m"

# How far the samples stand apart that `backfill` writes: a rate over four of them is what it brings of an hour.
HISTORY = "15m"

# A closed day of the platform's charts.
DAY = "1d"
