"""The declaration of a metric, and the families, samples and sources that the metric yields."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)

# The value of a gauge in a payload; None gives no sample.
Number = float | int | bool | None
# The largest count. Sums of much larger floats could be infinite.
LARGEST_COUNT = 2.0**63
LabelValues = tuple[str, ...]
# The base units of OpenMetrics, and dollars.
BASE_UNITS = frozenset(
    ("seconds", "bytes", "dollars", "ratio", "celsius", "joules", "volts", "amperes", "meters", "grams")
)


class Kind(StrEnum):
    """The type of a family, as both exposition formats name it."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class DayBuckets:
    """A counter's source: the counts of the UTC days in a chart.

    Attributes:
        days: the proleptic ordinal of a UTC day (`date.toordinal`) → the count of that day.
        has_chart: False if the answer has no usable chart.
        is_whole: whether the counts are sums over all label values, because the answer does not count each value.
    """

    days: Mapping[int, float]
    has_chart: bool = True
    is_whole: bool = False

    @classmethod
    def of(cls, days: Mapping[int, float] | None) -> "DayBuckets":
        """Return the source for the days of a chart; None means that the answer has no usable chart."""
        return cls(days or {}, has_chart=days is not None)


@dataclass(frozen=True, slots=True)
class MonthToDate:
    """A counter's source: a value for the UTC month to date, which starts again at 0 with the next month."""

    value: float


# Keeps the lowest 48 bits of a hash: a float holds a whole number of 48 bits exactly.
_CHECKSUM_MASK = 2**48 - 1


@dataclass(frozen=True, slots=True)
class LastChange:
    """The source of a gauge that shows when numbers in the answers of a target last changed.

    Attributes:
        value: a checksum of the numbers, as a whole number.
    """

    value: float

    @classmethod
    def of(cls, numbers: tuple[object, ...]) -> "LastChange":
        """Return the source for nested tuples of numbers; not of texts, whose hashes differ between processes."""
        return cls(float(hash(numbers) & _CHECKSUM_MASK))


Source = DayBuckets | MonthToDate | LastChange


def is_count(value: float) -> bool:
    """Return whether a number is between 0 and `LARGEST_COUNT`, and so can be a count."""
    return 0 <= value <= LARGEST_COUNT


@dataclass(frozen=True, slots=True)
class Metric(Generic[T_contra]):
    """One metric of a collector: the name, and the functions that read the values from a payload.

    Attributes:
        name: the name of the exposed family (with `_total` for a counter).
        value: payload → number. With `labels`: payload → label values → number; the label values are a tuple, or a
            plain string for a single label. None in place of a number gives no sample.
        counted: used instead of `value` by counters, and by gauges that show the time of the last change. Payload → the
            source that the ledger reads or, with `labels`, label values → sources; None if there is nothing to count.
        labels: the names of the metric's own labels, which come after the target's labels.
        declared: for counters, becomes `Count.declared`. A built-in counter has a number here; a change that makes the
            metric count something else must raise this number. Empty for a gauge with `counted`.
    """

    name: str
    help: str
    value: "Callable[[T_contra], Number | Mapping[str, Number] | Mapping[LabelValues, Number]] | None" = None
    counted: "Callable[[T_contra], Source | Mapping[str, Source] | None] | None" = None
    labels: tuple[str, ...] = ()
    declared: bytes = b"1"

    @property
    def kind(self) -> Kind:
        """`counter` for a name that ends with `_total`, `gauge` for any other name."""
        return Kind.COUNTER if self.name.endswith("_total") else Kind.GAUGE


def unit_of(name: str) -> str:
    """Return the base unit at the end of a metric's name (before `_total`, if any); empty for a name without a unit."""
    _, _, last_word = name.removesuffix("_total").rpartition("_")
    return last_word if last_word in BASE_UNITS else ""


@dataclass(frozen=True, slots=True)
class FamilyInfo:
    """A family without its samples.

    Attributes:
        name: the exposed name; the name of a counter ends with `_total`.
        labels: the names of the labels, in the order of `Sample.values`.
        is_limited: whether `limit_gauges` limits the series of a target, because the metric has labels of its own.
        is_counted: whether the ledger computes the values.
    """

    name: str
    help: str
    kind: Kind
    unit: str = ""
    labels: tuple[str, ...] = ()
    is_limited: bool = False
    is_counted: bool = False

    def __hash__(self) -> int:
        # Rendering looks the family up in a cache; a hash of all fields would take longer.
        return hash(self.name)


class Sample(NamedTuple):
    """The value of one series; the label values are in the order of the family's label names."""

    values: LabelValues
    value: float


class Family(NamedTuple):
    """The samples of one target in a family."""

    info: FamilyInfo
    samples: tuple[Sample, ...]


class Count(NamedTuple):
    """The sources of a counted family, by label values, for the ledger.

    Attributes:
        labels: the values of the target's labels. These values do not identify the series: a target with a new name
            continues its counters.
        sources: pairs of the values of the metric's own labels, and the source of the series with these values.
        declared: identifies the quantity that is counted: if these bytes change, the counter starts again at 0. Empty
            for a `LastChange`.
    """

    info: FamilyInfo
    labels: LabelValues
    sources: tuple[tuple[LabelValues, Source], ...]
    declared: bytes = b"1"


# Not to be changed: the state contains hashes of declarations, and configured counters would start again at 0.
_SETTING_DIGEST_BYTES = 6


def declaration(settings: Iterable[str]) -> bytes:
    """Return `Count.declared` of a configured counter: digests of the settings that decide what is counted."""
    return b"".join(blake2b(text.encode(), digest_size=_SETTING_DIGEST_BYTES).digest() for text in settings)
