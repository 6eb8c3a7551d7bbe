"""What the configuration says of an endpoint: its path, its targets and its metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from exporter.collectors.endpoints.expression import Expression
from exporter.collectors.endpoints.path import Path

# For OpenMetrics: the base units with which a name may end.
_UNITS = ("seconds", "bytes", "dollars", "ratio", "celsius", "joules", "volts", "amperes", "meters", "grams")


@dataclass(frozen=True, slots=True)
class TargetList:
    """A list of the platform, whose items are targets.

    Attributes:
        path: the list's path.
        items: the array of the answer.
        id: an item's id, evaluated on the item.
        name: an item's name; None where items have none.
        page: the query parameter of the page's number, from 1; empty where the list comes at once.
        size: the query parameter of the page's size.
        more: whether there is another page; None: pages are asked for until one brings nothing new.
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
    """One metric of an endpoint; exactly one of its four sources is there.

    Attributes:
        value: a gauge's number; with `label` an object or a list of pairs.
        days: a counter's chart of days.
        month: a counter's month-to-date value.
        info: the labels of an info, by name.
        label: the label whose values are the keys of what the expression yields.
        scale: what numbers are multiplied by.
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
        """The names of the labels beyond those of the target."""
        return tuple(self.info) or ((self.label,) if self.label else ())

    @property
    def source(self) -> str:
        """The expressions that it is read by, as they are written."""
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
        path: what is asked for each target.
        kind: the kind of its targets; `account` where it is asked once an account.
        label: the stem of the labels of targets of its own kind; empty for a kind that is there without it.
        listing: the list that names its targets.
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
