"""Declares metrics, and the families made from them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

T_contra = TypeVar("T_contra", contravariant=True)

Number = float | int | bool | None
# A larger value is not a count: it does not fit into 64 bits, and sums of it would overflow.
LARGEST_COUNT = 2.0**63
LabelValues = tuple[str, ...]
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
        charted: False if the platform sent no chart (null or absent) in an otherwise good answer.
        is_whole: whether a count is the sum over all label values, because the answer does not contain them separately.
    """

    days: Mapping[int, float]
    charted: bool = True
    is_whole: bool = False

    @classmethod
    def of(cls, days: Mapping[int, float] | None) -> "DayBuckets":
        """Return the source for the days of a chart; None if there is no chart."""
        return cls(days or {}, charted=days is not None)


@dataclass(frozen=True, slots=True)
class MonthToDate:
    """A counter's source: a value that grows through a UTC month and starts again with the next."""

    value: float


# A float holds each whole number up to this one.
_MARK = 2**48 - 1


@dataclass(frozen=True, slots=True)
class LastChange:
    """The source of a gauge that shows when the answers of a target last changed.

    Attributes:
        value: a checksum of the answer, as a whole number.
    """

    value: float

    @classmethod
    def of(cls, numbers: tuple[object, ...]) -> "LastChange":
        """Return the source for the numbers of an answer; their hash is the same in each process."""
        return cls(float(hash(numbers) & _MARK))


Source = DayBuckets | MonthToDate | LastChange


def is_count(value: float) -> bool:
    """Return whether a number can be a count: finite, not negative, and within 64 bits."""
    return 0 <= value <= LARGEST_COUNT


def as_count(value: float | None) -> float | None:
    """Return the number if it can be a count, else None."""
    return value if value is not None and is_count(value) else None


@dataclass(frozen=True, slots=True)
class Metric(Generic[T_contra]):
    """One metric of a collector: its name, and the source of its values in a payload.

    Attributes:
        name: the literal name of the exposed family (with `_total` for a counter).
        help: one sentence that names the source field.
        value: payload → number, or None for no sample. With `labels`, payload → mapping of label values to
            numbers; with one label, each key is a plain string.
        counted: in place of `value`, for counters and for gauges that show when something changed: payload → the
            source that the ledger reads, or a mapping of label values to sources, or None.
        labels: the names of the labels that come after the target's.
        declared: for counters: identifies what is counted, as `Count.declared` says. Of a built-in metric it is a
            number, to be raised when the metric counts something else than before. Empty for gauges.
    """

    name: str
    help: str
    value: "Callable[[T_contra], Number | Mapping[str, Number] | Mapping[LabelValues, Number]] | None" = None
    counted: "Callable[[T_contra], Source | Mapping[str, Source] | None] | None" = None
    labels: tuple[str, ...] = ()
    declared: bytes = b"1"

    @property
    def kind(self) -> Kind:
        """`counter` for metrics that the ledger counts, `gauge` for all others."""
        return Kind.COUNTER if self.counted is not None and self.declared else Kind.GAUGE

    @property
    def unit(self) -> str:
        """The base unit of OpenMetrics with which the name ends; empty if there is none."""
        last = self.name.removesuffix("_total").rpartition("_")[2]
        return last if last in BASE_UNITS else ""


@dataclass(frozen=True, slots=True)
class FamilyInfo:
    """A family without its samples.

    Attributes:
        name: as exposed; that of a counter ends with `_total`.
        labels: all label names, the target's own first.
        own: how many labels at the end distinguish the series of one target; 0 if the number of series is bounded
            otherwise.
        is_counted: whether the ledger gives its values.
    """

    name: str
    help: str
    kind: Kind
    unit: str = ""
    labels: tuple[str, ...] = ()
    own: int = 0
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
        labels: the values of the target's labels, which do not identify the series, so that a new name does not end it.
        sources: the values of the metric's other labels → the source.
        declared: identifies what is counted; with another one, the counter starts again at 0. Empty if it never does.
    """

    info: FamilyInfo
    labels: LabelValues
    sources: tuple[tuple[LabelValues, Source], ...]
    declared: bytes = b"1"


_PART_BYTES = 6


def declaration(parts: Iterable[str]) -> bytes:
    """Return the identity of a configured counter: a digest of each part that says what it counts."""
    return b"".join(blake2b(part.encode(), digest_size=_PART_BYTES).digest() for part in parts)
