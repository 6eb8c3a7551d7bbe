"""Finds metrics of configured endpoints whose names break Prometheus' conventions, as promlint does."""

import re
from collections.abc import Iterable, Iterator

from exporter.collectors.endpoints.endpoint import Endpoint, EndpointMetric
from exporter.validation.faults import KeyPath

_BASE_UNITS = {
    **dict.fromkeys(("milliseconds", "ms", "minutes", "hours", "days", "weeks"), "seconds"),
    **dict.fromkeys(("kilobytes", "megabytes", "gigabytes", "kb", "mb", "gb", "kib", "mib", "gib", "bits"), "bytes"),
    **dict.fromkeys(("percent", "percentage", "percents"), "ratio"),
    "cents": "dollars",
}
_TYPES = frozenset({"gauge", "counter", "histogram", "summary"})
_OF_HISTOGRAMS = ("_count", "_sum")


def misnamed(endpoints: Iterable[Endpoint]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path of each metric whose name breaks a convention, and a message."""
    for place, endpoint in enumerate(endpoints):
        for number, metric in enumerate(endpoint.metrics):
            for message in _of_metric(metric):
                yield ("endpoints", place, "metrics", number, "name"), message


def _of_metric(metric: EndpointMetric) -> Iterator[str]:
    name = metric.name
    words = name.lower().split("_")
    if not metric.help:
        yield f"'{name}' has no help text"
    if re.search(r"[a-z][A-Z]", name):
        yield f"'{name}' is written in camelCase; expected snake_case"
    if ":" in name:
        yield f"'{name}' contains ':', which is reserved for recording rules"
    for word in words:
        if word in _BASE_UNITS:
            yield f"'{name}' is in {word}; expected the base unit {_BASE_UNITS[word]}, with scale"
        if word in _TYPES:
            yield f"'{name}' contains the name of a metric type, {word}"
    suffix = next((suffix for suffix in _OF_HISTOGRAMS if name.endswith(suffix)), None)
    if suffix is not None:
        yield f"'{name}' ends with {suffix}, which is reserved for histograms"
