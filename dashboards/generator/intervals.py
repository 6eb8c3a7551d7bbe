"""Computes how often what a query reads can change, from the default intervals of the collectors.

A query's finest step is the interval of its collector. With a finer one a rate would be zero between two polls and
a spike at each; with this one `$__rate_interval` spans four polls.
"""

import re

from exporter.collectors.catalogue import CATALOGUE

# The exporter's own metrics change at any time.
OWN_METRICS = "1m"
# The distance of the samples that `backfill` writes: a rate over four of them is what it brings of an hour.
HISTORY = "15m"
# A closed day of the platform's charts.
DAY = "1d"

_SECONDS = {family.name: collector.interval for collector in CATALOGUE for family in collector.families}


def written(seconds: float) -> str:
    """An interval as Grafana writes it, in hours or minutes."""
    minutes = max(1, int(seconds) // 60)
    return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def step_of(expr: str) -> str:
    """The longest interval of the collectors whose metrics a query names; 1m where it names none."""
    return written(max((_SECONDS.get(name, 0.0) for name in re.findall(r"\bedge_\w+", expr)), default=0.0))
