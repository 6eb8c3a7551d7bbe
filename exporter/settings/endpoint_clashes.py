"""Finds conflicts between configured endpoints, and between them and the exporter's own metrics."""

from collections.abc import Iterator, Mapping

from pydantic_core import InitErrorDetails

from exporter.collectors.catalogue import CATALOGUE
from exporter.collectors.endpoints.endpoint import KIND_LABELS, label_clashes
from exporter.collectors.endpoints.listing import LIST_SUFFIX
from exporter.metric import Kind
from exporter.validation.faults import KeyPath, suggestion, unknown_key
from exporter.validation.section import at, broken, duplicates, items, named, peek, refused
from exporter.validation.types import stale_too_early

# Prefixes that belong to the exporter's own metrics, its process, users' queries and Prometheus.
_TAKEN_PREFIXES = ("edge_exporter_", "edge_target_", "edge_api_", "edge_database_", "process_", "python_", "scrape_")
_TAKEN_NAMES = frozenset(
    {"up", "edge_up", "edge_absent_families", "edge_script_monthly_budget_dollars", "ALERTS", "ALERTS_FOR_STATE"}
)
_COUNTER_SUFFIXES = ("", "_total", "_created")
_SECTIONS = tuple(collector.name for collector in CATALOGUE if collector.section == collector.name)
_FALSE = frozenset({"false", "no", "off", "0", "f", "n"})


def endpoint_clashes(raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
    """Refuse names, kinds and families that are used twice or unknown."""
    endpoints = items(raw.get("endpoints"))
    yield from duplicates(named(raw, "endpoints", "name"), "name")
    yield from _kinds(endpoints)
    yield from _families(endpoints, raw)
    yield from _sections(endpoints, raw)


def _text(item: object, key: str) -> str:
    value = peek(item, key)
    return value if isinstance(value, str) else ""


def _kinds(endpoints: list[object]) -> Iterator[InitErrorDetails]:
    """Require that each kind of target exists and has one source, and that no endpoint is named like a list."""
    lists = {f"{_text(one, 'name')}{LIST_SUFFIX}" for one in endpoints if peek(one, "each")}
    stems: dict[str, int] = {}
    for place, endpoint in enumerate(endpoints):
        name, label = _text(endpoint, "name"), _text(endpoint, "label")
        stem = (label or name) if peek(endpoint, "each") or peek(endpoint, "ids") else ""
        message = (
            f"'{stem}' is the kind of target of endpoints[{stems.get(stem)}]; expected another label, or "
            f"'kind: {stem}' to poll the same targets"
        )
        yield from broken(
            (name in lists, "name", f"'{name}' is the name of another endpoint's list"),
            (stem in stems, "label" if label else "name", message),
            place=("endpoints", place),
        )
        if stem:
            stems.setdefault(stem, place)
    known = [*KIND_LABELS, *stems]
    for place, endpoint in enumerate(endpoints):
        kind = _text(endpoint, "kind")
        if kind and kind not in known:
            near = suggestion(kind, known)
            message = f"there are no targets of the kind '{kind[:60]}'{near}; known: {', '.join(known)}"
            yield at(("endpoints", place, "kind"), refused(message))
        if kind in stems:
            for error in label_clashes(peek(endpoint, "metrics"), (kind, f"{kind}_id")):
                yield {**error, "loc": ("endpoints", place, *error["loc"])}


def _exposed(name: str, *, counts: bool) -> set[str]:
    """Return every name that a family has in one of the formats."""
    stem = name.removesuffix("_total") if counts else name
    return {f"{stem}{suffix}" for suffix in (_COUNTER_SUFFIXES if counts else ("",))}


def _families(endpoints: list[object], raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
    """Refuse names of metrics that an enabled collector, another endpoint, the exporter or Prometheus has."""
    taken = {
        name: f"the collector {collector.section}, which can be disabled"
        for collector in CATALOGUE
        if str(peek(peek(raw.get("collectors"), collector.section), "enabled")).strip().lower() not in _FALSE
        for info in collector.families
        for name in _exposed(info.name, counts=info.kind is Kind.COUNTER)
    }
    for place, endpoint in enumerate(endpoints):
        own: dict[str, str] = {}
        for number, metric in enumerate(items(peek(endpoint, "metrics"))):
            name = _text(metric, "name")
            if not name:
                continue
            path: KeyPath = ("endpoints", place, "metrics", number, "name")
            counts = peek(metric, "days") is not None or peek(metric, "month") is not None
            exposed = _exposed(name, counts=counts)
            clash = next((taken[one] for one in sorted(exposed) if one in taken), None)
            inner = next((own[one] for one in sorted(exposed) if one in own and own[one] != name), None)
            if name.startswith(_TAKEN_PREFIXES) or name in _TAKEN_NAMES:
                yield at(path, refused(f"'{name[:60]}' is reserved for the exporter or Prometheus"))
            elif clash is not None:
                yield at(path, refused(f"'{name[:60]}' is a family of {clash}"))
            elif inner is not None:
                yield at(path, refused(f"'{name[:60]}' has the same exposed name as {inner[:60]}"))
            own |= dict.fromkeys(exposed, name)
        taken |= dict.fromkeys(own, f"endpoints[{place}]")


def _sections(endpoints: list[object], raw: Mapping[str, object]) -> Iterator[InitErrorDetails]:
    """Require that every key of `collectors` names a collector, and that no endpoint's values expire between polls."""
    sections = raw.get("collectors")
    by_name = {_text(endpoint, "name"): endpoint for endpoint in endpoints}
    for name, section in sections.items() if isinstance(sections, Mapping) else ():
        if name in _SECTIONS:
            continue
        if name not in by_name:
            yield at(("collectors", name), refused(unknown_key(str(name), (*_SECTIONS, *by_name))))
            continue
        interval = peek(section, "interval") or peek(by_name[name], "interval") or "10m"
        yield from stale_too_early(("collectors", name), interval, peek(section, "stale_after"))
