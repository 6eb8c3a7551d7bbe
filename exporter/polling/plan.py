"""Which collector is run, and how often."""

from dataclasses import dataclass

from exporter.collectors.collector import Collector


@dataclass(frozen=True, slots=True)
class Plan:
    """How a collector is run.

    Attributes:
        interval: seconds between two polls of a target, as configured.
        stale_after: seconds after which the values of a poll expire; None: three effective intervals.
    """

    collector: Collector
    interval: float
    stale_after: float | None = None
