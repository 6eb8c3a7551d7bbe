"""Refuses names of configured endpoints that are used twice, or that refer to nothing."""

from collections.abc import Iterator, Mapping

from pydantic_core import InitErrorDetails

from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.endpoints.endpoint import KIND_LABELS
from exporter.collectors.endpoints.listing import LIST_SUFFIX
from exporter.settings.service import SECTIONS
from exporter.validation.faults import KeyPath, suggestion, unknown_key
from exporter.validation.section import at, duplicates, items, peek, refused
from exporter.validation.types import stale_too_early

# Prefixes that belong to the exporter's own metrics, its process, users' queries and Prometheus.
_TAKEN_PREFIXES = ("edge_exporter_", "edge_target_", "edge_api_", "edge_database_", "process_", "python_", "scrape_")
_TAKEN_NAMES = frozenset({"up", "edge_up", "edge_script_monthly_budget_dollars", "ALERTS", "ALERTS_FOR_STATE"})


def endpoint_names(raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
    """Yield an error for each wrong name of an endpoint, of its targets' kind, of a metric, or under `collectors`."""
    endpoints = items(raw.get("endpoints"))
    yield from _collectors(endpoints)
    yield from _kinds(endpoints)
    yield from _families(endpoints)
    yield from _sections(endpoints, raw.get("collectors"))


def _text(item: object, key: str) -> str:
    value = peek(item, key)
    return value if isinstance(value, str) else ""


def _collectors(endpoints: list[object]) -> Iterator[InitErrorDetails]:
    """Require that no two collectors have the same name; the list of an endpoint's targets is one, too."""
    places = [(("endpoints", place, "name"), endpoint) for place, endpoint in enumerate(endpoints)]
    names: list[tuple[KeyPath, object]] = [(path, peek(endpoint, "name")) for path, endpoint in places]
    lists = [(path, _text(endpoint, "name") + LIST_SUFFIX) for path, endpoint in places if peek(endpoint, "each")]
    yield from duplicates([*names, *lists])


def _kinds(endpoints: list[object]) -> Iterator[InitErrorDetails]:
    """Require that each kind of target exists and has one source, and that no metric has a label of its targets."""
    own = [_own_kind(endpoint) for endpoint in endpoints]
    yield from duplicates(
        (("endpoints", place, "label" if _text(endpoints[place], "label") else "name"), kind)
        for place, kind in enumerate(own)
        if kind
    )
    labels = {kind: tuple(label.name for label in made) for kind, made in KIND_LABELS.items()}
    labels |= {kind: (kind, f"{kind}_id") for kind in own if kind}
    for place, endpoint in enumerate(endpoints):
        kind = _text(endpoint, "kind")
        if kind and kind not in labels:
            message = f"there are no targets of the kind '{kind[:60]}'{suggestion(kind, labels)}"
            yield at(("endpoints", place, "kind"), refused(f"{message}; known: {', '.join(labels)}"))
        for path, label in _metric_labels(endpoint):
            if label in labels.get(kind or own[place], ()):
                yield at(("endpoints", place, *path), refused(f"'{label}' is already a label of the target"))


def _own_kind(endpoint: object) -> str:
    """Return the kind of the targets that an endpoint lists or names; empty if its targets are others'."""
    is_own = peek(endpoint, "each") or peek(endpoint, "ids")
    return (_text(endpoint, "label") or _text(endpoint, "name")) if is_own else ""


def _metric_labels(endpoint: object) -> Iterator[tuple[KeyPath, object]]:
    """Return the labels of an endpoint's metrics, each with its place."""
    for number, metric in enumerate(items(peek(endpoint, "metrics"))):
        info = peek(metric, "info")
        for name in info if isinstance(info, Mapping) else ():
            yield ("metrics", number, "info", name), name
        yield ("metrics", number, "label"), peek(metric, "label")


def _families(endpoints: list[object]) -> Iterator[InitErrorDetails]:
    """Refuse names of metrics that the exporter, Prometheus or another endpoint has."""
    taken = {_stem(info.name): f"the collector {one.section}" for one in CATALOGUE for info in one.families}
    for place, endpoint in enumerate(endpoints):
        own = dict[str, str]()
        for number, metric in enumerate(items(peek(endpoint, "metrics"))):
            name = _text(metric, "name")
            path: KeyPath = ("endpoints", place, "metrics", number, "name")
            if name.startswith(_TAKEN_PREFIXES) or name in _TAKEN_NAMES:
                yield at(path, refused(f"'{name[:60]}' is reserved for the exporter or Prometheus"))
            elif _stem(name) in taken:
                yield at(path, refused(f"'{name[:60]}' is a family of {taken[_stem(name)]}"))
            elif own.setdefault(_stem(name), name) != name:
                yield at(path, refused(f"'{name[:60]}' has the same exposed name as {own[_stem(name)][:60]}"))
        taken |= dict.fromkeys(own, f"endpoints[{place}]")


def _stem(name: str) -> str:
    """Return the name of a family in OpenMetrics, where a counter has no `_total`."""
    return name.removesuffix("_total")


def _sections(endpoints: list[object], sections: object) -> Iterator[InitErrorDetails]:
    """Require that every key of `collectors` names a collector, and that an endpoint's values outlive its interval."""
    own = {_text(endpoint, "name"): endpoint for endpoint in endpoints}
    for name, section in sections.items() if isinstance(sections, Mapping) else ():
        if name in own:
            interval = peek(section, "interval") or peek(own[name], "interval") or "10m"
            yield from stale_too_early(("collectors", name), interval, peek(section, "stale_after"))
        elif name not in SECTIONS:
            yield at(("collectors", name), refused(unknown_key(str(name), (*SECTIONS, *own))))
