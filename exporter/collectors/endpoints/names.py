"""Checks that the names of configured endpoints, of the kinds of their targets and of their metrics do not clash."""

from collections.abc import Collection, Iterator, Sequence

from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.endpoints.endpoint import KIND_LABELS, Endpoint
from exporter.collectors.endpoints.listing import LIST_SUFFIX
from exporter.validation.configuration_errors import KeyPath, suggestion
from exporter.validation.section import Conflict, duplicates

# The prefixes of the exporter's own metrics, of the process, of configured SQL queries, and of Prometheus itself.
_TAKEN_PREFIXES = ("edge_exporter_", "edge_target_", "edge_api_", "edge_database_", "process_", "python_", "scrape_")
_TAKEN_NAMES = frozenset({"up", "edge_up", "edge_script_monthly_budget_dollars", "ALERTS", "ALERTS_FOR_STATE"})


def wrong_names(endpoints: Sequence[Endpoint]) -> Iterator[Conflict]:
    """Yield an error for each name that is used twice, or that refers to nothing."""
    yield from _collectors(endpoints)
    yield from _kinds(endpoints)
    yield from _families(endpoints)


def _collectors(endpoints: Sequence[Endpoint]) -> Iterator[Conflict]:
    """Yield an error for each collector whose name is used twice; a list of targets is a collector, too."""
    places: list[tuple[KeyPath, Endpoint]] = [
        (("endpoints", place, "name"), one) for place, one in enumerate(endpoints)
    ]
    names = [(path, endpoint.name) for path, endpoint in places]
    lists = [(path, endpoint.name + LIST_SUFFIX) for path, endpoint in places if endpoint.each]
    yield from duplicates([*names, *lists])


def _kinds(endpoints: Sequence[Endpoint]) -> Iterator[Conflict]:
    """Yield an error for each kind of target that two endpoints define, that none defines, or whose labels clash."""
    yield from duplicates(
        (("endpoints", place, "label" if endpoint.label else "name"), endpoint.own_label)
        for place, endpoint in enumerate(endpoints)
        if endpoint.own_label
    )
    labels = {kind: tuple(label.name for label in made) for kind, made in KIND_LABELS.items()}
    labels |= {one.own_label: (one.own_label, f"{one.own_label}_id") for one in endpoints if one.own_label}
    for place, endpoint in enumerate(endpoints):
        if endpoint.kind and endpoint.kind not in labels:
            message = f"there are no targets of the kind '{endpoint.kind[:60]}'{suggestion(endpoint.kind, labels)}"
            yield ("endpoints", place, "kind"), f"{message}; known: {', '.join(labels)}"
        yield from _labels(place, endpoint, labels.get(endpoint.target_kind, ()))


def _labels(place: int, endpoint: Endpoint, taken: Collection[str]) -> Iterator[Conflict]:
    """Yield an error for each label of an endpoint's metrics that its targets already have."""
    for number, metric in enumerate(endpoint.metrics):
        for label in set(metric.labels).intersection(taken):
            key: KeyPath = ("info", label) if metric.info else ("label",)
            yield ("endpoints", place, "metrics", number, *key), f"'{label}' is already a label of the target"


def _families(endpoints: Sequence[Endpoint]) -> Iterator[Conflict]:
    """Yield an error for each metric whose name the exporter, Prometheus or another endpoint uses."""
    taken = {_stem(info.name): f"the collector {one.section}" for one in CATALOGUE for info in one.families}
    for place, endpoint in enumerate(endpoints):
        # The names of the endpoint's own families, without `_total` → with it.
        own = dict[str, str]()
        for number, metric in enumerate(endpoint.metrics):
            name = metric.name
            stem = _stem(name)
            path: KeyPath = ("endpoints", place, "metrics", number, "name")
            if name.startswith(_TAKEN_PREFIXES) or name in _TAKEN_NAMES:
                yield path, f"'{name}' is reserved for the exporter or Prometheus"
            elif stem in taken:
                yield path, f"'{name}' is a family of {taken[stem]}"
            elif stem in own and own[stem] != name:
                yield path, f"'{name}' has the same exposed name as {own[stem]}"
            else:
                own[stem] = name
        taken |= dict.fromkeys(own, f"endpoints[{place}]")


def _stem(name: str) -> str:
    """Return the name of a metric's family in OpenMetrics, which has no `_total`."""
    return name.removesuffix("_total")
