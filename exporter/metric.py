"""The declaration of a metric, and the families, samples and counter sources that are made from it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)

# The value of a gauge in a payload; None gives no sample.
Number = float | int | bool | None
# A count is at most this: a larger number does not fit into 64 bits, and sums of such numbers would overflow.
LARGEST_COUNT = 2.0**63
LabelValues = tuple[str, ...]
# The base units of OpenMetrics, and dollars.
BASE_UNITS = frozenset(
    ("seconds", "bytes", "dollars", "ratio", "celsius", "joules", "volts", "amperes", "meters", "grams")
)


class Kind(StrEnum):
    """The type of a family, in the words of both exposition formats."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class DayBuckets:
    """A counter's source: the counts of the UTC days of a sliding window.

    Attributes:
        days: the proleptic ordinal of a UTC day (`date.toordinal`) → the count of that day.
        has_chart: False if an otherwise good answer has no chart (null or absent), or none with a readable day.
        is_whole: whether a count is the sum over all label values, because the answer does not contain them separately.
    """

    days: Mapping[int, float]
    has_chart: bool = True
    is_whole: bool = False

    @classmethod
    def of(cls, days: Mapping[int, float] | None) -> "DayBuckets":
        """Return the source for the days of a chart; `days` is None if the answer has no readable one."""
        return cls(days or {}, has_chart=days is not None)


@dataclass(frozen=True, slots=True)
class MonthToDate:
    """A counter's source: a value that grows through a UTC month and starts again with the next."""

    value: float


# Keeps the lowest 48 bits of a hash: a float holds a whole number of this size exactly.
_CHECKSUM_MASK = 2**48 - 1


@dataclass(frozen=True, slots=True)
class LastChange:
    """The source of a gauge that shows when the answers of a target last changed.

    Attributes:
        value: a checksum of the answer, as a whole number.
    """

    value: float

    @classmethod
    def of(cls, numbers: tuple[object, ...]) -> "LastChange":
        """Return the source for the numbers of an answer; their hash is the same in every process, unlike a text's."""
        return cls(float(hash(numbers) & _CHECKSUM_MASK))


Source = DayBuckets | MonthToDate | LastChange


def is_count(value: float) -> bool:
    """Return whether a number can be a count: it is finite, not negative, and fits into 64 bits."""
    return 0 <= value <= LARGEST_COUNT


@dataclass(frozen=True, slots=True)
class Metric(Generic[T_contra]):
    """One metric of a collector: its name, and the source of its values in a payload.

    Attributes:
        name: the literal name of the exposed family (with `_total` for a counter).
        help: one sentence that names the source field.
        value: payload → number, or None for no sample. With `labels`: payload → a mapping of label values to
            numbers, whose keys are plain strings if there is one label and tuples if there are several.
        counted: used instead of `value` by counters, and by gauges that show when something changed: payload → the
            source that the ledger reads, or a mapping of label values to sources, or None.
        labels: the names of the metric's own labels, which come after the target's labels.
        declared: for counters, identifies what is counted, as `Count.declared` describes. For a built-in counter it is
            a number; raise it when the metric counts something else than before. Empty for a gauge with `counted`.
    """

    name: str
    help: str
    value: "Callable[[T_contra], Number | Mapping[str, Number] | Mapping[LabelValues, Number]] | None" = None
    counted: "Callable[[T_contra], Source | Mapping[str, Source] | None] | None" = None
    labels: tuple[str, ...] = ()
    declared: bytes = b"1"

    @property
    def kind(self) -> Kind:
        """`counter` for a name with the suffix of counters, `gauge` for all others."""
        return Kind.COUNTER if self.name.endswith("_total") else Kind.GAUGE


def unit_of(name: str) -> str:
    """Return the base unit with which the name of a metric ends; empty if there is none."""
    _, _, last_word = name.removesuffix("_total").rpartition("_")
    return last_word if last_word in BASE_UNITS else ""


@dataclass(frozen=True, slots=True)
class FamilyInfo:
    """A family without its samples.

    Attributes:
        name: as exposed; that of a counter ends with `_total`.
        labels: all label names, the target's own first.
        is_limited: whether a target may have at most `series.max_label_values` series of the family, because the metric
            has labels of its own.
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
        # Families are keys that each poll looks up; a hash of all fields would take longer.
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
    """The sources of a counter family, by label values, for the ledger.

    Attributes:
        labels: the values of the target's labels. They do not identify the series: a target with a new name continues
            its counters.
        sources: the values of the metric's own labels, and the source for each.
        declared: identifies what is counted. If it changes, the counter starts again at 0. Empty for a source that
            never starts again.
    """

    info: FamilyInfo
    labels: LabelValues
    sources: tuple[tuple[LabelValues, Source], ...]
    declared: bytes = b"1"


# Not to be changed: the state contains hashes of declarations, and configured counters would start again at 0.
_SETTING_DIGEST_BYTES = 6


def declaration(settings: Iterable[str]) -> bytes:
    """Return `Count.declared` of a configured counter: the digests of the settings that determine what it counts."""
    return b"".join(blake2b(text.encode(), digest_size=_SETTING_DIGEST_BYTES).digest() for text in settings)
