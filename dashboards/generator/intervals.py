"""Computes the smallest step of a query from the default intervals of the collectors.

By default, the step is the longest interval of the collectors whose metrics the query reads, so that
`$__rate_interval` spans four polls. With a smaller step, a rate would be zero between two polls, and a spike at each.
"""

import re

from exporter.collectors.catalogue import CATALOGUE

# For the exporter's own metrics, which change at any time.
OWN_METRICS = "1m"
# The distance between samples that `backfill` writes by default.
HISTORY = "15m"
# For closed days of the platform's charts.
DAY = "1d"

_SECONDS = {family.name: collector.interval for collector in CATALOGUE for family in collector.families}


def written(seconds: float) -> str:
    """Write an interval for Grafana, in hours or minutes."""
    minutes = max(1, int(seconds) // 60)
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def step_of(expr: str) -> str:
    """Return the longest interval of the collectors whose metrics a query names; 1m if it names none."""
    return written(max((_SECONDS.get(name, 0.0) for name in re.findall(r"\bedge_\w+", expr)), default=0.0))
