"""How often what a query reads can change: the default intervals of the collectors, as Grafana writes them.

A query's finest step is the interval of its collector. With a finer one a rate would be zero between two polls and
a spike at each; with this one `$__rate_interval` spans four polls.
"""

DNS_STATISTICS = "5m"
DNS_RECORD_SCANS = "10m"
SCRIPTS = "15m"
RATE_LIMITS = "1m"
SHIELD_ZONES = "5m"
# API guardians, bot detection, access lists and custom rules, each an endpoint of its own.
SHIELD_DETAILS = "15m"
SHIELD_PLANS = "1h"
DISCOVERY = "10m"
IMAGES = "15m"
SEARCHES = "10m"
DATABASES = "1m"
DATABASE_QUERIES = "5m"

# What the program says of itself changes as it happens.
TELEMETRY = "1m"

# A closed day of the platform's charts.
DAY = "1d"
