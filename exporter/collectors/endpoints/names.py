"""Finds conflicts between the names of endpoints, kinds, labels and metrics, both configured and built-in."""

from collections.abc import Collection, Iterator, Sequence

from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.endpoints.endpoint import KIND_LABELS, TAKEN_COLLECTOR_NAMES, Endpoint
from exporter.collectors.endpoints.listing import LIST_SUFFIX
from exporter.validation.configuration_errors import KeyPath, suggestion
from exporter.validation.section import Conflict, duplicates

# Prefixes of metrics: of the exporter itself, of configured SQL queries, of the process, of Python and of Prometheus.
_TAKEN_PREFIXES = ("edge_exporter_", "edge_target_", "edge_api_", "edge_database_", "process_", "python_", "scrape_")
_TAKEN_NAMES = frozenset({
    "up", "ALERTS", "ALERTS_FOR_STATE", "edge_up", "edge_targets", "edge_alert_threshold",
    "edge_script_monthly_budget_dollars", "edge_window_mismatched_targets",
})  # fmt: skip


def wrong_names(endpoints: Sequence[Endpoint]) -> Iterator[Conflict]:
    """Yield the conflicts of names, kinds and labels, and the kinds that do not exist."""
    yield from _collector_conflicts(endpoints)
    yield from _kind_conflicts(endpoints)
    yield from _family_conflicts(endpoints)


def _collector_conflicts(endpoints: Sequence[Endpoint]) -> Iterator[Conflict]:
    yield from duplicates((("endpoints", index, "name"), one.name) for index, one in enumerate(endpoints))
    taken = {*TAKEN_COLLECTOR_NAMES, *(one.name for one in endpoints)}
    for index, endpoint in enumerate(endpoints):
        list_name = endpoint.name + LIST_SUFFIX
        if endpoint.each and list_name in taken:
            message = f"the list's collector would be '{list_name}', which is taken; expected another name"
            yield ("endpoints", index, "name"), message


def _kind_conflicts(endpoints: Sequence[Endpoint]) -> Iterator[Conflict]:
    yield from duplicates(
        (("endpoints", index, "label" if endpoint.label else "name"), endpoint.own_kind)
        for index, endpoint in enumerate(endpoints)
        if endpoint.own_kind
    )
    labels_by_kind = {kind: tuple(label.name for label in labels) for kind, labels in KIND_LABELS.items()}
    labels_by_kind |= {one.own_kind: (one.own_kind, f"{one.own_kind}_id") for one in endpoints if one.own_kind}
    for index, endpoint in enumerate(endpoints):
        if endpoint.kind and endpoint.kind not in labels_by_kind:
            known = f"{', '.join(labels_by_kind)}{suggestion(endpoint.kind, labels_by_kind)}"
            yield ("endpoints", index, "kind"), f"found '{endpoint.kind[:60]}', expected one of {known}"
        yield from _label_conflicts(index, endpoint, labels_by_kind.get(endpoint.target_kind, ()))


def _label_conflicts(index: int, endpoint: Endpoint, taken: Collection[str]) -> Iterator[Conflict]:
    for number, metric in enumerate(endpoint.metrics):
        for label in metric.labels:
            if label in taken:
                key: KeyPath = ("info", label) if metric.info else ("label",)
                yield ("endpoints", index, "metrics", number, *key), f"'{label}' is already a label of the target"


def _family_conflicts(endpoints: Sequence[Endpoint]) -> Iterator[Conflict]:
    taken_by = {_stem(info.name): f"the collector {one.section}" for one in CATALOGUE for info in one.families}
    for index, endpoint in enumerate(endpoints):
        name_by_stem = dict[str, str]()
        for number, metric in enumerate(endpoint.metrics):
            name = metric.name
            stem = _stem(name)
            path: KeyPath = ("endpoints", index, "metrics", number, "name")
            if name.startswith(_TAKEN_PREFIXES) or name in _TAKEN_NAMES:
                yield path, f"'{name}' is reserved for the exporter or Prometheus"
            elif stem in taken_by:
                yield path, f"'{name}' is taken: {taken_by[stem]} has a family of that name, with or without _total"
            # Equal names within an endpoint are refused by `Endpoint.conflicts`.
            elif name_by_stem.get(stem, name) != name:
                yield path, f"'{name}' differs from {name_by_stem[stem]} only by _total; expected another name"
            else:
                name_by_stem[stem] = name
        taken_by |= dict.fromkeys(name_by_stem, f"endpoints[{index}]")


def _stem(name: str) -> str:
    """Return the name of a metric's family in OpenMetrics, which has no `_total`."""
    return name.removesuffix("_total")
