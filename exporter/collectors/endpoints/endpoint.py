"""The declaration of a configured endpoint: its path, its targets and its metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.collectors.endpoints.expression import Expression
from exporter.collectors.endpoints.path import Path

# Base units of OpenMetrics, with which a metric's name may end.
_UNITS = ("seconds", "bytes", "dollars", "ratio", "celsius", "joules", "volts", "amperes", "meters", "grams")


@dataclass(frozen=True, slots=True)
class TargetList:
    """A list of the platform; each item is a target.

    Attributes:
        path: the list's path.
        items: the array of the answer.
        id: an item's id, evaluated on the item.
        name: an item's name; None if items have no names.
        page: the query parameter for the number of the page, from 1; empty if the list has no pages.
        size: the query parameter for the size of a page.
        more: whether another page follows. If None, pages are requested until one contains no new item.
    """

    path: Path
    items: Expression
    id: Expression
    name: Expression | None = None
    page: str = ""
    size: str = ""
    more: Expression | None = None


@dataclass(frozen=True, slots=True)
class EndpointMetric:
    """One metric of an endpoint; exactly one of the first four attributes is set.

    Attributes:
        value: a gauge's number; with `label` an object or a list of pairs.
        days: a counter's chart of days.
        month: a counter's month-to-date value.
        info: the labels of an info metric, by name.
        label: the label whose values are the keys of the expression's result.
        scale: a factor for all numbers.
    """

    name: str
    help: str
    value: Expression | None = None
    days: Expression | None = None
    month: Expression | None = None
    info: Mapping[str, Expression] = field(default_factory=dict)
    label: str = ""
    scale: float = 1.0

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the labels that follow the target's labels."""
        return tuple(self.info) or ((self.label,) if self.label else ())

    @property
    def source(self) -> str:
        """The text of its expressions."""
        own = self.value or self.days or self.month
        return ", ".join(part.text for part in ([own] if own is not None else self.info.values()))

    @property
    def unit(self) -> str:
        """The base unit at the end of the name; empty if there is none."""
        stem = self.name.removesuffix("_total")
        return next((unit for unit in _UNITS if stem.endswith(f"_{unit}")), "")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One configured endpoint.

    Attributes:
        name: the collector's name.
        path: the path of the request for each target.
        kind: the kind of its targets; `account` if each account is polled once.
        label: the first part of the target's label names, for a kind that the endpoint defines; empty for a built-in
            kind.
        listing: the list from which targets are discovered.
        ids: targets that the configuration names.
        interval: seconds between two polls of a target.
    """

    name: str
    path: Path
    kind: str
    metrics: tuple[EndpointMetric, ...]
    interval: float
    label: str = ""
    listing: TargetList | None = None
    ids: tuple[str, ...] = ()
