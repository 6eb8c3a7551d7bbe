"""How a collector is run, and how often."""

from dataclasses import dataclass

from exporter.collectors.collector import Collector


@dataclass(frozen=True, slots=True)
class Plan:
    """How a collector is run.

    Attributes:
        interval: the configured seconds between two polls of a target.
        stale_after: seconds after which the values of a poll expire; None for three effective intervals.
    """

    collector: Collector
    interval: float
    stale_after: float | None = None
