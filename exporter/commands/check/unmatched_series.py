"""Finds patterns of the series' lists that match no family."""

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry

from exporter import __version__
from exporter.collectors.catalogue import families
from exporter.exposition.encoding import exposed_name
from exporter.exposition.status_board import HEALTH
from exporter.settings.model import Settings
from exporter.telemetry import Telemetry
from exporter.validation.faults import KeyPath, suggestion
from exporter.wiring import from_settings

_PREFIX = "edge_"


def of_series(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Return the patterns that match no family: the place of each in the configuration, and a message."""
    known = sorted(_families(settings))
    for key, patterns in (("deny", settings.series.deny), ("allow", settings.series.allow)):
        for place, pattern in enumerate(patterns):
            if not any(pattern.fullmatch(name) for name in known):
                near = _nearest(pattern.pattern, known)
                yield ("series", key, place), f"no family's whole name matches it{near}"


def _families(settings: Settings) -> set[str]:
    """Return all possible families, including the exporter's own and those of configured queries."""
    polled = families(from_settings.collectors(settings))
    own = Telemetry(CollectorRegistry(), __version__).exposed().collect()
    return {info.name for info in (*polled, *HEALTH)} | {exposed_name(metric) for metric in own}


def _nearest(pattern: str, known: Sequence[str]) -> str:
    """Suggest a family that begins with the pattern, or one that is spelt alike."""
    longer = [name for name in known if name.startswith(pattern)]
    # The common prefix of all names is left out of the comparison.
    rest = pattern.removeprefix(_PREFIX)
    alike = [name for name in known if suggestion(rest, [name.removeprefix(_PREFIX)])]
    return suggestion(pattern, [min(longer, key=len)] if longer else alike)
