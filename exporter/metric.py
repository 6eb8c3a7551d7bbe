"""Declared metrics, and the families that they become."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)

Number = float | int | bool | None
# No 64-bit integer holds more; a larger value is no count, and sums of it would overflow.
LARGEST_COUNT = 2.0**63
LabelValues = tuple[str, ...]


class Kind(StrEnum):
    """What a family is, in the words of both exposition formats."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class DayBuckets:
    """A counter's source: how much was counted on each UTC day of a sliding window.

    Attributes:
        days: the proleptic ordinal of a UTC day (`date.toordinal`) → the count of that day.
        charted: False where the platform sent no chart (null or absent) in an otherwise good answer.
        is_whole: whether the days hold the sum over all other series of the family and target: what those have
            counted of a day is not counted again, and the other way round.
    """

    days: Mapping[int, float]
    charted: bool = True
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class MonthToDate:
    """A counter's source: a value that grows through a UTC month and starts again with the next."""

    value: float


Source = DayBuckets | MonthToDate


def is_count(value: float) -> bool:
    """Whether a number can be a count: finite, not negative, and not above what 64 bits hold."""
    return 0 <= value <= LARGEST_COUNT


def as_count(value: float | None) -> float | None:
    """The number where it can be a count, else None."""
    return value if value is not None and is_count(value) else None


@dataclass(frozen=True, slots=True)
class Metric(Generic[T_contra]):
    """One metric of a collector: where its values stand in a payload, and how they are named.

    Attributes:
        name: the literal family name as it is exposed (a counter's with its `_total`).
        help: one sentence that names the source field.
        value: payload → number, or None where there is no sample. With `labels`, payload → mapping of label
            values to numbers (a plain string as the key where there is one label).
        counted: for counters, in place of `value`: payload → the source that the ledger counts from, or a mapping
            of label values to sources, or None.
        labels: names of the labels beyond those of the collector's target.
        unit: the base unit with which the name ends, for OpenMetrics.
    """

    name: str
    help: str
    value: "Callable[[T_contra], Number | Mapping[str, Number] | Mapping[LabelValues, Number]] | None" = None
    counted: "Callable[[T_contra], Source | Mapping[str, Source] | None] | None" = None
    labels: tuple[str, ...] = ()
    unit: str = ""

    @property
    def kind(self) -> Kind:
        """Counters are the metrics that the ledger counts; all others are polled gauges."""
        return Kind.COUNTER if self.counted is not None else Kind.GAUGE


@dataclass(frozen=True, slots=True)
class FamilyInfo:
    """What is fixed of a family: all but its samples.

    Attributes:
        name: as exposed; a counter's ends `_total`.
        labels: all label names, the target's own first.
    """

    name: str
    help: str
    kind: Kind
    unit: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One series' value; `values` are its label values in the order of the family's label names.

    `created` is a counter's true creation as unix seconds, where it is known.
    """

    values: LabelValues
    value: float
    created: float | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """A family's samples from one target."""

    info: FamilyInfo
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """What the ledger is asked to count: a counter family's sources by label values.

    Attributes:
        labels: the values of the target's own labels, which may be renamed without ending a series.
        sources: the values of the metric's further labels → what is counted.
    """

    info: FamilyInfo
    labels: LabelValues
    sources: tuple[tuple[LabelValues, Source], ...]


# A label value longer than this is cut: a platform on which others choose the names decides nothing about our size.
LABEL_VALUE_LIMIT = 1024


def label_value(text: str) -> str:
    """Make any text fit for a label: no NUL, no lone surrogate, at most 1,024 characters.

    The exposition formats want UTF-8, and Prometheus's scanner takes a NUL for the end of its input.
    """
    if text.isascii() and "\0" not in text:
        return text if len(text) <= LABEL_VALUE_LIMIT else text[: LABEL_VALUE_LIMIT - 1] + "…"
    clean = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return clean if len(clean) <= LABEL_VALUE_LIMIT else clean[: LABEL_VALUE_LIMIT - 1] + "…"
